// The first pass over calls, operations and NVTX events, see bulk.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "gprof/trace/bytes.h"
#include "gprof/trace/wire.h"
#include "trace/file/columns.h"
#include "trace/load/bulk.h"

namespace gprof {

// Finds which records of a block are alike in some columns. Where all of these are in runs, what is compared are
// sections of neighbours that are the same in each; else each record is a section.
class AlikeRecords {
 public:
  // Records with the same number.
  struct Group {
    uint32_t first = 0;  // section
    uint32_t count = 0;  // of records
  };

  void Begin(std::size_t count) { count_ = count, varying_ = 0; }

  // One more column to tell them apart by. Returns its number.
  std::size_t Add(const ColumnView& column) {
    columns_[varying_] = column;
    return varying_++;
  }

  // Reads the columns. False: one is damaged.
  bool Decode();

  // After that numbers the records: alike ones have the same number, as a rule. Returns those with each number; no
  // numbers are given where there is no column to tell them apart by. Good until the next call, as what ValueOf
  // returns.
  std::span<const Group> Number(WhichOf* numbers);

  // Of a section, in the column with a number.
  uint64_t ValueOf(std::size_t column, uint32_t section) const { return values_[column][section]; }

  static constexpr std::size_t kMostColumns = 16;

 private:
  bool AreAllInRuns() const;
  bool DecodeSections();
  template <std::size_t kColumns>
  void JoinRuns();
  bool PlanKeys();
  template <std::size_t kColumns>
  std::size_t NumberByKey(uint16_t* numbers);
  std::size_t NumberByColumns(uint16_t* numbers);
  void SpreadNumbers(std::size_t groups, uint16_t* numbers);
  static std::size_t PlaceOf(uint64_t hash) { return static_cast<std::size_t>(hash >> (64 - kHashBits)); }

  static constexpr std::size_t kHashBits = 10, kPlaces = std::size_t{1} << kHashBits;
  static constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;
  std::size_t count_ = 0, varying_ = 0;
  std::array<ColumnView, kMostColumns> columns_;
  std::size_t sections_ = 0;
  bool is_in_runs_ = false;  // sections may have more than one record
  // Of each column: values by section, runs where all are in runs, and bits that a value has at most.
  std::array<std::unique_ptr<uint64_t[]>, kMostColumns> values_;
  std::array<std::vector<ColumnRun, packed_detail::Unwritten<ColumnRun>>, kMostColumns> runs_;
  std::array<unsigned, kMostColumns> key_bits_{};
  std::unique_ptr<uint32_t[]> section_ends_;  // where they are in runs
  // What came to each place last. The key of a section is its values in all columns, side by side, where they fit.
  std::array<uint64_t, kPlaces> recent_keys_{};
  std::array<uint16_t, kPlaces> recent_numbers_{};
  std::unique_ptr<uint16_t[]> section_numbers_;
  std::unique_ptr<Group[]> groups_;
};

// A block, and the first of the records that are alike, in the order of BulkBlock::commons.
struct CountedBlock {
  BulkBlock block;
  std::vector<unsigned char, packed_detail::Unwritten<unsigned char>>
      rows;  // one after the other, of the type of the block's kind; only what is common is set
  bool is_good = false;

  template <class R>
  R Row(std::size_t i) const {
    static_assert(std::is_trivially_copyable_v<R>);
    R r;
    std::memcpy(&r, rows.data() + i * sizeof(R), sizeof(R));
    return r;
  }
};

class BlockCounter {
 public:
  // The blocks of calls, operations and NVTX events in the body of a chunk, up to the first one that is damaged. What
  // they have in common has no traits yet: those are numbered in the order of the file.
  std::vector<CountedBlock> Read(trace::ByteReader body);

 private:
  // A column with one value for all records is none of alike_.
  struct CommonValues {
    std::size_t column = 0;
    uint64_t of_all = 0;
    bool is_there = false, is_of_all = false;
  };
  template <class R>
  using ValuesOf = std::array<CommonValues, BlockColumns<R>::kFields>;

  template <class R>
  bool ReadBlock(const trace::BlockView& block, CountedBlock* out);
  template <class R>
  bool ReadCommon(const BlockColumns<R>& columns, std::size_t count, ValuesOf<R>* values);

  AlikeRecords alike_;
};

}  // namespace gprof
