#include "cli/traces.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "gprof/error.h"
#include "import/read_trace.h"
#include "trace/merge.h"

namespace gprof::cli {

Trace LoadTraces(const std::vector<std::string>& paths, std::vector<TraceSummary>* summaries) {
  if (paths.size() == 1) return ReadTrace(paths.front());
  std::vector<Trace> traces;
  std::set<std::filesystem::path> files;
  for (const std::string& path : paths) {
    traces.push_back(ReadTrace(path));
    std::error_code error;
    if (!files.insert(std::filesystem::weakly_canonical(path, error)).second && !error) {
      throw Error(ExitCode::kUsage, "'" + path + "' is named twice", "everything in it would count twice");
    }
    summaries->push_back(SummarizeTrace(traces.back()));
  }
  return MergeTraces(std::move(traces));
}

}  // namespace gprof::cli
