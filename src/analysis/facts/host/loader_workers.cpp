#include "analysis/facts/host/loader_workers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/units.h"

namespace gprof {
namespace {

using Change = std::pair<int64_t, int64_t>;  // at that time, by so many

int64_t MostAtOnce(std::vector<Change> changes) {
  std::ranges::sort(changes);  // one that ends when another starts comes before it
  int64_t now = 0, most = 0;
  for (const auto& [time_ns, by] : changes) most = std::max(most, now += by);
  return most;
}

}  // namespace

std::string LoaderWorkers::StartedAnew() const {
  if (started <= at_once) return "";
  return CountOf(started, "DataLoader worker") + " were started, at most " + FormatCount(at_once) + " at a time";
}

std::string LoaderWorkers::KeepUp(double enough) const {
  const auto count = static_cast<int64_t>(std::ceil(enough));
  return "about " + CountOf(count, "worker") + " would keep up, " +
         (cores == 0 || count <= cores ? "each on a core of its own."
                                       : "but the program has " + CountOf(cores, "core") + ".");
}

LoaderWorkers LoaderWorkersOf(const Trace& trace) {
  std::set<uint32_t> workers;
  for (const Thread& thread : trace.threads) {
    if (thread.process != kNone && trace.Text(thread.name) == "pt_data_worker") workers.insert(thread.process);
  }
  std::map<NameId, std::vector<Change>> changes_of;  // by machine
  for (const uint32_t index : workers) {
    const Process& process = trace.processes[index];
    std::vector<Change>& changes = changes_of[process.host];
    changes.emplace_back(process.start_ns, 1);
    changes.emplace_back(std::max(process.end_ns, process.start_ns + 1), -1);
  }
  LoaderWorkers most;
  NameId host = trace.processes.empty() ? NameId{} : trace.processes.front().host;
  for (auto& [name, changes] : changes_of) {
    const int64_t started = std::ssize(changes) / 2, at_once = MostAtOnce(std::move(changes));
    if (at_once > most.at_once) host = name, most = {at_once, started};
  }
  for (const Process& process : trace.processes) {
    if (process.host == host) most.cores = std::max<int64_t>(most.cores, process.cores);
  }
  return most;
}

}  // namespace gprof
