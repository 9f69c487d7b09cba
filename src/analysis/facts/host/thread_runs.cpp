#include "analysis/facts/host/thread_runs.h"

namespace gprof {
namespace {

// Numbers beyond this are damage.
constexpr uint32_t kMostCpus = 1 << 16;

}  // namespace

// A switch tells which processor the thread had left, so that a run is known once it is over, from the switch before
// on. Where the first one began is not known.
ThreadRuns::ThreadRuns(const Trace& trace) {
  if (trace.switches.empty()) return;
  preemptions_.resize(trace.threads.size());
  std::vector<int64_t> on_since_ns(trace.threads.size(), INT64_MAX);
  for (const ThreadSwitch& off : trace.switches) {
    if (off.thread == kNone) continue;
    std::vector<Off>& preemptions = preemptions_[off.thread];
    const int64_t from_ns = preemptions.empty() ? off.start_ns : std::max(off.start_ns, preemptions.back().end_ns);
    if (off.is_preempted && from_ns < off.end_ns) preemptions.push_back({from_ns, off.end_ns, off.cpu});
    int64_t& since_ns = on_since_ns[off.thread];
    if (since_ns < off.start_ns && off.cpu < kMostCpus) {
      if (off.cpu >= runs_.size()) runs_.resize(off.cpu + 1);
      runs_[off.cpu].push_back({since_ns, off.start_ns, off.thread});
    }
    since_ns = off.end_ns;
  }
  for (std::vector<OnCpu>& runs : runs_) {
    std::ranges::sort(runs, {}, &OnCpu::start_ns);
    // One processor runs one thread: what overlaps is cut, clocks are not exact.
    for (size_t i = 1; i < runs.size(); ++i) {
      runs[i].start_ns = std::max(runs[i].start_ns, runs[i - 1].end_ns);
      runs[i].end_ns = std::max(runs[i].end_ns, runs[i].start_ns);
    }
  }
}

}  // namespace gprof
