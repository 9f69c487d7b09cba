#include "analysis/facts/rates/kernel_rates.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/rates/device_counters.h"
#include "base/machine/parallel.h"

namespace gprof {
namespace {

// Kernels, by name and shape, that have a column of their own: those that took the most time. All others share one.
constexpr std::size_t kMostKernelColumns = 64;

using Key = std::tuple<RatedKind::What, uint32_t, uint32_t, Direction>;

Key KeyOf(const Trace& trace, const KernelGroups& kernels, const Operation& op) {
  const PackedOps::Traits& traits = op.shared();
  if (traits.kind == OpKind::kKernel)
    return {RatedKind::What::kKernel, kernels.of_traits()[op.kind_number()], traits.shape, Direction::kOther};
  if (traits.kind == OpKind::kMemset) return {RatedKind::What::kFill, kNone, kNone, Direction::kOther};
  if (traits.kind == OpKind::kGraph) return {RatedKind::What::kOtherKernels, kNone, kNone, Direction::kOther};
  return {RatedKind::What::kCopy, kNone, kNone, DirectionOf(trace.ops[op.index()])};
}

// What can be said of work: rates, and clocks. Not what is too late or too seldom for it.
bool IsRated(const Trace& trace, uint32_t device, uint32_t index) {
  const MetricSource& source = trace.metric_sources[index];
  const std::string_view unit = trace.Text(source.unit), origin = trace.Text(source.origin);
  const bool is_known_unit = unit == "%" || unit == "bytes/s" || unit == "1/s" || unit == "MHz";
  const std::span<const MetricSample> samples = trace.SamplesOf(index);
  return is_known_unit && origin != "nvml" && ClockErrorNs(trace, source) == 0 &&
         samples.front().end_ns > samples.front().start_ns &&
         FindSource(trace, device, trace.Text(source.name), unit) == index;
}

// Samples between the first and the last that were recorded.
std::span<const MetricSample> Within(std::span<const MetricSample> samples, std::span<const Interval> recorded) {
  const auto first = std::ranges::lower_bound(samples, recorded.front().start_ns, {}, &MetricSample::start_ns);
  auto last = std::ranges::upper_bound(samples, recorded.back().end_ns, {}, &MetricSample::end_ns);
  return {first, std::max(first, last)};
}

std::vector<uint8_t> LeftOut(std::span<const MetricSample> samples, std::span<const Interval> recorded) {
  std::vector<uint8_t> left_out;
  if (recorded.size() <= 1) return left_out;
  std::size_t at = 0;
  for (const MetricSample& sample : samples) {
    while (at + 1 < recorded.size() && recorded[at].end_ns <= sample.start_ns) ++at;
    left_out.push_back(sample.start_ns < recorded[at].start_ns || sample.end_ns > recorded[at].end_ns);
  }
  return left_out;
}

bool HaveSameTimes(std::span<const MetricSample> a, std::span<const MetricSample> b) {
  return std::ranges::equal(a, b, [](const MetricSample& x, const MetricSample& y) {
    return x.start_ns == y.start_ns && x.end_ns == y.end_ns;
  });
}

// One counter as it is fitted.
struct RatedCounter {
  std::string_view name, unit;
  RateTrack track;
};

std::vector<MetricSample> AddedUp(std::span<const MetricSample> a, std::span<const MetricSample> b) {
  std::vector<MetricSample> sum(a.begin(), a.end());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i].value += b[i].value;
  return sum;
}

std::vector<RatedCounter> CountersOf(const Trace& trace, uint32_t device, std::span<const Interval> recorded,
                                     std::vector<MetricSample>* dram) {
  std::vector<RatedCounter> counters;
  ForEachSourceOf(trace, device, [&](uint32_t index) {
    if (!IsRated(trace, device, index)) return;
    const MetricSource& source = trace.metric_sources[index];
    const std::string_view unit = trace.Text(source.unit);
    counters.push_back({trace.Text(source.name),
                        unit,
                        {Within(trace.SamplesOf(index), recorded), ScaledValue(source, 1),
                         unit == "MHz" ? Together::kShare : Together::kAddUp}});
  });
  const auto find = [&](std::string_view name) { return std::ranges::find(counters, name, &RatedCounter::name); };
  const auto read = find("DRAM Read Bandwidth"), written = find("DRAM Write Bandwidth");
  if (find(kDramBandwidth) != counters.end() || read == counters.end() || written == counters.end()) return counters;
  if (read->track.unit != written->track.unit || !HaveSameTimes(read->track.samples, written->track.samples))
    return counters;
  *dram = AddedUp(read->track.samples, written->track.samples);
  counters.push_back({kDramBandwidth, "%", {*dram, read->track.unit, Together::kAddUp}});
  return counters;
}

}  // namespace

KernelRates::KernelRates(const Trace& trace, const KernelGroups& kernels, uint32_t device,
                         std::span<const Interval> recorded, std::size_t threads) {
  if (recorded.empty() || !HasSource(trace, device)) return;
  recorded_.assign(recorded.begin(), recorded.end());
  std::vector<RatedCounter> counters = CountersOf(trace, device, recorded, &dram_);
  AddWork(trace, kernels, device);
  // Those that are sampled at the same times, together.
  for (std::size_t first = 0; first < counters.size();) {
    const std::span<const MetricSample> times = counters[first].track.samples;
    const auto next =
        std::stable_partition(counters.begin() + static_cast<std::ptrdiff_t>(first), counters.end(),
                              [&](const RatedCounter& counter) { return HaveSameTimes(counter.track.samples, times); });
    const auto last = static_cast<std::size_t>(next - counters.begin());
    const std::vector<uint8_t> left_out = LeftOut(times, recorded);
    const RatedTime time{work_, static_cast<uint32_t>(kinds_.size()), left_out};
    std::vector<RateTrack> tracks;
    for (std::size_t i = first; i < last; ++i) tracks.push_back(counters[i].track);
    const std::vector<SeenEdges> edges = FindEdges(time, tracks);
    std::vector<std::optional<RateFit>> fits(tracks.size());
    ForEachSideBySide(fits.size(), threads, [&](std::size_t i) { fits[i].emplace(time, tracks[i], edges[i]); });
    for (std::size_t i = 0; i < fits.size(); ++i) {
      const RatedCounter& counter = counters[first + i];
      counters_.push_back({counter.name, counter.unit, counter.track, std::move(*fits[i])});
    }
    first = last;
  }
}

void KernelRates::AddWork(const Trace& trace, const KernelGroups& kernels, uint32_t device) {
  std::map<Key, std::pair<int64_t, int64_t>> sums;  // time and count
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    auto& [time_ns, count] = sums[KeyOf(trace, kernels, op)];
    time_ns += std::max<int64_t>(op.duration_ns(), 0);
    ++count;
  }
  for (const auto& [key, sum] : sums) {
    const auto& [what, group, shape, direction] = key;
    kinds_.push_back({what, group, shape, direction, sum.first, sum.second});
  }
  std::ranges::stable_sort(kinds_, std::greater(), &RatedKind::time_ns);
  RatedKind rest{RatedKind::What::kOtherKernels};
  std::size_t own = 0;
  std::erase_if(kinds_, [&](const RatedKind& kind) {
    if (kind.what != RatedKind::What::kKernel || own++ < kMostKernelColumns) return false;
    rest.time_ns += kind.time_ns, rest.count += kind.count;
    return true;
  });
  if (rest.count > 0) kinds_.push_back(rest);
  std::map<Key, uint32_t> columns;
  for (uint32_t i = 0; i < kinds_.size(); ++i)
    columns[{kinds_[i].what, kinds_[i].group, kinds_[i].shape, kinds_[i].direction}] = i;
  std::vector<uint32_t> of_traits(trace.ops.TraitsCount(), kNone);
  work_.reserve(trace.device_ops[device].last - trace.device_ops[device].first);
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    uint32_t& column = of_traits[op.kind_number()];
    if (column == kNone) {
      const auto found = columns.find(KeyOf(trace, kernels, op));
      column = found != columns.end() ? found->second : static_cast<uint32_t>(kinds_.size() - 1);
    }
    if (op.duration_ns() > 0) work_.push_back({op.start_ns(), op.end_ns(), column});
  }
}

const KernelRates::Counter* KernelRates::Find(std::string_view name, std::string_view unit) const {
  const auto found = std::ranges::find_if(
      counters_, [&](const Counter& counter) { return counter.name == name && counter.unit == unit; });
  return found == counters_.end() ? nullptr : &*found;
}

std::vector<ColumnShare> KernelRates::MixOf(uint32_t group) const {
  std::vector<ColumnShare> mix;
  for (uint32_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].group == group && kinds_[i].time_ns > 0) mix.push_back({i, static_cast<double>(kinds_[i].time_ns)});
  }
  return mix;
}

RateFit KernelRates::Fit(const RateTrack& track) const {
  const std::vector<uint8_t> left_out = LeftOut(track.samples, recorded_);
  return {{work_, static_cast<uint32_t>(kinds_.size()), left_out}, track, {}};
}

int64_t KernelRates::TimeNs(uint32_t group) const {
  int64_t time_ns = 0;
  for (const RatedKind& kind : kinds_) time_ns += kind.group == group ? kind.time_ns : 0;
  return time_ns;
}

std::vector<uint32_t> KernelRates::TogetherWith(const Counter& counter, uint32_t group) const {
  std::vector<uint32_t> together;
  for (const ColumnShare& part : MixOf(group)) {
    for (uint32_t i = 0; i <= kinds_.size(); ++i) {
      const bool is_own = i < kinds_.size() && kinds_[i].group == group;
      if (!is_own && counter.fit.GroupOf(i) == counter.fit.GroupOf(part.column)) together.push_back(i);
    }
  }
  return together;
}

KernelRates::Profile KernelRates::ProfileOf(uint32_t group, std::span<const Counter* const> counters) const {
  Profile profile;
  const auto is_of_it = [group](const RatedKind& kind) { return kind.group == group; };
  const auto kind = std::ranges::find_if(kinds_, is_of_it);  // the largest come first
  std::vector<RateTrack> tracks;
  std::vector<double> peaks;
  for (const Counter* const counter : counters) {
    const bool is_one =
        counter != nullptr && (tracks.empty() || HaveSameTimes(counter->track.samples, tracks[0].samples));
    if (!is_one) continue;
    profile.counters.push_back(counter);
    tracks.push_back(counter->track);
    peaks.push_back(counter->unit == "%" ? 100 : 0);
  }
  if (kind == kinds_.end() || tracks.empty()) return profile;
  profile.kind = static_cast<uint32_t>(kind - kinds_.begin());
  const std::vector<uint8_t> left_out = LeftOut(tracks[0].samples, recorded_);
  profile.curves = PhaseCurves({work_, static_cast<uint32_t>(kinds_.size()), left_out}, profile.kind, tracks, peaks,
                               profile.counters[0]->fit.shift());
  return profile;
}

}  // namespace gprof
