#include "cli/traces.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/machine/process_memory.h"
#include "cli/fleet/fleet_inputs.h"
#include "fleet/partial/partial_file.h"
#include "fleet/read_input.h"
#include "gprof/error.h"
#include "import/read_trace.h"
#include "trace/reshape/merge.h"

namespace gprof::cli {
namespace {

// What a trace of ours takes with its analyses: 3 to 7 bytes a record in the file, 40 to 48 in memory.
constexpr std::uintmax_t kMemoryOfAByte = 16;

std::uintmax_t SizeOf(const std::vector<std::string>& paths) {
  std::uintmax_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) bytes += size;  // reading it says what is wrong
  }
  return bytes;
}

}  // namespace

Input LoadInput(const std::vector<std::string>& paths, std::vector<TraceSummary>* summaries) {
  RefuseMixture(paths);
  if (IsPartialFile(paths.front())) {
    Results joined = ReadPartials(paths);
    if (joined.traces.size() > 1) *summaries = joined.traces;
    return joined;
  }
  ExpectMemory(kMemoryOfAByte * SizeOf(paths));
  if (paths.size() == 1) return ReadTrace(paths.front());
  std::vector<Trace> traces;
  std::set<std::filesystem::path> files;
  for (const std::string& path : paths) {
    traces.push_back(ReadTrace(path));
    std::error_code error;
    if (!files.insert(std::filesystem::weakly_canonical(path, error)).second && !error) {
      throw Error(ExitCode::kUsage, "'" + path + "' is given twice", "remove the duplicate");
    }
    summaries->push_back(SummarizeTrace(traces.back()));
  }
  return MergeTraces(std::move(traces));
}

std::vector<std::string> WithFoldersRead(std::vector<std::string> paths) {
  std::vector<std::string> files;
  for (std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(std::move(path));
      continue;
    }
    // Partials beside traces stand for the same ranks.
    std::vector<std::string> found = FleetInputs({path});
    const auto is_partial = [](const std::string& file) { return file.ends_with(".gpart"); };
    if (!std::ranges::all_of(found, is_partial)) std::erase_if(found, is_partial);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace gprof::cli
