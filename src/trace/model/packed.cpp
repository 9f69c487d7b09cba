#include "gprof/packed.h"

#include <limits>
#include <utility>

#include "trace/model/long_durations.h"

namespace gprof {
namespace {

using packed_detail::kLong;
using packed_detail::Times;

// Where each of `from` is in `to` after this.
template <class Traits>
std::vector<uint32_t> Unite(packed_detail::Shared<Traits>* to, const packed_detail::Shared<Traits>& from) {
  std::vector<uint32_t> places(from.size());
  for (uint32_t i = 0; i < places.size(); ++i) places[i] = to->Intern(from[i]);
  return places;
}

}  // namespace

// ---- operations ----

void PackedOps::SetTimes(Item& item, int64_t start_ns, int64_t end_ns) {
  packed_detail::SetTimesOf(&item, start_ns, end_ns, &long_durations_ns_);
}

PackedOps::Item PackedOps::Pack(const GpuOp& op) {
  Traits f;
  f.size_bytes = op.size_bytes;
  f.graph_node = op.graph_node;
  f.graph = op.graph;
  f.device = op.device;
  f.stream = op.stream;
  f.process = op.process;
  f.name = op.name;
  f.shape = op.shape;
  f.peer_device = op.peer_device;
  f.node = op.node;
  f.kind = op.kind;
  f.copy_kind = op.copy_kind;
  f.source_memory = op.source_memory;
  f.destination_memory = op.destination_memory;
  f.is_async = op.is_async ? 1 : 0;
  f.is_from_peer = op.is_from_peer ? 1 : 0;
  Item item;
  SetTimes(item, op.start_ns, op.end_ns);
  item.traits = traits_.Intern(f);
  item.call_or_correlation = op.correlation;
  if (op.api != kNone) item.SetCall(op.api);
  item.is_from_before = op.is_from_before ? 1 : 0;
  return item;
}

void PackedOps::push_back(const GpuOp& op) { items_.push_back(Pack(op)); }

void PackedOps::Set(std::size_t i, const GpuOp& op) { items_[i] = Pack(op); }

void PackedOps::Add(int64_t start_ns, int64_t end_ns, uint32_t traits, uint32_t correlation) {
  Item item;
  SetTimes(item, start_ns, end_ns);
  item.traits = traits;
  item.call_or_correlation = correlation;
  items_.push_back(item);
}

void PackedOps::Append(PackedOps&& others) {
  if (empty()) {
    *this = std::exchange(others, {});
    return;
  }
  const std::vector<uint32_t> places = Unite(&traits_, others.traits_);
  const auto long_base = static_cast<uint32_t>(long_durations_ns_.size());
  long_durations_ns_.insert(long_durations_ns_.end(), others.long_durations_ns_.begin(),
                            others.long_durations_ns_.end());
  AppendItems(others.items_, long_base, [&](uint32_t traits) { return places[traits]; });
  others = {};
}

// ---- calls ----

PackedCalls::Rare PackedCalls::RareOf(const Item& item) const {
  if (item.duration_high == kLong) return rare_[item.duration];
  return {EndNs(item) - item.start_ns(), item.parent, item.op_count};
}

void PackedCalls::Store(Item& item, const Rare& rare) {
  const bool is_rare = Times::IsLong(rare.duration_ns) || rare.parent > std::numeric_limits<uint16_t>::max() ||
                       rare.op_count > std::numeric_limits<uint8_t>::max();
  if (is_rare) {
    if (item.duration_high != kLong) {
      item.duration_high = kLong;
      item.duration = static_cast<uint32_t>(rare_.size());
      rare_.emplace_back();
    }
    rare_[item.duration] = rare;
    return;
  }
  item.duration_high = static_cast<uint8_t>(rare.duration_ns >> 32);
  item.duration = static_cast<uint32_t>(rare.duration_ns);
  item.parent = static_cast<uint16_t>(rare.parent);
  item.op_count = static_cast<uint8_t>(rare.op_count);
}

PackedCalls::Item PackedCalls::Pack(const ApiCall& call, std::size_t i) {
  Traits f;
  f.thread = call.thread;
  f.process = call.process;
  f.function = call.function;
  f.result = call.result;
  f.api_class = call.api_class;
  f.domain = call.domain;
  f.is_unfinished = call.is_unfinished ? 1 : 0;
  f.stack = call.stack;
  Item item;
  item.SetStart(call.start_ns);
  item.traits = traits_.Intern(f);
  item.correlation = call.correlation;
  item.range = call.range;
  const uint32_t back = call.parent == kNone ? 0 : static_cast<uint32_t>(i) - call.parent;
  Store(item, {call.end_ns - call.start_ns, back, call.op_count});
  return item;
}

void PackedCalls::push_back(const ApiCall& call) { items_.push_back(Pack(call, items_.size())); }

void PackedCalls::Set(std::size_t i, const ApiCall& call) { items_[i] = Pack(call, i); }

void PackedCalls::Add(int64_t start_ns, int64_t end_ns, uint32_t traits, uint32_t correlation) {
  Item item;
  item.SetStart(start_ns);
  item.traits = traits;
  item.correlation = correlation;
  Store(item, {end_ns - start_ns, 0, 0});
  items_.push_back(item);
}

void PackedCalls::SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns) {
  Rare rare = RareOf(items_[i]);
  rare.duration_ns = end_ns - start_ns;
  items_[i].SetStart(start_ns);
  Store(items_[i], rare);
}

void PackedCalls::SetParent(std::size_t i, uint32_t parent) {
  const uint64_t back = parent == kNone ? 0 : i - parent;
  if (items_[i].duration_high != kLong && back <= std::numeric_limits<uint16_t>::max()) {
    items_[i].parent = static_cast<uint16_t>(back);
    return;
  }
  Rare rare = RareOf(items_[i]);
  rare.parent = static_cast<uint32_t>(back);
  Store(items_[i], rare);
}

void PackedCalls::CountOpOfRare(std::size_t i) {
  Rare rare = RareOf(items_[i]);
  ++rare.op_count;
  Store(items_[i], rare);
}

void PackedCalls::Append(PackedCalls&& others) {
  if (empty()) {
    *this = std::exchange(others, {});
    return;
  }
  const std::vector<uint32_t> places = Unite(&traits_, others.traits_);
  const auto rare_base = static_cast<uint32_t>(rare_.size());
  rare_.insert(rare_.end(), others.rare_.begin(), others.rare_.end());
  AppendItems(others.items_, rare_base, [&](uint32_t traits) { return places[traits]; });
  others = {};
}

}  // namespace gprof
