#include "analysis/topics/launches/launches_over_time.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"

namespace gprof {
namespace {

constexpr std::size_t kSlices = 10;

struct Slice {
  int64_t busy_ns = 0, launched = 0;
  double waiting_ns = 0;  // sum over the operations that were launched and not finished
};

class OverTime {
 public:
  // Borders are whole ns, so that the slices have every ns once.
  OverTime(int64_t start_ns, int64_t end_ns) : start_ns_(start_ns), end_ns_(end_ns) {
    for (std::size_t i = 0; i < kSlices; ++i) {
      borders_ns_[i] =
          start_ns + static_cast<int64_t>(static_cast<double>(end_ns - start_ns) * static_cast<double>(i) / kSlices);
    }
  }

  int64_t Border(std::size_t i) const { return borders_ns_[i]; }

  void AddBusy(int64_t start_ns, int64_t end_ns) {
    ForEach(start_ns, end_ns, [](Slice& slice, int64_t ns) { slice.busy_ns += ns; });
  }

  void AddOperation(int64_t launched_ns, int64_t end_ns) {
    ForEach(launched_ns, end_ns, [](Slice& slice, int64_t ns) { slice.waiting_ns += static_cast<double>(ns); });
    if (launched_ns >= end_ns_) return;
    ++slices_[SliceOf(launched_ns)].launched;  // what was launched before the window counts in the first slice
  }

  const Slice& At(std::size_t i) const { return slices_[i]; }

 private:
  // Operations come in order of time: it is the slice of the one before, as a rule.
  std::size_t SliceOf(int64_t time_ns) {
    std::size_t& i = last_slice_;
    while (i > 0 && time_ns < borders_ns_[i]) --i;
    while (i + 1 < kSlices && time_ns >= borders_ns_[i + 1]) ++i;
    return i;
  }

  template <class F>
  void ForEach(int64_t start_ns, int64_t end_ns, F&& f) {
    start_ns = std::max(start_ns, start_ns_), end_ns = std::min(end_ns, end_ns_);
    // As a rule it is within one slice, that of the interval before.
    const std::size_t last = last_slice_;
    if (start_ns >= borders_ns_[last] && last + 1 < kSlices && end_ns <= borders_ns_[last + 1]) {
      if (start_ns < end_ns) f(slices_[last], end_ns - start_ns);
      return;
    }
    for (std::size_t i = SliceOf(start_ns); i < kSlices && start_ns < end_ns; ++i) {
      const int64_t to_ns = i + 1 == kSlices ? end_ns : std::min(end_ns, Border(i + 1));
      if (to_ns > start_ns) f(slices_[i], to_ns - start_ns);
      start_ns = std::max(start_ns, to_ns);
    }
  }

  int64_t start_ns_, end_ns_;
  std::array<int64_t, kSlices> borders_ns_{};  // where each slice begins
  std::array<Slice, kSlices> slices_{};
  std::size_t last_slice_ = 0;
};

OverTime Gather(const Trace& trace, const OpFacts& ops, uint32_t device, Interval window) {
  OverTime result(window.start_ns, window.end_ns);
  int64_t busy_until_ns = window.start_ns;
  for (uint32_t i = trace.device_ops[device].first; i < trace.device_ops[device].last; ++i) {
    trace.ops.PrefetchAfter(i);
    const GpuOp& op = trace.ops[i];
    result.AddOperation(std::min(op.start_ns, ops.LaunchNs(i)), op.end_ns);
    result.AddBusy(std::max(busy_until_ns, op.start_ns), op.end_ns);
    busy_until_ns = std::max(busy_until_ns, op.end_ns);
  }
  return result;
}

}  // namespace

Table LaunchesOverTime(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Table table{
      "launches_over_time",
      "GPU load over time",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"start_ns", "From", Unit::kNs, false, ColumnRole::kOwn, "time since the start of the trace"},
       {"busy_percent", "Busy", Unit::kPercent, false, ColumnRole::kOwn},
       {"launched", "Launched", Unit::kCount, false, "operations, by the slice of their launch call"},
       {"per_second", "Launch rate", Unit::kPerSecond, false},
       {"depth", "Queue depth", Unit::kCount, false, "operations launched and not finished, mean over the slice"}},
      {},
      "Ten equal slices of the GPU window."};
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (!HasWindow(trace, device)) continue;
    const Interval window = input.shared().gaps(device).window();
    if (window.DurationNs() < static_cast<int64_t>(kSlices)) continue;
    const OverTime over_time = Gather(trace, input.shared().ops(), device, window);
    for (std::size_t i = 0; i < kSlices; ++i) {
      const Slice& slice = over_time.At(i);
      const int64_t length_ns = (i + 1 == kSlices ? window.end_ns : over_time.Border(i + 1)) - over_time.Border(i);
      table.rows.push_back({DeviceScope(trace, device), over_time.Border(i) - trace.start_ns,
                            PercentOf(slice.busy_ns, length_ns), slice.launched,
                            1e9 * static_cast<double>(slice.launched) / static_cast<double>(length_ns),
                            slice.waiting_ns / static_cast<double>(length_ns)});
    }
  }
  return table;
}

}  // namespace gprof
