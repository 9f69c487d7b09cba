#include "trace/survey.h"

#include <string_view>
#include <utility>

namespace gprof {
namespace {

// What differs from record to record is kept of each, or not at all; the rest is what many have in common.
constexpr bool IsCommon(std::string_view field) {
  constexpr std::string_view kOfEachRecord[] = {"start_ns", "duration_ns", "time_ns",      "correlation", "range",
                                                "payload",  "queued_ns",   "submitted_ns", "channel",     "copy_count",
                                                "value"};
  for (const std::string_view name : kOfEachRecord) {
    if (field == name) return false;
  }
  return true;
}

constexpr uint16_t kNoNumber = 0xFFFF;  // a chunk has 16384 records at most

}  // namespace

const uint64_t* AlikeRecords::Add(const ColumnView& column) {
  std::unique_ptr<uint64_t[]>& values = values_[varying_++];
  if (values == nullptr) values = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
  return DecodeNumbers(column, values.get(), count_) ? values.get() : nullptr;
}

void AlikeRecords::Number(std::vector<uint16_t>* numbers, std::vector<uint32_t>* first) {
  numbers->clear();
  first->clear();
  switch (varying_) {
    case 0:
      first->push_back(0);
      return;
    case 1:
      return NumberBy<1>(1, numbers, first);
    case 2:
      return NumberBy<2>(2, numbers, first);
    case 3:
      return NumberBy<3>(3, numbers, first);
    default:
      return NumberBy<0>(varying_, numbers, first);
  }
}

// kColumns is the number of columns where it is known to the compiler, else 0. A table with one place for each hash:
// what comes to a taken place takes it over, and those that come back are numbered anew.
template <std::size_t kColumns>
void AlikeRecords::NumberBy(std::size_t columns, std::vector<uint16_t>* numbers, std::vector<uint32_t>* first) {
  if (kColumns != 0) columns = kColumns;
  numbers->resize(count_);
  recent_.fill(kNoNumber);
  for (std::size_t i = 0; i < count_; ++i) {
    uint64_t hash = 0;
    for (std::size_t c = 0; c < columns; ++c) hash = (hash ^ values_[c][i]) * 0x9E3779B97F4A7C15u;
    uint16_t& recent = recent_[static_cast<std::size_t>(hash >> (64 - kHashBits))];
    bool is_alike = recent != kNoNumber;
    if (is_alike) {
      const std::size_t other = (*first)[recent];
      for (std::size_t c = 0; c < columns; ++c) is_alike = is_alike && values_[c][i] == values_[c][other];
    }
    if (!is_alike) {
      recent = static_cast<uint16_t>(first->size());
      first->push_back(static_cast<uint32_t>(i));
    }
    (*numbers)[i] = recent;
  }
}

std::vector<SurveyedBlock> Survey::Read(trace::ByteReader body) {
  std::vector<SurveyedBlock> blocks;
  const unsigned char* const begin = body.next();
  trace::BlockView view;
  bool is_good = true;
  uint32_t records_left = trace::kMaxChunkRecords;  // as RowDecoder has it
  while (is_good && NextBlock(body, &view)) {
    if (view.record_count == 0) continue;
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if constexpr (kIsBulk<R>) {
        if (static_cast<uint16_t>(R::kKind) != view.kind) return;
        SurveyedBlock& surveyed = blocks.emplace_back();
        surveyed.is_good = is_good = view.record_count <= records_left && ReadBlock<R>(view, &surveyed);
        records_left -= view.record_count;  // not looked at again where there were too few
        surveyed.block.first_byte = static_cast<uint32_t>(view.columns.next() - begin);
        surveyed.block.size_bytes = static_cast<uint32_t>(view.columns.left());
      }
    });
  }
  return blocks;
}

template <class R>
bool Survey::ReadBlock(const trace::BlockView& block, SurveyedBlock* out) {
  static_assert(BlockColumns<R>::kFields <= AlikeRecords::kMostColumns);
  BlockColumns<R> columns;
  ValuesOf<R> values;
  if (!columns.Find(block) || !ReadCommon(columns, block.record_count, &values)) return false;
  alike_.Number(&numbers_, &first_);
  BulkBlock& bulk = out->block;
  bulk.kind = R::kKind;
  bulk.record_count = block.record_count;
  bulk.column_count = block.column_count;
  bulk.commons.resize(first_.size());
  out->rows.resize(first_.size() * sizeof(R));
  for (std::size_t n = 0; n < first_.size(); ++n) {
    R r;
    std::size_t k = 0;
    R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
      const CommonValues& v = values[k++];
      using T = std::decay_t<decltype(field)>;
      if (v.is_there) field = trace::wire_detail::FromBits<T>(v.of_each == nullptr ? v.of_all : v.of_each[first_[n]]);
    });
    if constexpr (requires { r.is_device_launched; }) {
      bulk.has_device_launches = bulk.has_device_launches || r.is_device_launched != 0;
    }
    std::memcpy(out->rows.data() + n * sizeof(R), &r, sizeof(R));
  }
  Count(block.record_count, &bulk);
  return true;
}

template <class R>
bool Survey::ReadCommon(const BlockColumns<R>& columns, std::size_t count, ValuesOf<R>* values) {
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

void Survey::Count(std::size_t count, BulkBlock* out) const {
  if (numbers_.empty()) {
    out->commons[0].count = static_cast<uint32_t>(count);
    return;
  }
  for (const uint16_t number : numbers_) ++out->commons[number].count;
  out->which.assign(numbers_.begin(), numbers_.end());
}

}  // namespace gprof
