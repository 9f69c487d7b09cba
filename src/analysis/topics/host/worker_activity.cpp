#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/facts/places/running_samples.h"
#include "analysis/result/statistics.h"
#include "analysis/topics/host/os_findings.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int64_t kFewestSamples = 10;
// Workers that run for a smaller part of the wait are not what it was for. On a busy machine they may run little.
constexpr double kPercentToRun = 5;

// Those that the process started, and what these did.
std::set<uint32_t> DescendantsOf(const Trace& trace, uint32_t process) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> of_pids;  // by host and pid
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    of_pids.emplace(std::pair(trace.processes[i].host.value, trace.processes[i].pid), i);
  }
  std::set<uint32_t> found;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    // A circle, which a damaged trace may have, ends after as many steps as there are processes.
    uint32_t at = i;
    for (std::size_t steps = 0; steps < trace.processes.size() && at != process; ++steps) {
      const auto parent = of_pids.find({trace.processes[at].host.value, trace.processes[at].parent_pid});
      if (parent == of_pids.end()) break;
      at = parent->second;
    }
    if (at == process && i != process) found.insert(i);
  }
  return found;
}

bool IsWithin(const std::vector<Interval>& times, int64_t time_ns) {
  const auto at = std::ranges::partition_point(times, [&](const Interval& time) { return time.end_ns <= time_ns; });
  return at != times.end() && at->start_ns <= time_ns;
}

// A worker that has nothing to do waits for its next task.
bool WaitsForWork(const Trace& trace, uint32_t stack) {
  if (stack == kNone || trace.stacks[stack].frame == kNone) return false;
  const Frame& frame = trace.frames[trace.stacks[stack].frame];
  if (frame.module == kNone) return false;
  const std::string_view path = trace.Text(trace.modules[frame.module].path);
  return path.find("/multiprocessing/") != std::string_view::npos || path.ends_with("/selectors.py") ||
         path.ends_with("/queue.py") || path.ends_with("/threading.py");
}

// By place and by process.
struct Sums {
  int64_t ns = 0, samples = 0;
  std::map<std::string, int64_t> places;
  std::map<uint32_t, int64_t> processes;

  void Add(uint32_t process, const std::string& place, int64_t weight_ns) {
    ns += weight_ns;
    ++samples;
    processes[process] += weight_ns;
    if (!place.empty()) places[place] += weight_ns;
  }
};

template <class Map>
typename Map::const_iterator LargestOf(const Map& sums) {
  return std::ranges::max_element(sums, {}, [](const auto& x) { return x.second; });
}

std::string Words(const Trace& trace, const Sums& sums, const char* verb) {
  const Process& most = trace.processes[LargestOf(sums.processes)->first];
  const auto more = static_cast<int64_t>(sums.processes.size()) - 1;
  const auto place = LargestOf(sums.places);
  return std::string(trace.Text(most.name)) + " (" + std::to_string(most.pid) + ")" +
         (more == 0 ? ", which it started, "
                    : " and " + CountOf(more, "more process", "more processes") + " that it started ") +
         verb + ", " + FormatPercent(PercentOf(place->second, sums.ns)) + " of that time in " + place->first;
}

}  // namespace

std::string WorkerActivity(const Trace& trace, uint32_t process, const std::vector<Interval>& times,
                           CallPlaces* places) {
  if (process == kNone || times.empty()) return "";
  const std::set<uint32_t> workers = DescendantsOf(trace, process);
  if (workers.empty()) return "";
  const RunningSamples counted(trace);
  Sums running, waiting;
  for (const CpuSample& sample : trace.cpu_samples) {
    if (workers.count(sample.process) == 0 || !IsWithin(times, sample.time_ns)) continue;
    if (counted.Has(sample)) {
      running.Add(sample.process, places->Named(sample.stack), sample.weight_ns);
    } else if (sample.sample_kind == trace::SampleKind::kPythonWaiting && !WaitsForWork(trace, sample.stack)) {
      waiting.Add(sample.process, places->Named(sample.stack), sample.weight_ns);
    }
  }
  int64_t waited_ns = 0;
  for (const Interval& time : times) waited_ns += time.end_ns - time.start_ns;
  const auto says_something = [&](const Sums& sums) {
    return sums.samples >= kFewestSamples && !sums.places.empty() && PercentOf(sums.ns, waited_ns) >= kPercentToRun;
  };
  if (says_something(running)) return Words(trace, running, "ran meanwhile");
  return says_something(waiting) ? Words(trace, waiting, "waited meanwhile") : "";
}

}  // namespace gprof
