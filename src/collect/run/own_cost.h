// What a collector takes of a processor, so that one that takes too much can look less often.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "collect/run/journal.h"
#include "collect/run/system_clocks.h"

namespace gprof {

// What a collector may take, in percent of a processor. Beyond, it looks half as often, down to the longest period.
struct CostLimit {
  double most_percent;
  int64_t longest_period_ns;
};

class OwnCost {
 public:
  // `cpu_clock`: CPU time of this process. None: as the kernel has it.
  explicit OwnCost(std::function<int64_t()> cpu_clock) : cpu_clock_(std::move(cpu_clock)) {
    if (!cpu_clock_) cpu_clock_ = [] { return ClockNs(CLOCK_PROCESS_CPUTIME_ID); };
  }

  int64_t CpuNs() const { return cpu_clock_(); }

  // What was taken so far does not count: recording was off, or the price of a change must not look like that of
  // looking.
  void Restart() { is_running_ = false; }

  // In percent of a processor, over the time since the answer before, or since the first call. None: that is not
  // `least_ns` ago yet.
  std::optional<double> Percent(int64_t now_ns, int64_t least_ns) {
    if (is_running_ && now_ns - from_ns_ < least_ns) return std::nullopt;
    const bool was_running = std::exchange(is_running_, true);
    const auto passed_ns = static_cast<double>(now_ns - std::exchange(from_ns_, now_ns));
    const int64_t cpu_ns = CpuNs();
    const auto taken_ns = static_cast<double>(cpu_ns - std::exchange(cpu_ns_, cpu_ns));
    if (!was_running) return std::nullopt;
    return taken_ns * 100 / passed_ns;
  }

  // Whether it was too much over the last `least_ns` or more: then the period is twice what it was, and the journal
  // says that there are fewer samples from now on.
  bool StepDown(const CostLimit& limit, int64_t now_ns, int64_t least_ns, int64_t* period_ns, Journal* journal) {
    const double percent = Percent(now_ns, least_ns).value_or(0);
    if (percent <= limit.most_percent || *period_ns >= limit.longest_period_ns) return false;
    *period_ns = std::min(*period_ns * 2, limit.longest_period_ns);
    journal->AddLoss(trace::MetricLossReason::kStepDown, now_ns);
    return true;
  }

 private:
  std::function<int64_t()> cpu_clock_;
  bool is_running_ = false;
  int64_t from_ns_ = 0, cpu_ns_ = 0;
};

}  // namespace gprof
