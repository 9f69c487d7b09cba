// NVTX events until they are paired to ranges, packed as operations and calls are (gprof/packed_list.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/packed_list.h"
#include "gprof/trace/record.h"

namespace gprof {

class NvtxEvents {
 public:
  // What events have in common.
  struct Traits {
    uint32_t thread = kNone, domain = kNone;
    NameId message;
    uint32_t category = 0, color = 0;
    trace::NvtxEvent event{};
    trace::PayloadType payload_type = trace::PayloadType::kNone;
    uint8_t unused[2] = {};
  };
  struct Item {
    uint32_t time_low = 0, time_high = 0, traits = 0;
    uint32_t details = kNone;  // most have none
    int64_t time_ns() const { return static_cast<int64_t>(uint64_t{time_high} << 32 | time_low); }
    void SetTime(int64_t ns) {
      time_low = static_cast<uint32_t>(static_cast<uint64_t>(ns));
      time_high = static_cast<uint32_t>(static_cast<uint64_t>(ns) >> 32);
    }
  };
  struct Details {
    uint64_t range = 0, payload = 0;
  };

  std::size_t size() const { return items_.size(); }
  std::size_t TraitsCount() const { return traits_.size(); }
  Details DetailsAt(uint32_t index) const { return index == kNone ? Details{} : details_[index]; }
  const Traits& TraitsAt(uint32_t index) const { return traits_[index]; }
  bool HasDetails() const { return !details_.empty(); }

  using Items = std::vector<Item, packed_detail::Unwritten<Item>>;
  Items& items() { return items_; }
  std::vector<Details>& details() { return details_; }
  uint32_t Intern(const Traits& traits) { return traits_.Intern(traits); }
  template <class F>
  void ChangeTraits(F&& change) {
    traits_.Change(change);
  }
  void Add(int64_t time_ns, uint32_t traits, Details details) {
    Item item;
    item.SetTime(time_ns);
    item.traits = traits;
    if (details.range != 0 || details.payload != 0) {
      item.details = static_cast<uint32_t>(details_.size());
      details_.push_back(details);
    }
    items_.push_back(item);
  }

 private:
  Items items_;
  packed_detail::Shared<Traits> traits_;
  std::vector<Details> details_;
};

}  // namespace gprof
