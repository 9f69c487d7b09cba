// Finds the call that a correlation id stands for: of a runtime and a driver call with the same id the runtime call, of
// several of those the first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/builder/unjoined.h"

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

  // Adds the calls of a piece, while others add those of other pieces. As good as always an id occurs in one piece
  // only; Settle finds out where it did not.
  class PieceAdder {
   public:
    PieceAdder(CorrelationIndex& index, const PackedCalls& calls, uint32_t process, Trace::Slice piece)
        : calls_(calls), piece_(piece), table_(index.tables_[process].dense), first_(index.tables_[process].first) {}

    void Add(uint32_t call, uint32_t correlation) {
      const uint32_t at = correlation - first_;
      if (at >= table_.size()) return void(++others_);  // it has none, or the table is one for few
      // A load and a store as any other: an exchange would have the processor wait for all that it has fetched ahead.
      const std::atomic_ref<uint32_t> entry(table_[at]);
      const uint32_t before = entry.load(std::memory_order_relaxed);
      if (before != kNone && !MayReplace(call, before)) return;
      entry.store(call, std::memory_order_relaxed);
    }
    // Once all calls of the piece were added.
    Added added() const { return {piece_.last - piece_.first - others_, has_met_others_}; }

   private:
    [[gnu::noinline]] bool MayReplace(uint32_t call, uint32_t before) {
      ++others_;
      has_met_others_ = has_met_others_ || before < piece_.first || before >= piece_.last;
      return IsOuter(calls_, call, before);
    }

    const PackedCalls& calls_;
    const Trace::Slice piece_;
    const std::span<uint32_t> table_;
    const uint32_t first_;
    uint32_t others_ = 0;  // calls without an id of their own
    bool has_met_others_ = false;
  };

  // After all calls were added, by so many cores: makes the result the one of a single core.
  void Settle(const Trace& trace, const Added& all, std::size_t cores);

  uint32_t Find(uint32_t process, uint32_t correlation) const {
    const Table& t = tables_[process];
    const uint32_t at = correlation - t.first;
    if (at < t.dense.size()) return t.dense[at];
    return t.dense.empty() && correlation != 0 ? t.sparse.Find(0, correlation) : kNone;
  }

  // What most ids of a process are found in, by how far they are from the first one: ids below wrap around to far
  // outside, and so does 0, which stands for none.
  struct Dense {
    uint32_t first = 0;
    std::span<const uint32_t> calls;
  };
  Dense DenseOf(uint32_t process) const { return {tables_[process].first, tables_[process].dense}; }

 private:
  struct Table {
    uint32_t first = 1;
    std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> dense;  // call by correlation - first
    FlatIndex sparse;                                                 // where ids are too far apart for a table
  };
  static bool IsOuter(const PackedCalls& calls, uint32_t call, uint32_t other) {
    return calls.TraitsAt(calls.TraitsIndex(call)).domain < calls.TraitsAt(calls.TraitsIndex(other)).domain;
  }
  void Clear(std::size_t cores);
  uint64_t CountIds(std::size_t cores) const;
  void AddInOrder(const Trace& trace, bool is_dense);

  std::vector<Table> tables_;  // by process
};

}  // namespace gprof
