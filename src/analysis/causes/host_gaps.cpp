#include "analysis/causes/host_gaps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/causes/idle_parts.h"
#include "analysis/causes/launch_split.h"
#include "analysis/facts/host/thread_runs.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

uint32_t LaunchingThread(const AnalysisInput& input, const Gap& gap) {
  const Trace& trace = input.trace();
  if (gap.after == kNone) {
    const DeviceWindow& window = trace.device_windows[gap.device];
    return window.has_next_call ? window.next_call.thread : kNone;
  }
  const uint32_t call = input.shared().ops().CallOf(gap.after);
  return call == kNone ? kNone : trace.api_calls[call].thread;
}

class Collector {
 public:
  Collector(const AnalysisInput& input, HostGaps* gaps)
      : input_(input),
        trace_(input.trace()),
        kinds_(input.shared().os_call_kinds()),
        runs_(trace_),
        counted_(trace_),
        samples_(trace_.threads.size()),
        judged_(JudgedTimeOf(input)),
        first_kernels_(input),
        is_mpi_call_seen_(trace_.mpi_calls.size()),
        is_sample_seen_(trace_.cpu_samples.size()),
        gaps_(*gaps) {
    for (Waits* waits : {&waits_, &judged_waits_, &before_first_}) waits->seen.resize(trace_.os_calls.size());
    for (uint32_t i = 0; i < trace_.cpu_samples.size(); ++i) {
      const uint32_t thread = trace_.cpu_samples[i].thread;
      if (thread != kNone) samples_[thread].push_back(i);
    }
  }

  void Run() {
    gaps_.preempted_ns.resize(trace_.device_ops.size());
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      if (HasWindow(trace_, device)) AddDevice(device);
    }
    Finish();
  }

 private:
  void AddDevice(uint32_t device) {
    ForEachExplainedGap(input_, device, [&](const Gap& gap, std::span<const Part> parts) {
      const auto is_own = [](const Part& part) { return IsOwnCode(part.cause); };
      if (std::ranges::none_of(parts, is_own)) return;
      const uint32_t launching = LaunchingThread(input_, gap);
      if (launching == kNone) return;
      const Interval judged{std::max(gap.start_ns, judged_.start_ns), std::min(gap.end_ns, judged_.end_ns)};
      const bool is_before_first = judged.start_ns < judged.end_ns && first_kernels_.AreAfter(gap);
      gaps_before_first_ += is_before_first;
      Waits* const waits = is_before_first ? &before_first_ : &judged_waits_;
      const int64_t loaded_ns = first_kernels_.LoadedNs(gap, parts);
      ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
        const uint32_t thread = input_.shared().host().waits.ActingThread(launching, start_ns);
        if (part.cause == Cause::kOs) {
          AddWaits(thread, start_ns, end_ns, &waits_);
          // What comes before loading code is for that.
          AddWaits(thread, std::max({start_ns, judged.start_ns, loaded_ns}), std::min(end_ns, judged.end_ns), waits);
          AddSamples(thread, part.path(), start_ns, end_ns);
        }
        if (part.cause == Cause::kMpi) AddMpi(thread, start_ns, end_ns);
        if (part.cause == Cause::kHost) AddHost(device, thread, part.path(), start_ns, end_ns);
      });
    });
  }

  // Idle time in waits; each call is counted where it was seen first.
  struct Waits {
    std::map<std::pair<OsCallKind, uint32_t>, IdleInWait> sums;
    std::vector<bool> seen;
  };

  void AddWaits(uint32_t thread, int64_t from_ns, int64_t to_ns, Waits* waits) {
    if (from_ns >= to_ns) return;
    for (const ThreadWait& wait : input_.shared().host().waits.Within(thread, from_ns, to_ns)) {
      if (wait.is_mpi) continue;
      const OsCallKind kind = wait.call == kNone ? OsCallKind{} : kinds_.KindOf(trace_.os_calls[wait.call]);
      IdleInWait& idle = waits->sums[{kind, thread}];
      idle.idle_ns += std::min(to_ns, wait.end_ns) - std::max(from_ns, wait.start_ns);
      if (wait.call == kNone || waits->seen[wait.call]) continue;
      waits->seen[wait.call] = true;
      ++idle.calls;
      idle.bytes += static_cast<int64_t>(trace_.os_calls[wait.call].size_bytes);
    }
  }

  void AddMpi(uint32_t thread, int64_t from_ns, int64_t to_ns) {
    for (const ThreadWait& wait : input_.shared().host().waits.Within(thread, from_ns, to_ns)) {
      if (!wait.is_mpi) continue;
      IdleInMpi& idle = mpi_[{trace_.mpi_calls[wait.call].function, thread}];
      idle.idle_ns += std::min(to_ns, wait.end_ns) - std::max(from_ns, wait.start_ns);
      idle.calls += !is_mpi_call_seen_[wait.call];
      is_mpi_call_seen_[wait.call] = true;
    }
  }

  void AddHost(uint32_t device, uint32_t thread, NameId path, int64_t from_ns, int64_t to_ns) {
    runs_.ForEachPreemption(thread, from_ns, to_ns, [&](uint32_t by, int64_t ns) {
      preempted_[{thread, by}] += ns;
      gaps_.preempted_ns[device] += ns;
    });
    AddSamples(thread, path, from_ns, to_ns);
  }

  void AddSamples(uint32_t thread, NameId path, int64_t from_ns, int64_t to_ns) {
    const std::vector<uint32_t>& samples = samples_[thread];
    auto sample =
        std::ranges::partition_point(samples, [&](uint32_t i) { return trace_.cpu_samples[i].time_ns < from_ns; });
    for (; sample != samples.end() && trace_.cpu_samples[*sample].time_ns < to_ns; ++sample) {
      if (is_sample_seen_[*sample]) continue;
      is_sample_seen_[*sample] = true;
      if (IsOfPython(trace_.cpu_samples[*sample])) gaps_.python_samples.push_back(*sample);
      if (!counted_.Has(trace_.cpu_samples[*sample])) continue;
      gaps_.samples.push_back(*sample);
      gaps_.samples_of_path[path].push_back(*sample);
    }
  }

  void Finish() {
    if (gaps_before_first_ < kFirstLaunchesOfAPattern) {
      for (const auto& [key, more] : before_first_.sums) {
        IdleInWait& idle = judged_waits_.sums[key];
        idle.idle_ns += more.idle_ns, idle.calls += more.calls, idle.bytes += more.bytes;
      }
    }
    gaps_.waits = SortedWaits(&waits_);
    gaps_.judged_waits = SortedWaits(&judged_waits_);
    for (auto& [key, idle] : mpi_) {
      idle.function = key.first, idle.thread = key.second;
      gaps_.mpi.push_back(idle);
    }
    for (const auto& [threads, ns] : preempted_) gaps_.preempted.push_back({threads.first, threads.second, ns});
    const auto has_more = [](const auto& a, const auto& b) { return a.idle_ns > b.idle_ns; };
    std::stable_sort(gaps_.mpi.begin(), gaps_.mpi.end(), has_more);
    std::stable_sort(gaps_.preempted.begin(), gaps_.preempted.end(), has_more);
    std::sort(gaps_.samples.begin(), gaps_.samples.end());
    SampledFunctions functions(trace_);
    gaps_.functions = CountFunctions(functions, gaps_.samples);
    std::sort(gaps_.python_samples.begin(), gaps_.python_samples.end());
  }

  static std::vector<IdleInWait> SortedWaits(Waits* waits) {
    std::vector<IdleInWait> sorted;
    for (auto& [key, idle] : waits->sums) {
      idle.kind = key.first, idle.thread = key.second;
      sorted.push_back(idle);
    }
    std::ranges::stable_sort(sorted, std::greater(), &IdleInWait::idle_ns);
    return sorted;
  }
  static Interval JudgedTimeOf(const AnalysisInput& input) {
    const std::optional<SteadyTime>& steady = input.shared().judged(input).steady;
    return steady ? steady->time : Interval{INT64_MIN, INT64_MAX};
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const OsCallKinds& kinds_;
  const ThreadRuns runs_;
  const RunningSamples counted_;
  std::vector<std::vector<uint32_t>> samples_;  // of each thread
  const Interval judged_;
  const FirstKernels first_kernels_;
  int64_t gaps_before_first_ = 0;
  std::vector<bool> is_mpi_call_seen_, is_sample_seen_;
  Waits waits_, judged_waits_, before_first_;
  std::map<std::pair<NameId, uint32_t>, IdleInMpi> mpi_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> preempted_;
  HostGaps& gaps_;
};

}  // namespace

HostGaps::HostGaps(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  if (trace.os_calls.empty() && trace.mpi_calls.empty() && trace.switches.empty() && trace.cpu_samples.empty()) return;
  Collector(input, this).Run();
}

int64_t HostGaps::PreemptedNs() const { return std::accumulate(preempted_ns.begin(), preempted_ns.end(), int64_t{0}); }

}  // namespace gprof
