// Going over operations and calls in order, and looking at one of them: what they do not share and what they do, read
// where it is kept. All that is known of how the model packs them is in here, so that an analysis reads like its
// definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// A graph recorded as a whole counts as a kernel: kernels are what it is made of as a rule.
inline bool IsKernelLike(OpKind kind) { return kind == OpKind::kKernel || kind == OpKind::kGraph; }
inline bool IsKernelLike(const GpuOp& op) { return IsKernelLike(op.kind); }

// A place among the operations of the trace. Each accessor reads one thing; nothing else is made.
class Operation {
 public:
  Operation(const PackedOps& ops, const PackedOps::Item* item) : ops_(&ops), item_(item) {}
  Operation(const PackedOps& ops, uint32_t index) : Operation(ops, ops.items().data() + index) {}

  uint32_t index() const { return static_cast<uint32_t>(item_ - ops_->items().data()); }
  int64_t start_ns() const { return item_->start_ns(); }
  int64_t end_ns() const { return ops_->EndNs(*item_); }
  int64_t duration_ns() const { return end_ns() - start_ns(); }  // negative where a trace is damaged
  uint32_t call() const { return item_->CallOrNone(); }          // which may be within another; see OpFacts::CallOf
  // The number of what it shares with others, and what that is.
  uint32_t kind_number() const { return item_->traits; }
  const PackedOps::Traits& shared() const { return ops_->TraitsAt(kind_number()); }
  uint32_t stream() const { return shared().stream; }
  bool is_kernel() const { return IsKernelLike(shared().kind); }

 private:
  const PackedOps* ops_;
  const PackedOps::Item* item_;
};

// The same of a call.
class Call {
 public:
  Call(const PackedCalls& calls, const PackedCalls::Item* item) : calls_(&calls), item_(item) {}
  Call(const PackedCalls& calls, uint32_t index) : Call(calls, calls.items().data() + index) {}

  uint32_t index() const { return static_cast<uint32_t>(item_ - calls_->items().data()); }
  int64_t start_ns() const { return item_->start_ns(); }
  int64_t end_ns() const { return calls_->EndNs(*item_); }
  int64_t duration_ns() const { return end_ns() - start_ns(); }
  bool is_outermost() const { return !item_->MayHaveParent() || calls_->Parent(index()) == kNone; }
  uint32_t range() const { return item_->range; }  // the innermost around it; kNone for none
  uint32_t kind_number() const { return item_->traits; }
  const PackedCalls::Traits& shared() const { return calls_->TraitsAt(kind_number()); }
  uint32_t thread() const { return shared().thread; }

 private:
  const PackedCalls* calls_;
  const PackedCalls::Item* item_;
};

// The call of the program that `call` is or was made by; kNone for kNone.
inline uint32_t OutermostCall(const Trace& trace, uint32_t call) {
  // Parents come before their children, which also ends this loop on a trace that says otherwise.
  const PackedCalls& calls = trace.api_calls;
  while (call != kNone && calls.items()[call].MayHaveParent() && calls.Parent(call) < call) call = calls.Parent(call);
  return call;
}

// The range in whose code the work is: for what a graph launched, the one in which its node was made. `call` is
// OpFacts::CallOf(op).
inline uint32_t RangeOfWork(const Trace& trace, const Operation& op, uint32_t call) {
  const uint32_t node = op.shared().node;
  if (node != kNone && trace.graph_nodes[node].range != kNone) return trace.graph_nodes[node].range;
  return call == kNone ? kNone : Call(trace.api_calls, call).range();
}

// A view of operations or calls in a row: `for (const Operation op : OperationsOf(trace, slice))`.
template <class View, class List>
class ViewRange {
 public:
  ViewRange(const List& list, Trace::Slice slice)
      : list_(list), first_(list.items().data() + slice.first), last_(list.items().data() + slice.last) {}

  class Iterator {
   public:
    Iterator(const List& list, const typename List::Item* at) : list_(&list), at_(at) {}
    View operator*() const {
      PrefetchForReading(at_);
      return {*list_, at_};
    }
    Iterator& operator++() { return ++at_, *this; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return a.at_ != b.at_; }

   private:
    const List* list_;
    const typename List::Item* at_;
  };
  Iterator begin() const { return {list_, first_}; }
  Iterator end() const { return {list_, last_}; }

 private:
  const List& list_;
  const typename List::Item *first_, *last_;
};

// Those of a device (Trace::device_ops) are in order of their start, and so are those of a thread.
inline ViewRange<Operation, PackedOps> OperationsOf(const Trace& trace, Trace::Slice slice) {
  return {trace.ops, slice};
}
inline ViewRange<Operation, PackedOps> OperationsOf(const Trace& trace) {
  return OperationsOf(trace, {0, static_cast<uint32_t>(trace.ops.size())});
}
inline ViewRange<Call, PackedCalls> CallsOf(const Trace& trace, Trace::Slice slice) { return {trace.api_calls, slice}; }
inline ViewRange<Call, PackedCalls> CallsOf(const Trace& trace) {
  return CallsOf(trace, {0, static_cast<uint32_t>(trace.api_calls.size())});
}

}  // namespace gprof
