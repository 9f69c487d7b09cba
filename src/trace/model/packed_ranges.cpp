#include "gprof/packed_ranges.h"

#include <utility>

#include "trace/model/long_durations.h"

namespace gprof {

void PackedRanges::SetTimes(Item& item, int64_t start_ns, int64_t end_ns) {
  packed_detail::SetTimesOf(&item, start_ns, end_ns, &long_durations_ns_);
}

PackedRanges::Item PackedRanges::Pack(const NvtxRange& range) {
  Traits f;
  f.thread = range.thread;
  f.end_thread = range.end_thread;
  f.domain = range.domain;
  f.name = range.name;
  f.path = range.path;
  f.category = range.category;
  f.color = range.color;
  f.payload_type = range.payload_type;
  Item item;
  SetTimes(item, range.start_ns, range.end_ns);
  item.traits = traits_.Intern(f);
  item.parent = range.parent;
  item.depth = range.depth;
  item.is_push_pop = range.is_push_pop;
  item.is_open = range.is_open;
  item.is_cut = range.is_cut;
  return item;
}

void PackedRanges::SetPayload(std::size_t i, uint64_t payload) {
  if (payload == 0 && payloads_.empty()) return;
  payloads_.resize(items_.size());
  payloads_[i] = payload;
}

void PackedRanges::push_back(const NvtxRange& range) {
  items_.push_back(Pack(range));
  SetPayload(items_.size() - 1, range.payload);
}

void PackedRanges::Set(std::size_t i, const NvtxRange& range) {
  items_[i] = Pack(range);
  SetPayload(i, range.payload);
}

// Those of two lists are of different threads, so that they have no traits in common.
void PackedRanges::Append(PackedRanges&& others) {
  if (empty()) {
    *this = std::exchange(others, {});
    return;
  }
  const auto traits_base = static_cast<uint32_t>(traits_.size());
  traits_.Reserve(traits_.size() + others.traits_.size());
  for (uint32_t i = 0; i < others.traits_.size(); ++i) traits_.Add(others.traits_[i]);
  const auto long_base = static_cast<uint32_t>(long_durations_ns_.size());
  long_durations_ns_.insert(long_durations_ns_.end(), others.long_durations_ns_.begin(),
                            others.long_durations_ns_.end());
  if (!payloads_.empty() || !others.payloads_.empty()) {
    payloads_.resize(items_.size());
    others.payloads_.resize(others.items_.size());
    payloads_.insert(payloads_.end(), others.payloads_.begin(), others.payloads_.end());
  }
  AppendItems(others.items_, long_base, [&](uint32_t traits) { return traits + traits_base; });
  others = {};
}

}  // namespace gprof
