#include "cli/fleet/exact_round.h"

#include <map>
#include <mutex>

#include "base/machine/parallel.h"
#include "gprof/error.h"
#include "import/read_trace.h"

namespace gprof::cli {
namespace {

// Each trace once: one of several processes is several ranks.
std::vector<std::string> TracesOf(const FleetVerdict& verdict, const std::vector<std::string>& paths) {
  std::map<std::string, std::string> by_name;
  for (const std::string& path : paths) {
    if (!path.ends_with(".gpart")) by_name[path.substr(path.rfind('/') + 1)] = path;
  }
  std::map<std::string, std::string> wanted;
  for (const RankVerdict& rank : verdict.ranks) {
    const auto found = by_name.find(rank.rank->source);
    if (found == by_name.end()) {
      throw Error(ExitCode::kUsage,
                  "--exact needs the traces of all ranks; that of " + NameOf(*rank.rank) + " is not given",
                  "keep the traces next to the partials, or omit --exact");
    }
    wanted.insert(*found);
  }
  std::vector<std::string> traces;
  for (const auto& [name, path] : wanted) traces.push_back(path);
  return traces;
}

}  // namespace

ExactTimes SearchExactly(const FleetVerdict& verdict, const std::vector<std::string>& paths, std::size_t workers) {
  std::vector<const RankSummary*> ranks;
  for (const RankVerdict& rank : verdict.ranks) ranks.push_back(rank.rank);
  ExactSearch search(ranks);
  const std::vector<std::string> traces = TracesOf(verdict, paths);
  std::mutex mutex;
  ForEachSideBySide(traces.size(), workers, [&](std::size_t i) {
    const CountsOfTimes counts = search.Count(ReadTrace(traces[i]));
    const std::lock_guard lock(mutex);
    search.Add(counts);
  });
  return search.Finish();
}

}  // namespace gprof::cli
