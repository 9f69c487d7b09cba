// What follows from counters: stalls, points and ceilings of the roofline.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"

namespace gprof {

struct Stall {
  std::string_view reason;  // long_scoreboard, …
  double warps = 0;         // stalled for it per issued instruction
  double percent = 0;       // of the time of a warp
};
// The largest first. Empty where they were not collected.
std::vector<Stall> StallsOf(const KernelCounters& kernel);
// Without `selected` and `not_selected`, in which nothing is in the way of a warp.
std::optional<Stall> TopStall(const KernelCounters& kernel);
// What warps wait for: "data of global, local or texture memory".
std::string_view MeaningOf(std::string_view reason);

struct MemoryRoof {
  std::string_view name;  // DRAM, L2, L1
  double bytes_per_second = 0, peak_bytes_per_second = 0;
};
std::vector<MemoryRoof> MemoryRoofsOf(const KernelCounters& kernel);

struct RooflinePoint {
  std::string type;  // FP32, FP64, FP16, tensor hmma fp16, …
  double per_second = 0, peak_per_second = 0;
  double Percent() const { return peak_per_second > 0 ? 100 * per_second / peak_per_second : 0; }
};
// Those with more than 1 % of their peak, or the largest one where none has. Empty of a kernel without such operations.
std::vector<RooflinePoint> RooflineOf(const KernelCounters& kernel);

// Of FP32 and FP64, whatever their share is. Nothing where they were not collected.
std::optional<RooflinePoint> Fp32Of(const KernelCounters& kernel);
std::optional<RooflinePoint> Fp64Of(const KernelCounters& kernel);

}  // namespace gprof
