// Files of summaries (.gpart): docs/commands/partial.md has their layout.
//
// A file is a set. Its entries are in the order of their keys and bytes, each of them is in it once, and joining files
// copies their bytes: so the result does not depend on which files were joined first, or twice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/registry/results.h"
#include "fleet/rank/rank_summary.h"
#include "trace/file/mapped_file.h"

namespace gprof {

bool IsPartial(std::string_view bytes);
// By the first bytes of the file. What comes through a pipe is none: it can be read once.
bool IsPartialFile(const std::string& path);

std::string WritePartial(const std::vector<RankSummary>& ranks);

// Bytes of a file, and its name for messages. Where they are mapped, what was read of them is let go.
struct NamedBytes {
  std::string name;
  std::string_view bytes;
  const MappedFile* mapped = nullptr;
};

// Files that stay where they are, as bytes.
class PartialFiles {
 public:
  explicit PartialFiles(const std::vector<std::string>& paths);
  const std::vector<NamedBytes>& bytes() const { return bytes_; }

 private:
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<NamedBytes> bytes_;
};

// The union, handed over piece by piece. The inputs must stay where they are meanwhile. Throws Error for what is
// damaged, or of a newer version. However much there is, no more than a few entries of it are in memory.
void MergePartials(const std::vector<NamedBytes>& files, const std::function<void(std::string_view)>& write);

// In the order of the file, without results. Throws Error likewise.
std::vector<RankSummary> ReadPartial(std::string_view bytes, const std::string& name);

// Calls take(summary, what was kept of the trace) for each entry of a trace that could be read: those of the union, in
// its order.
void ReadResults(const std::vector<NamedBytes>& files, const std::function<void(const RankSummary&, Results)>& take);

}  // namespace gprof
