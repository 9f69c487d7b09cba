// The versions that a bisection goes through, from the good one to the bad one, and how each is laid out to be built
// and run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/proof/shell.h"

namespace gprof::cli {

struct SourceVersion {
  std::string id;        // "1a2b3c4…", "numpy==2.1.0"
  std::string short_id;  // for tables
  std::string title;     // what came with it: the subject of a commit; may be empty
};

// Where a version is built and run.
struct VersionPlace {
  std::string folder;        // the current folder of both
  Variables for_commands;    // BISECT_FOLDER and the like: for the build, and for the program too
  Variables of_the_version;  // what the version itself sets: environment files
};

class VersionSource {
 public:
  virtual ~VersionSource() = default;

  const std::vector<SourceVersion>& versions() const { return versions_; }
  const char* noun() const { return noun_; }
  // What the text of a result says of a version beyond its name; empty: nothing.
  virtual std::string LogLine(const SourceVersion&) const { return ""; }

  // Lays out version `index` unless that was done. Throws Error where that fails.
  virtual VersionPlace PlaceOf(std::size_t index) = 0;
  // Takes away all that was laid out.
  virtual void Clear() {}

 protected:
  std::vector<SourceVersion> versions_;
  const char* noun_ = "version";
};

// `folder` is for what is laid out. Throw Error for what is no commit, no list, and for fewer than two versions.
std::unique_ptr<VersionSource> GitVersions(const std::string& good, const std::string& bad, const std::string& folder);

enum class ListKind : uint8_t { kPackages, kEnvironment, kSettings };
// Two lists with a line for each thing: version i has the first i differences of the bad list and otherwise the good
// one.
std::unique_ptr<VersionSource> ListVersions(ListKind kind, const std::string& good, const std::string& bad,
                                            const std::string& folder);
// A file with a version in each line, in order.
std::unique_ptr<VersionSource> NamedVersions(const std::string& file, const std::string& folder);

}  // namespace gprof::cli
