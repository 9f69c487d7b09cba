// The first pass over calls, operations and NVTX events, see bulk.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "gprof/trace/bytes.h"
#include "gprof/trace/wire.h"
#include "trace/bulk.h"
#include "trace/columns.h"

namespace gprof {

// Finds which records of a block are alike in some columns.
class AlikeRecords {
 public:
  void Begin(std::size_t count) { count_ = count, varying_ = 0; }

  // One more column to tell them apart by. Null: the column is damaged. Values are good until the next Begin.
  const uint64_t* Add(const ColumnView& column);

  // Numbers the records: alike ones have the same number, as a rule. first[n] is the first record with number n.
  void Number(std::vector<uint16_t>* numbers, std::vector<uint32_t>* first);

  static constexpr std::size_t kMostColumns = 16;

 private:
  static constexpr std::size_t kHashBits = 10;
  template <std::size_t kColumns>
  void NumberBy(std::size_t columns, std::vector<uint16_t>* numbers, std::vector<uint32_t>* first);

  std::size_t count_ = 0, varying_ = 0;
  std::array<std::unique_ptr<uint64_t[]>, kMostColumns> values_;
  std::array<uint16_t, std::size_t{1} << kHashBits> recent_{};
};

// A block, and the first of the records that are alike, in the order of BulkBlock::commons.
struct SurveyedBlock {
  BulkBlock block;
  std::vector<unsigned char> rows;  // one after the other, of the type of the block's kind; only what is common is set
  bool is_good = false;

  template <class R>
  R Row(std::size_t i) const {
    static_assert(std::is_trivially_copyable_v<R>);
    R r;
    std::memcpy(&r, rows.data() + i * sizeof(R), sizeof(R));
    return r;
  }
};

class Survey {
 public:
  // The blocks of calls, operations and NVTX events in the body of a chunk, up to the first one that is damaged. What
  // they have in common has no facts yet: those are numbered in the order of the file.
  std::vector<SurveyedBlock> Read(trace::ByteReader body);

 private:
  // A column with one value for all records is no array.
  struct CommonValues {
    const uint64_t* of_each = nullptr;
    uint64_t of_all = 0;
    bool is_there = false;
  };
  template <class R>
  using ValuesOf = std::array<CommonValues, BlockColumns<R>::kFields>;

  template <class R>
  bool ReadBlock(const trace::BlockView& block, SurveyedBlock* out);
  template <class R>
  bool ReadCommon(const BlockColumns<R>& columns, std::size_t count, ValuesOf<R>* values);
  void Count(std::size_t count, BulkBlock* out) const;

  AlikeRecords alike_;
  std::vector<uint16_t> numbers_;
  std::vector<uint32_t> first_;
};

}  // namespace gprof
