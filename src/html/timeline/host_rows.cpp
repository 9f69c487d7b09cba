#include "html/timeline/host_rows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "html/timeline/lane_maker.h"

namespace gprof {
namespace {

// Indices of the records, by thread; those come in the order of time.
template <class Records>
std::vector<std::vector<uint32_t>> ByThread(const Trace& trace, const Records& records) {
  std::vector<std::vector<uint32_t>> by_thread(trace.threads.size());
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].thread != kNone) by_thread[records[i].thread].push_back(i);
  }
  return by_thread;
}

std::vector<TimelineLane> LanesOf(const Trace& trace, const TimelineData& data, EventSource source,
                                  const std::vector<uint32_t>& items) {
  LaneMaker lanes;
  for (const uint32_t item : items) lanes.Add(item, TimeOf(trace, data, source, item), 0);
  return lanes.Finish();
}

}  // namespace

HostRows::HostRows(const AnalysisInput& input)
    : trace_(input.trace()),
      runs_(trace_),
      mpi_calls_(ByThread(trace_, trace_.mpi_calls)),
      os_calls_(ByThread(trace_, trace_.os_calls)),
      switches_(ByThread(trace_, trace_.switches)),
      samples_(ByThread(trace_, trace_.cpu_samples)) {}

void HostRows::AddTo(uint32_t thread, int32_t parent, TimelineData* data) const {
  const auto add = [&](TrackKind kind, EventSource source, std::string label, std::string detail,
                       const std::vector<uint32_t>& items) {
    std::vector<TimelineLane> lanes = LanesOf(trace_, *data, source, items);
    if (lanes.empty()) return;
    data->tracks.push_back({kind, source, parent, std::move(label), std::move(detail), std::move(lanes), {}});
  };
  add(TrackKind::kMpi, EventSource::kMpiCall, "MPI", "MPI calls", mpi_calls_[thread]);
  add(TrackKind::kOs, EventSource::kOsCall, "OS calls", "long operating system calls", os_calls_[thread]);
  std::vector<uint32_t> states;
  for (const ThreadState& state : StatesOf(thread)) {
    states.push_back(static_cast<uint32_t>(data->thread_states.size()));
    data->thread_states.push_back(state);
  }
  add(TrackKind::kStates, EventSource::kThreadState, "thread state",
      "running, preempted or blocked, by context switches", states);
  add(TrackKind::kSamples, EventSource::kSample, "CPU samples", "what the thread was running", samples_[thread]);
}

// Between switches it ran, and before the first and after the last one while it made CUDA calls, as in the table of
// threads.
std::vector<ThreadState> HostRows::StatesOf(uint32_t thread) const {
  std::vector<ThreadState> states;
  if (switches_[thread].empty()) return states;
  const Trace::Slice calls = trace_.thread_api_calls[thread];
  int64_t at_ns = trace_.switches[switches_[thread].front()].start_ns;
  if (calls.first != calls.last) at_ns = std::min(at_ns, trace_.api_calls[calls.first].start_ns);
  const auto run_until = [&](int64_t end_ns, uint32_t cpu) {
    if (at_ns < end_ns) states.push_back({at_ns, end_ns, RunState::kRunning, cpu});
  };
  for (const uint32_t i : switches_[thread]) {
    const ThreadSwitch& off = trace_.switches[i];
    run_until(off.start_ns, off.cpu);
    const int64_t start_ns = std::max(at_ns, off.start_ns);
    if (start_ns < off.end_ns) {
      states.push_back({start_ns, off.end_ns, off.is_preempted ? RunState::kPreempted : RunState::kBlocked, off.cpu});
      if (off.is_preempted) FindWhoRan(thread, &states.back());
    }
    at_ns = std::max(at_ns, off.end_ns);
  }
  if (calls.first != calls.last) run_until(trace_.api_calls[calls.last - 1].end_ns, kNone);
  return states;
}

void HostRows::FindWhoRan(uint32_t thread, ThreadState* state) const {
  std::map<uint32_t, int64_t> others;
  int64_t most_ns = 0;
  runs_.ForEachPreemption(thread, state->start_ns, state->end_ns, [&](uint32_t by, int64_t ns) {
    const int64_t sum_ns = others[by] += ns;
    if (sum_ns <= most_ns) return;
    most_ns = sum_ns;
    state->by = by;
  });
}

uint32_t RangeAround(const Trace& trace, uint32_t thread, int64_t time_ns) {
  if (thread == kNone) return kNone;
  const Trace::Slice slice = trace.thread_ranges[thread];
  const auto begin = trace.ranges.begin();
  const auto after = std::upper_bound(begin + slice.first, begin + slice.last, time_ns,
                                      [](int64_t time, const NvtxRange& range) { return time < range.start_ns; });
  if (after == begin + slice.first) return kNone;
  // Ranges that began before and are over have parents that may not be.
  auto range = static_cast<uint32_t>(after - begin - 1);
  while (range != kNone && trace.ranges[range].end_ns < time_ns) {
    const uint32_t parent = trace.ranges[range].parent;
    range = parent < range ? parent : kNone;
  }
  return range;
}

}  // namespace gprof
