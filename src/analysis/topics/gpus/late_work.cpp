#include <algorithm>
#include <map>

#include "analysis/causes/idle_parts.h"
#include "analysis/causes/thread_activity.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/call_places.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/gpus/nccl_waits.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr size_t kLongestKernelName = 40;

template <class Key>
std::pair<Key, int64_t> Most(const std::map<Key, int64_t>& sums_ns) {
  std::pair<Key, int64_t> most{};
  for (const auto& [key, ns] : sums_ns) {
    if (ns > most.second) most = {key, ns};
  }
  return most;
}

// Calls f(overlap) for the parts of an interval that are within the times.
template <class F>
void ForEachWithin(const std::vector<Interval>& times, int64_t start_ns, int64_t end_ns, F&& f) {
  auto at = std::ranges::partition_point(times, [&](const Interval& t) { return t.end_ns <= start_ns; });
  for (; at != times.end() && at->start_ns < end_ns; ++at) {
    f(Interval{std::max(at->start_ns, start_ns), std::min(at->end_ns, end_ns)});
  }
}

class Meanwhile {
 public:
  Meanwhile(const AnalysisInput& input, uint32_t device, uint32_t thread, const std::vector<Interval>& times)
      : input_(input), trace_(input.trace()), device_(device), thread_(thread), times_(times) {
    if (device == kNone) {
      host_ = times;
    } else {
      AddKernels();
      AddIdle();
    }
    for (const Interval& time : host_) host_ns_ += time.DurationNs();
  }

  // What it did more of than these: all ranks run their kernels before they meet.
  std::string TextBeside(const std::vector<Meanwhile>& others) {
    const auto share = [&](int64_t ns) { return ns / static_cast<int64_t>(std::max<size_t>(others.size(), 1)); };
    const auto subtract = [&](auto& own, const auto& of_other) {
      for (auto& [what, ns] : own) {
        if (const auto it = of_other.find(what); it != of_other.end()) ns -= share(it->second);
      }
    };
    for (const Meanwhile& other : others) {
      work_ns_ -= share(other.work_ns_), collectives_ns_ -= share(other.collectives_ns_);
      host_ns_ -= share(other.host_ns_);
      subtract(causes_ns_, other.causes_ns_);
      subtract(kernels_ns_, other.kernels_ns_);
    }
    return Text();
  }

  std::string Text() const {
    const auto [kernel, kernel_ns] = Most(kernels_ns_);
    const auto [cause, idle_ns] = Most(causes_ns_);
    if (std::max({work_ns_, collectives_ns_, idle_ns, host_ns_}) <= 0) return "";
    if (work_ns_ >= std::max({collectives_ns_, idle_ns, host_ns_})) {
      return "ran other kernels, mostly " + ShortenMiddle(KernelName(trace_, kernel), kLongestKernelName);
    }
    if (collectives_ns_ >= std::max(idle_ns, host_ns_)) return "was in other collectives";
    return host_ns_ >= idle_ns ? HostText() : CauseText(cause);
  }

 private:
  void AddKernels() {
    IntervalSet work, collectives;
    for (const Operation op : OperationsOf(trace_, trace_.device_ops[device_])) {
      if (!IsKernelLike(op.shared().kind)) continue;
      const bool is_collective = IsNcclKernel(trace_.Text(op.shared().name));
      ForEachWithin(times_, op.start_ns(), op.end_ns(), [&](const Interval& part) {
        (is_collective ? collectives : work).Add(part.start_ns, part.end_ns);
        if (!is_collective) kernels_ns_[op.shared().name] += part.DurationNs();
      });
    }
    work_ns_ = work.TotalNs(), collectives_ns_ = collectives.TotalNs();
  }

  void AddIdle() {
    ForEachIdlePart(input_, device_, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
      ForEachWithin(times_, start_ns, end_ns, [&](const Interval& within) {
        if (!IsOwnCode(part.cause)) {
          causes_ns_[part.cause] += within.DurationNs();
          return;
        }
        host_.push_back(within);
        paths_ns_[part.path()] += within.DurationNs();
      });
    });
  }

  std::string CauseText(Cause cause) const {
    std::string verb(InfoOf(cause).verb);
    constexpr std::string_view kHost = "the host ";
    return verb.starts_with(kHost) ? verb.substr(kHost.size()) : "was idle: " + verb;
  }

  // By samples and calls; else by the range, else by the line of the calls that came next.
  std::string HostText() const {
    if (thread_ != kNone) {
      CallPlaces places(trace_, input_.shared().python_lines());
      const std::string activity = MainActivity(input_, thread_, host_, &places);
      if (!activity.empty()) return activity.starts_with("mostly") ? "was " + activity : "spent " + activity;
    }
    const NameId path = Most(paths_ns_).first;
    if (path != NameId{}) return "ran host code in " + PathName(trace_, path);
    return "ran host code";
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const uint32_t device_, thread_;
  const std::vector<Interval>& times_;
  std::map<NameId, int64_t> kernels_ns_, paths_ns_;
  std::map<Cause, int64_t> causes_ns_;
  int64_t work_ns_ = 0, collectives_ns_ = 0, host_ns_ = 0;
  std::vector<Interval> host_;  // it was between calls of CUDA, in order
};

}  // namespace

std::string WorkMeanwhile(const AnalysisInput& input, uint32_t device, uint32_t thread,
                          const std::vector<Interval>& times) {
  return Meanwhile(input, device, thread, times).Text();
}

std::string WorkBeside(const AnalysisInput& input, const WorkOfRank& late, const std::vector<WorkOfRank>& others) {
  std::vector<Meanwhile> beside;
  for (const WorkOfRank& other : others) beside.emplace_back(input, other.device, other.thread, other.times);
  return Meanwhile(input, late.device, late.thread, late.times).TextBeside(beside);
}

}  // namespace gprof
