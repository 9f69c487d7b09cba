#include "fleet/read_input.h"

#include <algorithm>
#include <utility>

#include "fleet/partial/join_results.h"
#include "fleet/partial/partial_file.h"
#include "gprof/error.h"
#include "import/read_trace.h"
#include "trace/model/require_records.h"

namespace gprof {

Trace ReadPartials(const std::vector<std::string>& paths) {
  const PartialFiles files(paths);
  ResultsJoin join;
  ReadResults(files.bytes(), [&join](const RankSummary& summary, Trace trace) { join.Add(summary, std::move(trace)); });
  if (join.ranks() == 0) {
    throw Error(ExitCode::kUnreadable, "'" + paths.front() + "' has no results of a trace",
                "its traces could not be read (gprof-cli analyze says why), or it was made with --no-results");
  }
  Trace joined = join.Finish();
  joined.path = paths.front();
  if (paths.size() > 1) joined.path += " and " + std::to_string(paths.size() - 1) + " more";
  return joined;
}

Trace ReadInput(const std::string& path) { return IsPartialFile(path) ? ReadPartials({path}) : ReadTrace(path); }

void RefuseMixture(const std::vector<std::string>& paths) {
  const auto partials = std::count_if(paths.begin(), paths.end(), IsPartialFile);
  if (partials == 0 || static_cast<size_t>(partials) == paths.size()) return;
  throw Error(ExitCode::kUsage, "traces and partials cannot be read as one run",
              "make partials of all traces: gprof-cli partial TRACE... -o ALL.gpart");
}

void RefuseOptionsOfRecords(const Trace& trace, const AnalysisOptions& options) {
  if (!options.step.empty()) RequireRecords(trace, "--step");
  if (options.min_gap_ns > 0) RequireRecords(trace, "--min-gap");
}

}  // namespace gprof
