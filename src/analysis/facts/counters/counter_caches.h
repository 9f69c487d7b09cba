// What went through L1, shared memory and L2, by type of operation.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"

namespace gprof {

// What is not there was not collected, or does not exist: shared memory has no sectors.
struct CacheAccess {
  std::string_view operation;                        // global loads, L1 reads
  std::optional<double> requests;                    // of shared memory: instructions of warps
  std::optional<double> sectors;                     // of 32 bytes
  std::optional<double> hit_percent;                 // of the sectors
  std::optional<double> wavefronts, bank_conflicts;  // of shared memory

  std::optional<double> SectorsPerRequest() const;
  std::optional<double> Bytes() const;
};

// Of the operations that were measured, those that took place.
std::vector<CacheAccess> L1AccessesOf(const KernelCounters& kernel);
std::vector<CacheAccess> L2AccessesOf(const KernelCounters& kernel);

// What they are made from, without surfaces: those take three passes more (GH100, libcupti 13.0).
std::span<const std::string_view> CacheMetrics();

}  // namespace gprof
