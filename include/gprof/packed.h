// Operations and calls as the model keeps them: what many of them have in common is kept once, and the rest of an
// operation is 24 bytes, that of a call 28 (gprof/packed_list.h).
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

// What operations have in common: all launches of a kernel into a stream, all copies of one size.
struct OpTraits {
  uint64_t size_bytes = 0, graph_node = 0;
  uint32_t graph = 0, device = kNone, stream = kNone, process = kNone;
  NameId name;
  uint32_t shape = kNone, peer_device = kNone, node = kNone;
  OpKind kind = OpKind::kKernel;
  trace::CopyKind copy_kind = trace::CopyKind::kUnknown;
  trace::MemoryKind source_memory = trace::MemoryKind::kUnknown;
  trace::MemoryKind destination_memory = trace::MemoryKind::kUnknown;
  uint8_t is_async = 0, is_from_peer = 0, unused[2] = {};
};

// The correlation id of an operation is that of its call, so it is kept only where no call is known.
struct OpItem : Times {
  uint32_t traits = 0, call_or_correlation = 0;
  uint8_t duration_high = 0, is_from_before = 0, has_call = 0, unused = 0;
  bool HasCall() const { return has_call != 0; }
  uint32_t Call() const { return call_or_correlation; }  // of one that has one
  uint32_t CallOrNone() const { return HasCall() ? call_or_correlation : kNone; }
  uint32_t Correlation() const { return call_or_correlation; }  // of one without a call
  void SetCall(uint32_t call) {
    call_or_correlation = call;
    has_call = 1;
  }
  void SetDuration(uint64_t duration_ns) {
    duration = static_cast<uint32_t>(duration_ns);
    duration_high = static_cast<uint8_t>(duration_ns >> 32);
  }
};

struct CallTraits {
  uint32_t thread = kNone, process = kNone;
  NameId function;
  int32_t result = 0;
  ApiClass api_class = ApiClass::kOther;
  trace::ApiDomain domain = trace::ApiDomain::kRuntime;
  uint8_t is_unfinished = 0, unused = 0;
  uint32_t stack = kNone;  // until JoinHost the number that the process gave it
};

struct CallItem : Times {
  uint32_t traits = 0, correlation = 0, range = kNone;
  uint16_t parent = 0;  // how far before this one, 0 for none
  uint8_t duration_high = 0, op_count = 0;
  // False for most: no call made it. Parent() knows for certain.
  bool MayHaveParent() const { return parent != 0 || duration_high == kLong; }
  void SetDuration(uint64_t duration_ns) {
    duration = static_cast<uint32_t>(duration_ns);
    duration_high = static_cast<uint8_t>(duration_ns >> 32);
  }
};

}  // namespace packed_detail

class PackedOps : public packed_detail::List<PackedOps, GpuOp, packed_detail::OpItem, packed_detail::OpTraits> {
 public:
  [[gnu::always_inline]] GpuOp operator[](std::size_t i) const {
    const Item& item = items_[i];
    const Traits& f = traits_[item.traits];
    GpuOp op;
    op.start_ns = item.start_ns();
    op.end_ns = EndNs(item);
    op.size_bytes = f.size_bytes;
    op.graph_node = f.graph_node;
    op.graph = f.graph;
    op.device = f.device;
    op.stream = f.stream;
    op.process = f.process;
    op.api = item.CallOrNone();
    op.correlation = item.HasCall() ? 0 : item.Correlation();
    op.name = f.name;
    op.shape = f.shape;
    op.kind = f.kind;
    op.copy_kind = f.copy_kind;
    op.source_memory = f.source_memory;
    op.destination_memory = f.destination_memory;
    op.peer_device = f.peer_device;
    op.node = f.node;
    op.is_async = f.is_async != 0;
    op.is_from_before = item.is_from_before != 0;
    op.is_from_peer = f.is_from_peer != 0;
    return op;
  }

  int64_t EndNs(const Item& item) const {
    const uint64_t ns = uint64_t{item.duration_high} << 32 | item.duration;
    return item.start_ns() +
           (item.duration_high == packed_detail::kLong ? long_durations_ns_[item.duration] : static_cast<int64_t>(ns));
  }

  // ---- for those who build a trace ----
  void push_back(const GpuOp& op);
  void Set(std::size_t i, const GpuOp& op);
  void Add(int64_t start_ns, int64_t end_ns, uint32_t traits, uint32_t correlation);
  void Append(PackedOps&& others);
  // One of others, which has `traits` here.
  void AddFrom(const PackedOps& others, std::size_t i, uint32_t traits) {
    Item item = others.items_[i];
    item.traits = traits;
    if (item.duration_high == packed_detail::kLong) {
      const int64_t duration_ns = others.long_durations_ns_[item.duration];
      item.duration = static_cast<uint32_t>(long_durations_ns_.size());
      long_durations_ns_.push_back(duration_ns);
    }
    items_.push_back(item);
  }
  void SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns) { SetTimes(items_[i], start_ns, end_ns); }

 private:
  Item Pack(const GpuOp& op);
  void SetTimes(Item& item, int64_t start_ns, int64_t end_ns);

  std::vector<int64_t> long_durations_ns_;
};

class PackedCalls
    : public packed_detail::List<PackedCalls, ApiCall, packed_detail::CallItem, packed_detail::CallTraits> {
 public:
  [[gnu::always_inline]] ApiCall operator[](std::size_t i) const {
    const Item& item = items_[i];
    const Traits& f = traits_[item.traits];
    ApiCall call;
    call.start_ns = item.start_ns();
    call.end_ns = EndNs(item);
    call.thread = f.thread;
    call.process = f.process;
    call.correlation = item.correlation;
    call.parent = Parent(i);
    call.range = item.range;
    call.function = f.function;
    call.result = f.result;
    call.op_count = item.duration_high == packed_detail::kLong ? rare_[item.duration].op_count : item.op_count;
    call.api_class = f.api_class;
    call.domain = f.domain;
    call.is_unfinished = f.is_unfinished != 0;
    call.stack = f.stack;
    return call;
  }

  uint32_t Correlation(std::size_t i) const { return items_[i].correlation; }
  uint32_t Parent(std::size_t i) const {
    const Item& item = items_[i];
    const uint32_t back = item.duration_high == packed_detail::kLong ? rare_[item.duration].parent : item.parent;
    return back == 0 ? kNone : static_cast<uint32_t>(i) - back;
  }
  int64_t EndNs(const Item& item) const {
    const uint64_t ns = uint64_t{item.duration_high} << 32 | item.duration;
    return item.start_ns() +
           (item.duration_high == packed_detail::kLong ? rare_[item.duration].duration_ns : static_cast<int64_t>(ns));
  }

  // ---- for those who build a trace ----
  // Parents are relative: those of calls that are moved have to be set again.
  void push_back(const ApiCall& call);
  void Set(std::size_t i, const ApiCall& call);
  void Add(int64_t start_ns, int64_t end_ns, uint32_t traits, uint32_t correlation);
  void Append(PackedCalls&& others);
  void SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns);
  void SetParent(std::size_t i, uint32_t parent);
  void SetRange(std::size_t i, uint32_t range) { items_[i].range = range; }
  void CountOp(std::size_t i) {
    Item& item = items_[i];
    if (item.duration_high == packed_detail::kLong || item.op_count == 0xFF) return CountOpOfRare(i);
    ++item.op_count;
  }

 private:
  // What few calls have does not fit into an item.
  struct Rare {
    int64_t duration_ns = 0;
    uint32_t parent = 0, op_count = 0;
  };
  Item Pack(const ApiCall& call, std::size_t i);
  void CountOpOfRare(std::size_t i);
  Rare RareOf(const Item& item) const;
  void Store(Item& item, const Rare& rare);

  std::vector<Rare> rare_;
};

}  // namespace gprof
