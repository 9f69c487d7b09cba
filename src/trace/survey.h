// The first pass over calls, operations and NVTX events, see bulk.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gprof/trace/wire.h"
#include "trace/bulk.h"
#include "trace/columns.h"

namespace gprof {

// What differs from record to record is kept of each, or not at all; the rest is what many have in common.
constexpr bool IsCommon(std::string_view field) {
  constexpr std::string_view kOfEachRecord[] = {"start_ns",  "duration_ns",  "time_ns", "correlation", "range", "payload",
                                                "queued_ns", "submitted_ns", "channel", "copy_count",  "value"};
  for (const std::string_view name : kOfEachRecord) {
    if (field == name) return false;
  }
  return true;
}

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

class Survey {
 public:
  // Makes a BulkBlock of a block. facts_of(const R&) gives the index of the facts of a record; fields that are not
  // common are not set. False: the block is damaged.
  template <class R, class F>
  bool Take(const trace::BlockView& block, F&& facts_of, BulkBlock* out) {
    static_assert(BlockColumns<R>::kFields <= AlikeRecords::kMostColumns);
    BlockColumns<R> columns;
    std::array<CommonValues, BlockColumns<R>::kFields> values;
    if (!columns.Find(block) || !ReadCommon(columns, block.record_count, &values)) return false;
    alike_.Number(&numbers_, &first_);
    out->kind = R::kKind;
    out->record_count = block.record_count;
    out->column_count = block.column_count;
    for (const uint32_t i : first_) {
      const R r = RecordOf<R>(values, i);
      if constexpr (requires { r.is_device_launched; }) {
        out->has_device_launches = out->has_device_launches || r.is_device_launched != 0;
      }
      out->commons.push_back({facts_of(r)});
    }
    Count(block.record_count, out);
    return true;
  }

 private:
  // A column with one value for all records is no array.
  struct CommonValues {
    const uint64_t* of_each = nullptr;
    uint64_t of_all = 0;
    bool is_there = false;
  };

  template <class R>
  bool ReadCommon(const BlockColumns<R>& columns, std::size_t count,
                  std::array<CommonValues, BlockColumns<R>::kFields>* values) {
    alike_.Begin(count);
    bool is_good = true;
    std::size_t k = 0;
    R r;
    R::Fields(r, [&](const trace::FieldInfo& info, auto&) {
      const ColumnView& column = columns[k];
      CommonValues& v = (*values)[k++];
      if (!is_good || !column.is_there || !IsCommon(info.name)) return;
      v.is_there = true;
      if (column.encoding == trace::Encoding::kConstant) {
        is_good = DecodeNumbers(column, &v.of_all, 1);
      } else {
        v.of_each = alike_.Add(column);
        is_good = v.of_each != nullptr;
      }
    });
    return is_good;
  }

  template <class R>
  static R RecordOf(const std::array<CommonValues, BlockColumns<R>::kFields>& values, std::size_t i) {
    R r;
    std::size_t k = 0;
    R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
      const CommonValues& v = values[k++];
      using T = std::decay_t<decltype(field)>;
      if (v.is_there) field = trace::wire_detail::FromBits<T>(v.of_each == nullptr ? v.of_all : v.of_each[i]);
    });
    return r;
  }

  void Count(std::size_t count, BulkBlock* out) const;

  AlikeRecords alike_;
  std::vector<uint16_t> numbers_;
  std::vector<uint32_t> first_;
};

}  // namespace gprof
