// Finds the call that a correlation id stands for: of a runtime and a driver call with the same id the runtime call, of
// several of those the first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/draft.h"

namespace gprof {

class CorrelationIndex {
 public:
  CorrelationIndex(const std::vector<CorrelationExtent>& extents, std::size_t cores);

  // What a piece of the calls added.
  struct Added {
    uint64_t new_ids = 0;
    bool has_met_others = false;  // an id was there of a call of another piece

    void operator+=(const Added& other) {
      new_ids += other.new_ids;
      has_met_others = has_met_others || other.has_met_others;
    }
  };

  // Adds a call of a piece, while others add those of other pieces. As good as always an id occurs in one piece only;
  // Settle finds out where it did not.
  void Add(const PackedCalls& calls, uint32_t process, uint32_t call, Trace::Slice piece, Added* added) {
    const uint32_t correlation = calls.Correlation(call);
    Table& t = tables_[process];
    if (correlation == 0 || t.dense.empty()) return;
    // A load and a store as any other: an exchange would have the processor wait for all that it has fetched ahead.
    const std::atomic_ref<uint32_t> entry(t.dense[correlation - t.first]);
    const uint32_t before = entry.load(std::memory_order_relaxed);
    if (before == kNone) {
      ++added->new_ids;
    } else {
      added->has_met_others = added->has_met_others || before < piece.first || before >= piece.last;
      if (!IsOuter(calls, call, before)) return;
    }
    entry.store(call, std::memory_order_relaxed);
  }

  // After all calls were added, by so many cores: makes the result the one of a single core.
  void Settle(const Trace& trace, const Added& all, std::size_t cores);

  uint32_t Find(uint32_t process, uint32_t correlation) const {
    const Table& t = tables_[process];
    if (correlation == 0) return kNone;
    if (t.dense.empty()) return t.sparse.Find(0, correlation);
    const uint32_t at = correlation - t.first;  // below `first` wraps around to far outside
    return at < t.dense.size() ? t.dense[at] : kNone;
  }

 private:
  struct Table {
    uint32_t first = 0;
    std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> dense;  // call by correlation - first
    FlatIndex sparse;                                                 // where ids are too far apart for a table
  };
  static bool IsOuter(const PackedCalls& calls, uint32_t call, uint32_t other) {
    return calls.FactsAt(calls.FactsIndex(call)).domain < calls.FactsAt(calls.FactsIndex(other)).domain;
  }
  void Clear(std::size_t cores);
  uint64_t CountIds(std::size_t cores) const;
  void AddInOrder(const Trace& trace, bool is_dense);

  std::vector<Table> tables_;  // by process
};

}  // namespace gprof
