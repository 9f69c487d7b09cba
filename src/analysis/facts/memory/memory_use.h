// What was allocated when: levels of each GPU and sort of memory, and what was in use at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// On the GPU itself: what its memory has to hold.
bool IsOnDevice(trace::MemoryKind memory);
// Lives as long as its module: nobody frees it.
bool IsStatic(trace::MemoryKind memory);
std::string SortName(trace::MemoryKind memory);  // "device (static)"
std::string MemoryDeviceName(const Trace& trace, uint32_t device);

// For every memory event the allocation whose block ended with it: of a free its block, of an allocation one at the
// same address, which was freed in between where it was not recorded. kNone: none, or allocated before the recording.
std::vector<uint32_t> EndedBlocks(const Trace& trace);

struct MemoryLevel {
  uint64_t now_bytes = 0, peak_bytes = 0;
  int64_t peak_ns = 0;
  uint32_t peak_api = kNone;  // the call that reached the peak

  void Add(const MemoryEvent& event);
};

struct MemoryUsage {
  MemoryLevel level;
  int64_t allocations = 0, frees = 0, not_freed = 0;
  uint64_t allocated_bytes = 0, not_freed_bytes = 0;
};

struct MemoryUse {
  MemoryUse(const Trace& trace, const std::vector<uint32_t>& ended);

  using Key = std::pair<uint32_t, trace::MemoryKind>;  // device and sort of memory
  std::map<Key, MemoryUsage> usages;
  std::map<uint32_t, MemoryLevel> devices;  // device memory of every sort
  std::vector<uint32_t> not_freed;          // allocations, static memory left out
};

Table MemoryTable(const Trace& trace, const MemoryUse& use, uint32_t max_rows);
// Equal slices of time: what is in use at the end of each, and at most within it. Peak and last value are exact.
Table MemoryOverTimeTable(const Trace& trace, const std::vector<uint32_t>& ended, const MemoryUse& use,
                          uint32_t max_rows);
Table NotFreedTable(const Trace& trace, const MemoryUse& use, uint32_t max_rows);

}  // namespace gprof
