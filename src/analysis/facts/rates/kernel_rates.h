// What each kernel of a device did while it ran, by the counters that were sampled of the device: no kernel needs to
// fill a sample (rate_fit.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/operations/kernel_groups.h"
#include "analysis/facts/rates/phase_curve.h"
#include "analysis/facts/rates/rate_fit.h"
#include "analysis/result/display_names.h"
#include "gprof/trace.h"

namespace gprof {

// A kind of work that samples are told apart by.
struct RatedKind {
  enum class What : uint8_t { kKernel, kOtherKernels, kCopy, kFill };
  What what = What::kKernel;
  uint32_t group = kNone;  // of kernels: of KernelGroups
  uint32_t shape = kNone;  // of kernels: index into shapes
  Direction direction = Direction::kOther;
  int64_t time_ns = 0, count = 0;
};

// Of the counters of one name that the memory has for each direction, the sum.
inline constexpr std::string_view kDramBandwidth = "DRAM Bandwidth";

class KernelRates {
 public:
  KernelRates() = default;
  // `recorded`: the parts of the time of the device that were recorded, in order.
  KernelRates(const Trace& trace, const KernelGroups& kernels, uint32_t device, std::span<const Interval> recorded,
              std::size_t threads);

  struct Counter {
    std::string_view name, unit;
    RateTrack track;
    RateFit fit;
  };
  std::span<const Counter> counters() const { return counters_; }
  // By column of the fits, without idle.
  std::span<const RatedKind> kinds() const { return kinds_; }
  // Null where it was not sampled.
  const Counter* Find(std::string_view name, std::string_view unit) const;
  // The mean over its shapes by their time; none where that is not known.
  std::optional<Estimate> OfKernel(const RateFit& fit, uint32_t group) const { return fit.Of(MixOf(group)); }
  std::optional<Estimate> OfKernel(const Counter& counter, uint32_t group) const {
    return OfKernel(counter.fit, group);
  }
  // Of something that is no counter, as power.
  RateFit Fit(const RateTrack& track) const;
  int64_t TimeNs(uint32_t group) const;
  // Kinds that always ran together with the kernel, so that this counter has one value for all of them: indices into
  // kinds(), and kinds().size() for idle. Empty where it is told apart.
  std::vector<uint32_t> TogetherWith(const Counter& counter, uint32_t group) const;
  // Along the launches of the kernel, those of the shape that took the most time: a curve for each counter that has the
  // times of the first.
  struct Profile {
    uint32_t kind = kNone;
    std::vector<const Counter*> counters;
    std::vector<std::optional<PhaseCurve>> curves;
  };
  Profile ProfileOf(uint32_t group, std::span<const Counter* const> counters) const;

 private:
  std::vector<ColumnShare> MixOf(uint32_t group) const;
  void AddWork(const Trace& trace, const KernelGroups& kernels, uint32_t device);

  std::vector<RatedKind> kinds_;
  std::vector<RatedWork> work_;
  std::vector<MetricSample> dram_;  // of kDramBandwidth
  std::vector<Counter> counters_;
  std::vector<Interval> recorded_;
};

}  // namespace gprof
