#include "analysis/facts/shared_facts.h"

#include "analysis/facts/host/host_facts.h"
#include "base/machine/parallel.h"

namespace gprof {
namespace {

size_t ThreadsFor(const Trace& trace) {
  constexpr size_t kWorthThreads = 200'000;  // operations, calls and ranges
  return trace.ops.size() + trace.api_calls.size() + trace.ranges.size() < kWorthThreads ? 1 : UsableCores();
}

}  // namespace

SharedFacts::SharedFacts(const Trace& trace)
    : trace_(trace),
      threads_(ThreadsFor(trace)),
      gaps_(trace.device_ops.size()),
      kernel_rates_(trace.device_ops.size()) {}

const HostFacts& SharedFacts::host() const {
  return host_.Make([&] {
    RunSideBySide(threads_, {[&] { (void)stream_ops(); }, [&] { (void)calls(); }});
    return HostFacts(trace_, ops(), calls(), stream_ops());
  });
}

const std::vector<Statistics>& SharedFacts::kernel_times() const {
  return kernel_times_.Make([&] { return TimesOfKernels(trace_, kernels()); });
}

const KernelLaunches& SharedFacts::kernel_launches() const {
  return kernel_launches_.Make([&] {
    KernelLaunches launches(trace_, ops(), kernels());
    (void)kernel_times_.Make([&] { return launches.TakeTimes(); });
    return launches;
  });
}

int64_t SharedFacts::busy_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += busy(i).any.busy_ns();
  return sum_ns;
}

int64_t SharedFacts::kernel_busy_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += busy(i).kernels.busy_ns();
  return sum_ns;
}

int64_t SharedFacts::window_ns(uint32_t device) const { return gaps(device).window_ns(); }

int64_t SharedFacts::window_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += window_ns(i);
  return sum_ns;
}

const std::optional<StepChoice>& SharedFacts::step() const {
  return step_.Make([&] { return FindStep(trace_, ops(), ranges(), ""); });
}

const KernelRates& SharedFacts::kernel_rates(uint32_t device) const {
  return kernel_rates_[device].Make([&] {
    std::vector<Interval> times;
    const Interval window = gaps(device).has_window() ? gaps(device).window() : Interval{};
    recorded().ForEachOfDevice(device, window.start_ns, window.end_ns, [&](int64_t start_ns, int64_t end_ns) {
      times.push_back({start_ns, end_ns});
    });
    return KernelRates(trace_, kernels(), device, times, threads_);
  });
}

const RecordingCost& SharedFacts::recording_cost() const {
  return recording_cost_.Make([&] { return EstimateRecordingCost(trace_, ops(), calls(), ranges()); });
}

std::optional<StepChoice> FindStep(const AnalysisInput& input, const std::string& wanted) {
  const SharedFacts& shared = input.shared();
  return wanted.empty() ? shared.step() : FindStep(input.trace(), shared.ops(), shared.ranges(), wanted);
}

void RunSideBySide(size_t threads, const std::vector<std::function<void()>>& parts) {
  constexpr size_t kMoreThanAnalysesUse = 4;
  ForEachSideBySide(parts.size(), threads >= kMoreThanAnalysesUse ? threads : 1, [&](size_t i) { parts[i](); });
}

}  // namespace gprof
