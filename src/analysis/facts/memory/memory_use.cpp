#include "analysis/facts/memory/memory_use.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"

namespace gprof {
namespace {

using trace::MemoryKind;
using trace::MemoryOp;

constexpr uint32_t kMostSlices = 100, kFewestSlices = 5;

int64_t SinceStart(const Trace& trace, int64_t time_ns) { return time_ns == 0 ? 0 : time_ns - trace.start_ns; }

// What happened to the memory of one device in one slice of time.
struct SliceUse {
  uint64_t end_bytes = 0, highest_bytes = 0;
  int64_t allocations = 0, frees = 0;
};

// The time of all events of device memory, in equal slices.
class Slices {
 public:
  Slices(const Trace& trace, uint32_t count) : count_(count) {
    for (const MemoryEvent& event : trace.memory_events) {
      if (!IsOnDevice(event.memory)) continue;
      if (is_empty_) first_ns_ = event.time_ns;
      last_ns_ = event.time_ns;
      is_empty_ = false;
    }
  }
  uint32_t Of(int64_t time_ns) const {
    const int64_t span_ns = last_ns_ - first_ns_;
    if (span_ns == 0) return 0;
    const int64_t passed_ns = std::clamp(time_ns, first_ns_, last_ns_) - first_ns_;
    const auto slice = static_cast<uint32_t>(ShareOf(passed_ns, count_, span_ns));
    return std::min(slice, count_ - 1);
  }
  int64_t EndNs(uint32_t slice) const { return first_ns_ + ShareOf(last_ns_ - first_ns_, slice + 1, count_); }
  bool IsEmpty() const { return is_empty_; }
  uint32_t count() const { return last_ns_ == first_ns_ ? 1 : count_; }

 private:
  uint32_t count_;
  int64_t first_ns_ = 0, last_ns_ = 0;
  bool is_empty_ = true;
};

class OverTime {
 public:
  OverTime(const Trace& trace, const Slices& slices) : trace_(trace), slices_(slices) {}

  void Add(uint32_t event, uint32_t ended) {
    const MemoryEvent& e = trace_.memory_events[event];
    const uint32_t slice = slices_.Of(e.time_ns);
    if (ended != kNone && IsOnDevice(trace_.memory_events[ended].memory)) {
      OfDevice& of = Until(trace_.memory_events[ended].device, slice);
      of.now_bytes -= trace_.memory_events[ended].size_bytes;
      of.slices[slice].frees += e.operation == MemoryOp::kFree;
    }
    if (e.operation != MemoryOp::kAllocate || !IsOnDevice(e.memory)) return;
    OfDevice& of = Until(e.device, slice);
    of.now_bytes += e.size_bytes;
    SliceUse& use = of.slices[slice];
    ++use.allocations;
    use.highest_bytes = std::max(use.highest_bytes, of.now_bytes);
  }

  void Finish() {
    for (auto& [device, of] : devices_) {
      Until(device, slices_.count() - 1);
      of.slices.back().end_bytes = of.now_bytes;
    }
  }

  struct OfDevice {
    std::vector<SliceUse> slices;
    uint64_t now_bytes = 0;
  };
  const std::map<uint32_t, OfDevice>& devices() const { return devices_; }

 private:
  // Slices that are over keep what is in use now.
  OfDevice& Until(uint32_t device, uint32_t slice) {
    OfDevice& of = devices_[device];
    while (of.slices.size() <= slice) {
      if (!of.slices.empty()) of.slices.back().end_bytes = of.now_bytes;
      of.slices.push_back({of.now_bytes, of.now_bytes, 0, 0});
    }
    return of;
  }

  const Trace& trace_;
  const Slices& slices_;
  std::map<uint32_t, OfDevice> devices_;
};

}  // namespace

bool IsOnDevice(MemoryKind memory) {
  return memory == MemoryKind::kDevice || memory == MemoryKind::kArray || memory == MemoryKind::kDeviceStatic;
}

bool IsStatic(MemoryKind memory) { return memory == MemoryKind::kDeviceStatic || memory == MemoryKind::kManagedStatic; }

std::string SortName(MemoryKind memory) {
  return std::string(MemoryName(memory)) + (IsStatic(memory) ? " (static)" : "");
}

std::string MemoryDeviceName(const Trace& trace, uint32_t device) {
  return device == kNone ? "(unknown)" : DeviceScope(trace, device);
}

std::vector<uint32_t> EndedBlocks(const Trace& trace) {
  std::vector<uint32_t> ended(trace.memory_events.size(), kNone);
  std::vector<std::unordered_map<uint64_t, uint32_t>> of_process(trace.processes.size());  // blocks in use
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& event = trace.memory_events[i];
    auto& blocks = of_process[event.process];
    if (event.operation == MemoryOp::kAllocate) {
      const auto [at, is_new] = blocks.try_emplace(event.address, i);
      if (!is_new) ended[i] = std::exchange(at->second, i);
    } else if (const auto at = blocks.find(event.address); at != blocks.end()) {
      ended[i] = at->second;
      blocks.erase(at);
    }
  }
  return ended;
}

void MemoryLevel::Add(const MemoryEvent& event) {
  now_bytes += event.size_bytes;
  if (now_bytes <= peak_bytes) return;
  peak_bytes = now_bytes;
  peak_ns = event.time_ns;
  peak_api = event.api;
}

MemoryUse::MemoryUse(const Trace& trace, const std::vector<uint32_t>& ended) {
  std::vector<uint8_t> is_in_use(ended.size(), 0);
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& event = trace.memory_events[i];
    const MemoryEvent& block = ended[i] == kNone ? event : trace.memory_events[ended[i]];
    if (ended[i] != kNone) {
      is_in_use[ended[i]] = 0;
      usages[{block.device, block.memory}].level.now_bytes -= block.size_bytes;
      if (IsOnDevice(block.memory)) devices[block.device].now_bytes -= block.size_bytes;
    }
    if (event.operation != MemoryOp::kAllocate) {
      ++usages[{block.device, block.memory}].frees;
      continue;
    }
    is_in_use[i] = 1;
    MemoryUsage& usage = usages[{event.device, event.memory}];
    ++usage.allocations;
    usage.allocated_bytes += event.size_bytes;
    usage.level.Add(event);
    if (IsOnDevice(event.memory)) devices[event.device].Add(event);
  }
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& block = trace.memory_events[i];
    if (is_in_use[i] == 0 || IsStatic(block.memory)) continue;
    MemoryUsage& usage = usages[{block.device, block.memory}];
    ++usage.not_freed;
    usage.not_freed_bytes += block.size_bytes;
    not_freed.push_back(i);
  }
}

Table MemoryTable(const Trace& trace, const MemoryUse& use, uint32_t max_rows) {
  Table table{"memory",
              "Memory",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"memory", "Memory", Unit::kText, false},
               {"peak_bytes", "Peak", Unit::kBytes, false},
               {"peak_ns", "At", Unit::kNs, false, ColumnRole::kOwn, "time since the start of the trace"},
               {"allocations", "Allocations", Unit::kCount, false},
               {"allocated_bytes", "Allocated", Unit::kBytes, true},
               {"frees", "Frees", Unit::kCount, false},
               {"not_freed", "Not freed", Unit::kCount, true},
               {"not_freed_bytes", "Not freed", Unit::kBytes, false},
               {"path", "Peak in", Unit::kText, false, "the NVTX range that allocated at the peak"}},
              {},
              "Memory allocated before recording started is not included."};
  for (const auto& [key, usage] : use.usages) {
    table.rows.push_back({MemoryDeviceName(trace, key.first), SortName(key.second),
                          static_cast<int64_t>(usage.level.peak_bytes), SinceStart(trace, usage.level.peak_ns),
                          usage.allocations, static_cast<int64_t>(usage.allocated_bytes), usage.frees, usage.not_freed,
                          static_cast<int64_t>(usage.not_freed_bytes),
                          std::string(trace.Text(PathOfCall(trace, usage.level.peak_api)))});
  }
  SortAndCut(&table, 2, 1, max_rows);
  return table;
}

Table MemoryOverTimeTable(const Trace& trace, const std::vector<uint32_t>& ended, const MemoryUse& use,
                          uint32_t max_rows) {
  Table table{"memory_over_time",
              "Device memory over time",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"time_ns", "Until", Unit::kNs, false},
               {"bytes", "In use", Unit::kBytes, false, "at the end of the slice"},
               {"highest_bytes", "Highest", Unit::kBytes, false, "within the slice, also in percent of the GPU's peak"},
               {"percent", "% of peak", Unit::kPercent, false},
               {"allocations", "Allocations", Unit::kCount, false},
               {"frees", "Frees", Unit::kCount, false}},
              {},
              "Equal slices from the first allocation to the last event. Times are since the start of the trace."};
  if (use.devices.empty()) return table;
  const auto devices = static_cast<uint32_t>(use.devices.size());
  const uint32_t wanted = max_rows == 0 ? kMostSlices : max_rows / devices;
  const Slices slices(trace, std::clamp(wanted, kFewestSlices, kMostSlices));
  OverTime over_time(trace, slices);
  for (uint32_t i = 0; i < ended.size(); ++i) over_time.Add(i, ended[i]);
  over_time.Finish();
  for (const auto& [device, of] : over_time.devices()) {
    const auto peak = use.devices.find(device);
    const auto peak_bytes = static_cast<int64_t>(peak == use.devices.end() ? 0 : peak->second.peak_bytes);
    for (uint32_t i = 0; i < of.slices.size(); ++i) {
      const SliceUse& slice = of.slices[i];
      const auto highest_bytes = static_cast<int64_t>(slice.highest_bytes);
      table.rows.push_back({MemoryDeviceName(trace, device), slices.EndNs(i) - trace.start_ns,
                            static_cast<int64_t>(slice.end_bytes), highest_bytes, PercentOf(highest_bytes, peak_bytes),
                            slice.allocations, slice.frees});
    }
  }
  return table;
}

Table NotFreedTable(const Trace& trace, const MemoryUse& use, uint32_t max_rows) {
  Table table{"memory_not_freed",
              "Memory not freed",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"blocks", "Blocks", Unit::kCount, false},
               {"size_bytes", "Size", Unit::kBytes, false},
               {"memory", "Memory", Unit::kText, false},
               {"path", "NVTX range", Unit::kText, false},
               {"function", "Allocated by", Unit::kText, false}},
              {},
              "Blocks in use when recording ended. The driver reclaims them when their process exits.",
              RowsOfRanks::kApart,
              true};
  using Key = std::tuple<uint32_t, MemoryKind, uint64_t, NameId, NameId>;  // device, sort, size, path, function
  std::map<Key, int64_t> blocks;
  for (const uint32_t i : use.not_freed) {
    const MemoryEvent& block = trace.memory_events[i];
    const uint32_t call = OutermostCall(trace, block.api);
    const NameId function = call == kNone ? NameId{} : trace.api_calls[call].function;
    ++blocks[{block.device, block.memory, block.size_bytes, PathOfCall(trace, call), function}];
  }
  for (const auto& [key, count] : blocks) {
    const auto& [device, memory, size_bytes, path, function] = key;
    const std::string_view name = trace.Text(function);
    const auto size = static_cast<int64_t>(size_bytes);
    table.rows.push_back({MemoryDeviceName(trace, device), MultiplySaturating(size, count), count, size,
                          SortName(memory), PathName(trace, path), name.empty() ? "(unknown)" : std::string(name)});
  }
  SortAndCut(&table, 1, 6, max_rows);
  return table;
}

}  // namespace gprof
