// NVTX ranges as the model keeps them, packed as operations and calls are (gprof/packed_list.h): what many of them have
// in common is kept once, and a range is the rest, 24 bytes. Ranges whose names are all different have traits of their
// own each, 32 bytes more.
//
// What changes them is for those who build a trace: readers, Select, MergeTraces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/events.h"
#include "gprof/packed_list.h"

namespace gprof {

namespace packed_detail {

// What ranges have in common: all that one line of a program makes in one thread, within the same ranges. Two of them
// may be the same.
struct RangeTraits {
  uint32_t thread = kNone, end_thread = kNone, domain = kNone;
  NameId name, path;
  uint32_t category = 0, color = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  uint8_t unused[3] = {};
};

struct RangeItem : Times {
  uint32_t traits = 0, parent = kNone;
  uint16_t depth = 0;
  uint8_t duration_high = 0;
  bool is_push_pop : 1 = true, is_open : 1 = false, is_cut : 1 = false;
  void SetDuration(uint64_t duration_ns) {
    duration = static_cast<uint32_t>(duration_ns);
    duration_high = static_cast<uint8_t>(duration_ns >> 32);
  }
};

}  // namespace packed_detail

class PackedRanges
    : public packed_detail::List<PackedRanges, NvtxRange, packed_detail::RangeItem, packed_detail::RangeTraits> {
 public:
  [[gnu::always_inline]] NvtxRange operator[](std::size_t i) const {
    const Item& item = items_[i];
    const Traits& f = traits_[item.traits];
    NvtxRange range;
    range.start_ns = item.start_ns();
    range.end_ns = EndNs(item);
    range.thread = f.thread;
    range.end_thread = f.end_thread;
    range.parent = item.parent;
    range.domain = f.domain;
    range.name = f.name;
    range.path = f.path;
    range.category = f.category;
    range.color = f.color;
    range.payload = payloads_.empty() ? 0 : payloads_[i];
    range.payload_type = f.payload_type;
    range.depth = item.depth;
    range.is_push_pop = item.is_push_pop;
    range.is_open = item.is_open;
    range.is_cut = item.is_cut;
    return range;
  }

  int64_t DurationNs(const Item& item) const {
    if (item.duration_high == packed_detail::kLong) return long_durations_ns_[item.duration];
    return static_cast<int64_t>(uint64_t{item.duration_high} << 32 | item.duration);
  }
  int64_t EndNs(const Item& item) const { return item.start_ns() + DurationNs(item); }

  // ---- for those who build a trace ----
  // What programs gave with ranges: one for each of them, or nothing where there is none that is not 0.
  using Payloads = std::vector<uint64_t>;
  Payloads& payloads() { return payloads_; }
  void push_back(const NvtxRange& range);
  void Set(std::size_t i, const NvtxRange& range);
  // Without a look at those that are there, for traits that mostly are not.
  uint32_t AddTraits(const Traits& traits) { return traits_.Add(traits); }
  void ReserveTraits(std::size_t count) { traits_.Reserve(count); }
  void Append(PackedRanges&& others);
  void SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns) { SetTimes(items_[i], start_ns, end_ns); }
  void SetEndNs(std::size_t i, int64_t end_ns) { SetTimes(i, items_[i].start_ns(), end_ns); }

 private:
  Item Pack(const NvtxRange& range);
  void SetTimes(Item& item, int64_t start_ns, int64_t end_ns);
  void SetPayload(std::size_t i, uint64_t payload);

  std::vector<int64_t> long_durations_ns_;
  Payloads payloads_;
};

}  // namespace gprof
