#include "analysis/topics/tracks/clock_limits.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/metric_samples.h"

namespace gprof {
namespace {

constexpr std::size_t kReasonCount = std::size(kClockReasons);
constexpr double kKhzAMhz = 1000;

// What the samples say of one reason.
struct Sampled {
  int64_t held_ns = 0, clock_ns = 0;  // clock_ns: of held_ns, with the clock known
  double clock_sum = 0;               // of clock and time
  double cost_ns = 0;
};

class DeviceClocks {
 public:
  DeviceClocks(const AnalysisInput& input, uint32_t device, const Interval& window)
      : trace_(input.trace()), gaps_(input.shared().gaps(device)), device_(device), window_(window) {
    FindClock();
  }

  ClockLimits Find();

 private:
  void FindClock();
  bool ReadReasons(Sampled* of_reasons) const;
  double ClockAt(int64_t time_ns) const;
  // How much of busy time could be saved at the highest clock.
  double Saving(double clock_mhz) const { return highest_mhz_ > 0 ? std::max(1 - clock_mhz / highest_mhz_, 0.0) : 0; }
  ClockLimit LimitOf(const ClockReason& reason, const Sampled& sampled, std::optional<double> counted_ns) const;

  const Trace& trace_;
  const GapList& gaps_;
  uint32_t device_;
  Interval window_;
  uint32_t clock_ = kNone;
  double median_mhz_ = 0, most_mhz_ = 0;
  double highest_mhz_ = 0;  // that the GPU can do
};

void DeviceClocks::FindClock() {
  clock_ = FindSource(trace_, device_, "GPC Clock Frequency", "MHz");
  if (clock_ == kNone) clock_ = FindSource(trace_, device_, "SM clock", "MHz");
  if (clock_ == kNone) return;
  const std::span<const MetricSample> samples = SamplesWithin(trace_.SamplesOf(clock_), window_);
  if (samples.empty()) return;
  const SampleStatistics statistics = StatisticsOf(trace_.metric_sources[clock_], samples);
  median_mhz_ = statistics.p50;
  most_mhz_ = statistics.max;
  highest_mhz_ = std::max(most_mhz_, trace_.devices[device_].properties.sm_clock_khz / kKhzAMhz);
}

// 0: not known.
double DeviceClocks::ClockAt(int64_t time_ns) const {
  if (clock_ == kNone) return 0;
  const std::span<const MetricSample> samples = trace_.SamplesOf(clock_);
  const auto is_after = [](int64_t time, const MetricSample& sample) { return time < sample.start_ns; };
  const auto next = std::upper_bound(samples.begin(), samples.end(), time_ns, is_after);
  if (next == samples.begin()) return 0;
  const MetricSample& sample = *(next - 1);
  const MetricSource& source = trace_.metric_sources[clock_];
  return EndOfSample(source, sample) > time_ns ? ScaledValue(source, sample.value) : 0;
}

// A sample of the reasons holds until the next one. False: there are none.
bool DeviceClocks::ReadReasons(Sampled* of_reasons) const {
  const uint32_t index = FindSource(trace_, device_, "clock limits", "mask");
  if (index == kNone) return false;
  const MetricSource& source = trace_.metric_sources[index];
  const std::span<const MetricSample> samples = trace_.SamplesOf(index);
  IdleWithin idle(trace_, gaps_);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto reason = std::ranges::find_if(
        kClockReasons, [&](const ClockReason& known) { return (samples[i].value & known.bit) != 0; });
    int64_t end_ns = std::min(EndOfSample(source, samples[i]), window_.end_ns);
    if (i + 1 < samples.size()) end_ns = std::min(end_ns, samples[i + 1].start_ns);
    const int64_t start_ns = std::max(samples[i].start_ns, window_.start_ns);
    if (reason == std::end(kClockReasons) || end_ns <= start_ns) continue;
    Sampled& sampled = of_reasons[reason - std::begin(kClockReasons)];
    sampled.held_ns += end_ns - start_ns;
    const double clock_mhz = ClockAt(samples[i].start_ns);
    if (clock_mhz <= 0) continue;
    sampled.clock_ns += end_ns - start_ns;
    sampled.clock_sum += clock_mhz * static_cast<double>(end_ns - start_ns);
    const int64_t busy_ns = end_ns - start_ns - idle.IdleNs(start_ns, end_ns);
    sampled.cost_ns += Saving(clock_mhz) * static_cast<double>(busy_ns);
  }
  return true;
}

// The counter of the driver also has the time between samples. What the samples cost then stands for all of it; where
// they missed the reason, the median clock does.
ClockLimit DeviceClocks::LimitOf(const ClockReason& reason, const Sampled& sampled,
                                 std::optional<double> counted_ns) const {
  ClockLimit limit{reason.name, reason.kind, sampled.held_ns, std::nullopt, std::nullopt};
  if (counted_ns) limit.held_ns = std::min(static_cast<int64_t>(*counted_ns), window_.DurationNs());
  const auto held_ns = static_cast<double>(limit.held_ns);
  if (sampled.clock_ns > 0) {
    limit.clock_mhz = sampled.clock_sum / static_cast<double>(sampled.clock_ns);
    limit.cost_ns = static_cast<int64_t>(sampled.cost_ns / static_cast<double>(sampled.held_ns) * held_ns);
  } else if (highest_mhz_ > 0) {
    limit.cost_ns = static_cast<int64_t>(Saving(median_mhz_) * held_ns);
  }
  return limit;
}

ClockLimits DeviceClocks::Find() {
  ClockLimits out;
  out.median_mhz = median_mhz_;
  out.most_mhz = most_mhz_;
  Sampled of_reasons[kReasonCount];
  out.is_known = ReadReasons(of_reasons);
  for (std::size_t i = 0; i < kReasonCount; ++i) {
    const ClockReason& reason = kClockReasons[i];
    std::optional<double> counted_ns;
    if (!reason.counter.empty())
      counted_ns = GrowthWithin(trace_, FindSource(trace_, device_, reason.counter, "ns"), window_);
    out.is_known |= counted_ns.has_value();
    const ClockLimit limit = LimitOf(reason, of_reasons[i], counted_ns);
    if (limit.held_ns > 0) out.limits.push_back(limit);
  }
  std::ranges::stable_sort(out.limits, std::greater(), &ClockLimit::held_ns);
  return out;
}

}  // namespace

int64_t ClockLimits::HeldNs(LimitKind kind) const {
  int64_t sum_ns = 0;
  for (const ClockLimit& limit : limits) sum_ns += limit.kind == kind ? limit.held_ns : 0;
  return sum_ns;
}

int64_t ClockLimits::CostNs(LimitKind kind) const {
  int64_t sum_ns = 0;
  for (const ClockLimit& limit : limits) sum_ns += limit.kind == kind ? limit.cost_ns.value_or(0) : 0;
  return sum_ns;
}

int64_t ClockLimits::ThrottledNs(const Interval& window) const {
  return std::min(HeldNs(LimitKind::kPower) + HeldNs(LimitKind::kHeat), window.DurationNs());
}

ClockLimits FindClockLimits(const AnalysisInput& input, uint32_t device, const Interval& window) {
  return DeviceClocks(input, device, window).Find();
}

Table ClockLimitsTable() {
  return {
      "gpu_clock_limits",
      "Clock limits",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"time_ns", "Time", Unit::kNs, false},
       {"percent", "Share", Unit::kPercent, false},
       {"clock_mhz", "SM clock (MHz)", Unit::kCount, false},
       {"cost_ns", "Cost (est.)", Unit::kNs, false},
       {"reason", "Reason", Unit::kText, false}},
      {},
      "Time in the GPU window, with the mean SM clock. Cost: how much less time the GPU would have been busy at its "
      "highest clock, if run time scales with the clock.",
      RowsOfRanks::kApart,
      true};
}

void AddClockLimits(const Trace& trace, uint32_t device, const Interval& window, const ClockLimits& limits,
                    Table* table) {
  for (const ClockLimit& limit : limits.limits) {
    std::vector<Cell> row = {DeviceScope(trace, device), limit.held_ns,
                             100 * static_cast<double>(limit.held_ns) / static_cast<double>(window.DurationNs())};
    row.push_back(limit.clock_mhz ? Cell(*limit.clock_mhz) : Cell());
    row.push_back(limit.cost_ns ? Cell(*limit.cost_ns) : Cell());
    row.emplace_back(std::string(limit.name));
    table->rows.push_back(std::move(row));
  }
}

}  // namespace gprof
