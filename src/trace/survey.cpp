#include "trace/survey.h"

#include <bit>
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

}  // namespace

const uint64_t* AlikeRecords::Add(const ColumnView& column) {
  std::unique_ptr<uint64_t[]>& values = values_[varying_++];
  if (values == nullptr) values = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
  return DecodeNumbers(column, values.get(), count_) ? values.get() : nullptr;
}

std::span<const AlikeRecords::Group> AlikeRecords::Number(WhichOf* numbers) {
  if (groups_ == nullptr) groups_ = std::make_unique_for_overwrite<Group[]>(trace::kMaxChunkRecords);
  numbers->resize(varying_ == 0 ? 0 : count_);  // of which each is written
  std::size_t groups = 1;
  if (varying_ == 0) {
    groups_[0] = {0, static_cast<uint32_t>(count_)};
  } else if (!PlanKeys()) {
    groups = NumberByColumns(numbers->data());
  } else if (varying_ == 1) {
    groups = NumberByKey<1>(numbers->data());
  } else if (varying_ == 2) {
    groups = NumberByKey<2>(numbers->data());
  } else if (varying_ == 3) {
    groups = NumberByKey<3>(numbers->data());
  } else {
    groups = NumberByKey<0>(numbers->data());
  }
  return {groups_.get(), groups};
}

// False: they do not fit.
bool AlikeRecords::PlanKeys() {
  unsigned sum_bits = 0;
  for (std::size_t c = 0; c < varying_; ++c) {
    const uint64_t* const values = values_[c].get();
    uint64_t all = 0;
    std::size_t i = 0;
    for (; i + 4 <= count_; i += 4) all |= values[i] | values[i + 1] | values[i + 2] | values[i + 3];
    for (; i < count_; ++i) all |= values[i];
    sum_bits += key_bits_[c] = static_cast<unsigned>(std::bit_width(all));
  }
  return sum_bits < 64;
}

// kColumns is the number of columns where it is known to the compiler, else 0. A table with one place for each hash:
// what comes to a taken place takes it over, and those that come back are numbered anew.
template <std::size_t kColumns>
std::size_t AlikeRecords::NumberByKey(uint16_t* numbers) {
  const std::size_t columns = kColumns == 0 ? varying_ : kColumns;
  std::array<const uint64_t*, kColumns == 0 ? kMostColumns : kColumns> values;
  for (std::size_t c = 0; c < columns; ++c) values[c] = values_[c].get();
  const std::array<unsigned, kMostColumns> bits = key_bits_;
  recent_keys_.fill(0);
  recent_keys_[0] = 1;  // no key is at a place that nothing came to: 0 would be at the first one, and 1 is not
  static_assert(kHashFactor >> (64 - kHashBits) != 0);
  Group* const groups = groups_.get();
  std::size_t count = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    uint64_t key = values[0][i];
    for (std::size_t c = 1; c < columns; ++c) key = key << bits[c] | values[c][i];
    const std::size_t place = PlaceOf(key * kHashFactor);
    if (recent_keys_[place] != key) {
      recent_keys_[place] = key;
      recent_numbers_[place] = static_cast<uint16_t>(count);
      groups[count++] = {static_cast<uint32_t>(i), 0};
    }
    const uint16_t number = recent_numbers_[place];
    ++groups[number].count;
    numbers[i] = number;
  }
  return count;
}

// The same, where values have to be compared one by one.
std::size_t AlikeRecords::NumberByColumns(uint16_t* numbers) {
  constexpr uint16_t kNoNumber = 0xFFFF;  // a chunk has 16384 records at most
  recent_numbers_.fill(kNoNumber);
  std::size_t count = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    uint64_t hash = 0;
    for (std::size_t c = 0; c < varying_; ++c) hash = (hash ^ values_[c][i]) * kHashFactor;
    uint16_t& recent = recent_numbers_[PlaceOf(hash)];
    bool is_alike = recent != kNoNumber;
    for (std::size_t c = 0; is_alike && c < varying_; ++c) is_alike = values_[c][i] == values_[c][groups_[recent].first];
    if (!is_alike) {
      groups_[count] = {static_cast<uint32_t>(i), 0};
      recent = static_cast<uint16_t>(count++);
    }
    ++groups_[recent].count;
    numbers[i] = recent;
  }
  return count;
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
  const std::span<const AlikeRecords::Group> groups = alike_.Number(&out->block.which);
  BulkBlock& bulk = out->block;
  bulk.kind = R::kKind;
  bulk.record_count = block.record_count;
  bulk.column_count = block.column_count;
  bulk.commons.resize(groups.size());
  out->rows.resize(groups.size() * sizeof(R));
  for (std::size_t n = 0; n < groups.size(); ++n) {
    bulk.commons[n].count = groups[n].count;
    R r;
    std::size_t k = 0;
    R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
      const CommonValues& v = values[k++];
      using T = std::decay_t<decltype(field)>;
      if (v.is_there) field = trace::wire_detail::FromBits<T>(v.of_each == nullptr ? v.of_all : v.of_each[groups[n].first]);
    });
    if constexpr (requires { r.is_device_launched; }) {
      bulk.has_device_launches = bulk.has_device_launches || r.is_device_launched != 0;
    }
    std::memcpy(out->rows.data() + n * sizeof(R), &r, sizeof(R));
  }
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

}  // namespace gprof
