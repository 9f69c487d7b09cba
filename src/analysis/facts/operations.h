// Going over operations in order, and looking at one of them: what they do not share and what they do, read where it
// is kept. All that is known of how the model packs them is in here, so that an analysis reads like its definition.
#pragma once

#include <cstdint>

#include "analysis/idle/gaps.h"
#include "gprof/trace.h"

namespace gprof {

// A place among the operations of the trace. Each accessor reads one thing; nothing else is made.
class Operation {
 public:
  Operation(const PackedOps& ops, uint32_t index) : ops_(&ops), index_(index) {}

  uint32_t index() const { return index_; }
  int64_t start_ns() const { return item().start_ns(); }
  int64_t end_ns() const { return ops_->EndNs(item()); }
  int64_t duration_ns() const { return end_ns() - start_ns(); }  // negative where a trace is damaged
  uint32_t call() const { return item().CallOrNone(); }          // which may be within another; see OpFacts::CallOf
  // The number of what it shares with others, and what that is.
  uint32_t kind_number() const { return item().facts; }
  const PackedOps::Facts& shared() const { return ops_->FactsAt(kind_number()); }
  uint32_t stream() const { return shared().stream; }
  bool is_kernel() const { return IsKernelLike(shared().kind); }

 private:
  const PackedOps::Item& item() const { return ops_->items()[index_]; }

  const PackedOps* ops_;
  uint32_t index_;
};

// A view of operations in a row: `for (const Operation op : OperationsOf(trace, slice))`.
class OperationRange {
 public:
  OperationRange(const PackedOps& ops, Trace::Slice slice) : ops_(ops), slice_(slice) {}

  class Iterator {
   public:
    Iterator(const PackedOps& ops, uint32_t at) : ops_(&ops), at_(at) {}
    Operation operator*() const {
      ops_->PrefetchAfter(at_);
      return {*ops_, at_};
    }
    Iterator& operator++() { return ++at_, *this; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return a.at_ != b.at_; }

   private:
    const PackedOps* ops_;
    uint32_t at_;
  };
  Iterator begin() const { return {ops_, slice_.first}; }
  Iterator end() const { return {ops_, slice_.last}; }

 private:
  const PackedOps& ops_;
  Trace::Slice slice_;
};

// Those of a device (Trace::device_ops) are in order of their start.
inline OperationRange OperationsOf(const Trace& trace, Trace::Slice slice) { return {trace.ops, slice}; }
inline OperationRange OperationsOf(const Trace& trace) {
  return {trace.ops, {0, static_cast<uint32_t>(trace.ops.size())}};
}

}  // namespace gprof
