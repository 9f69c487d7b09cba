#include "analysis/causes/thread_activity.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/python_waits.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/statistics.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentWorthAWord = 20;

// Of [start, end), within the times.
int64_t Overlap(const std::vector<Interval>& times, int64_t start_ns, int64_t end_ns) {
  int64_t ns = 0;
  auto at = std::ranges::partition_point(times, [&](const Interval& t) { return t.end_ns <= start_ns; });
  for (; at != times.end() && at->start_ns < end_ns; ++at) {
    ns += OverlapNs(*at, Interval{start_ns, end_ns});
  }
  return ns;
}

class Activities {
 public:
  Activities(const Trace& trace, uint32_t thread, const std::vector<Interval>& times, CallPlaces* places)
      : trace_(trace), thread_(thread), times_(times), places_(places) {
    for (uint32_t i = 0; i < trace.cpu_samples.size(); ++i) {
      if (trace.cpu_samples[i].thread == thread) samples_.push_back(i);
    }
  }

  void AddOsCalls(const OsCallKinds& kinds) {
    for (const OsCall& call : trace_.os_calls) {
      if (call.thread != thread_) continue;
      const int64_t ns = Overlap(times_, call.start_ns, call.end_ns);
      if (ns <= 0) continue;
      const std::string place = PlaceOf(call), &word = waits_.WordFor(call);
      sums_["in " + (word.empty() ? CallName(trace_, kinds.KindOf(call)) : word) +
            (place.empty() ? "" : ", called from " + place)] += ns;
    }
  }
  void AddCudaCalls() {
    for (const Call call : CallsOf(trace_, trace_.thread_api_calls[thread_])) {
      if (!call.is_outermost()) continue;
      const int64_t ns = Overlap(times_, call.start_ns(), call.end_ns());
      if (ns > 0) sums_["in " + std::string(trace_.Text(call.shared().function))] += ns;
    }
  }
  void AddSamples() {
    SampledFunctions functions(trace_);
    const RunningSamples counted(trace_);
    for (const uint32_t i : samples_) {
      const CpuSample& sample = trace_.cpu_samples[i];
      if (!counted.Has(sample) || Overlap(times_, sample.time_ns, sample.time_ns + 1) == 0) continue;
      const uint32_t function = functions.Innermost(sample.stack);
      if (function == kNone) continue;
      const std::string name = places_->IsLine(sample.stack) ? (*places_)(sample.stack) : functions[function].name;
      if (!name.starts_with('[')) sums_["running " + name] += sample.weight_ns;
    }
  }
  std::string Main() const {
    int64_t all_ns = 0;
    for (const Interval& time : times_) all_ns += time.end_ns - time.start_ns;
    const auto is_less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto largest = std::ranges::max_element(sums_, is_less);
    if (largest != sums_.end() && largest->second * 2 >= all_ns) return "mostly " + largest->first;
    // Threads that share a processor, or Python's lock, run for a part of the time.
    const auto is_running = [](const auto& sum) { return sum.first.starts_with("running "); };
    std::map<std::string, int64_t> running;
    std::ranges::copy_if(sums_, std::inserter(running, running.end()), is_running);
    const auto work = std::ranges::max_element(running, is_less);
    const double percent = work == running.end() ? 0 : PercentOf(work->second, all_ns);
    return percent < kPercentWorthAWord ? "" : FormatPercent(percent) + " of the time " + work->first;
  }

 private:
  // That the call was made from. Where its stack leads through code without names, samples that were taken during the
  // call may know the line of Python.
  std::string PlaceOf(const OsCall& call) const {
    std::string place = places_->OfProgram(call.stack);
    if (!place.empty()) return place;
    const auto is_before = [&](uint32_t i) { return trace_.cpu_samples[i].time_ns < call.start_ns; };
    for (auto at = std::ranges::partition_point(samples_, is_before); at != samples_.end(); ++at) {
      const CpuSample& sample = trace_.cpu_samples[*at];
      if (sample.time_ns >= call.end_ns) break;
      if (places_->IsLine(sample.stack)) return (*places_)(sample.stack);
    }
    return "";
  }

  const Trace& trace_;
  const uint32_t thread_;
  const std::vector<Interval>& times_;
  CallPlaces* places_;
  PythonWaits waits_{trace_};
  std::vector<uint32_t> samples_;  // of the thread, in order of time
  std::map<std::string, int64_t> sums_;
};

}  // namespace

std::string MainActivity(const AnalysisInput& input, uint32_t thread, const std::vector<Interval>& times,
                         CallPlaces* places) {
  Activities activities(input.trace(), thread, times, places);
  activities.AddOsCalls(input.shared().os_call_kinds());
  activities.AddCudaCalls();
  activities.AddSamples();
  return activities.Main();
}

}  // namespace gprof
