// Files of summaries (.gpart): docs/commands/partial.md has their layout.
//
// A file is a set. Its entries are in the order of their keys and bytes, each of them is in it once, and joining files
// copies their bytes: so the result does not depend on which files were joined first, or twice.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/rank_summary.h"

namespace gprof {

bool IsPartial(std::string_view bytes);
// By the first bytes of the file. What comes through a pipe ("-") is none: it can be read once.
bool IsPartialFile(const std::string& path);

std::string WritePartial(const std::vector<RankSummary>& ranks);

// Bytes of a file, and its name for messages.
struct NamedBytes {
  std::string name;
  std::string_view bytes;
};

// The union, handed over piece by piece. The inputs must stay where they are meanwhile. Throws Error for what is
// damaged, or of a newer version.
void MergePartials(const std::vector<NamedBytes>& files, const std::function<void(std::string_view)>& write);

// In the order of the file. Throws Error likewise.
std::vector<RankSummary> ReadPartial(std::string_view bytes, const std::string& name);

}  // namespace gprof
