#include "fleet/read_input.h"

#include <algorithm>
#include <utility>

#include "fleet/partial/join_results.h"
#include "fleet/partial/partial_file.h"
#include "gprof/error.h"
#include "import/read_trace.h"

namespace gprof {

Results ReadPartials(const std::vector<std::string>& paths) {
  const PartialFiles files(paths);
  ResultsJoin join;
  ReadResults(files.bytes(),
              [&join](const RankSummary& summary, Results results) { join.Add(summary, std::move(results)); });
  if (join.ranks() == 0) {
    throw Error(ExitCode::kUnreadable, "'" + paths.front() + "' has no results of a trace",
                "its traces could not be read (gprof-cli ranks says why), or it was made with --no-results");
  }
  Results joined = join.Finish();
  joined.head.path = paths.front();
  if (paths.size() > 1) joined.head.path += " and " + std::to_string(paths.size() - 1) + " more";
  return joined;
}

Input ReadInput(const std::string& path) {
  if (IsPartialFile(path)) return ReadPartials({path});
  return ReadTrace(path);
}

const TraceHead& HeadOf(const Input& input) {
  if (const auto* const trace = std::get_if<Trace>(&input)) return *trace;
  return std::get<Results>(input).head;
}

const Trace& RequireRecords(const Input& input, const char* what) {
  if (const auto* const trace = std::get_if<Trace>(&input)) return *trace;
  throw Error(ExitCode::kUsage, std::string(what) + " needs the records of a trace; a partial does not have them",
              "use the trace that '" + HeadOf(input).path + "' was made from");
}

void RefuseMixture(const std::vector<std::string>& paths) {
  const auto partials = std::ranges::count_if(paths, IsPartialFile);
  if (partials == 0 || static_cast<size_t>(partials) == paths.size()) return;
  throw Error(ExitCode::kUsage, "traces and partials cannot be read as one run",
              "make partials of all traces: gprof-cli partial TRACE... -o ALL.gpart");
}

void RefuseOptionsOfRecords(const Input& input, const AnalysisOptions& options) {
  if (!options.step.empty()) RequireRecords(input, "--step");
  if (options.min_gap_ns > 0) RequireRecords(input, "--min-gap");
}

}  // namespace gprof
