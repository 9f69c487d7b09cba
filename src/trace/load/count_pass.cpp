#include "trace/load/count_pass.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "trace/file/column_scan.h"

namespace gprof {

bool AlikeRecords::AreAllInRuns() const {
  const auto end = columns_.begin() + static_cast<std::ptrdiff_t>(varying_);
  return std::all_of(columns_.begin(), end, [](const ColumnView& c) { return c.encoding == trace::Encoding::kRuns; });
}

bool AlikeRecords::Decode() {
  is_in_runs_ = varying_ != 0 && AreAllInRuns();
  for (std::size_t c = 0; c < varying_; ++c) {
    if (values_[c] == nullptr) values_[c] = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
  }
  if (is_in_runs_) return DecodeSections();
  sections_ = count_;
  for (std::size_t c = 0; c < varying_; ++c) {
    if (!DecodeNumbers(columns_[c], values_[c].get(), count_)) return false;
  }
  return true;
}

bool AlikeRecords::DecodeSections() {
  if (section_ends_ == nullptr) section_ends_ = std::make_unique_for_overwrite<uint32_t[]>(trace::kMaxChunkRecords);
  for (std::size_t c = 0; c < varying_; ++c) {
    runs_[c].resize(std::min(count_, MostRuns(columns_[c])));
    if (DecodeRunList(columns_[c], runs_[c].data(), count_) == 0) return false;
  }
  varying_ == 1 ? JoinRuns<1>() : varying_ == 2 ? JoinRuns<2>() : JoinRuns<0>();
  return true;
}

// A section ends where a run of any column does. kColumns is the number of columns where it is known to the compiler,
// else 0.
template <std::size_t kColumns>
void AlikeRecords::JoinRuns() {
  const std::size_t columns = kColumns == 0 ? varying_ : kColumns;
  std::array<const ColumnRun*, kColumns == 0 ? kMostColumns : kColumns> next;
  std::array<uint64_t*, kColumns == 0 ? kMostColumns : kColumns> values;
  for (std::size_t c = 0; c < columns; ++c) next[c] = runs_[c].data(), values[c] = values_[c].get();
  uint32_t* const ends = section_ends_.get();
  const std::size_t count = count_;
  std::size_t sections = 0;
  for (uint32_t end = 0; end != count; ++sections) {
    end = next[0]->end;
    for (std::size_t c = 1; c < columns; ++c) end = std::min(end, next[c]->end);
    for (std::size_t c = 0; c < columns; ++c) {
      values[c][sections] = next[c]->value;
      next[c] += next[c]->end == end ? 1 : 0;
    }
    ends[sections] = end;
  }
  sections_ = sections;
}

std::span<const AlikeRecords::Group> AlikeRecords::Number(WhichOf* numbers) {
  if (groups_ == nullptr) groups_ = std::make_unique_for_overwrite<Group[]>(trace::kMaxChunkRecords);
  numbers->resize(varying_ == 0 ? 0 : count_);  // of which each is written
  if (is_in_runs_ && section_numbers_ == nullptr) {
    section_numbers_ = std::make_unique_for_overwrite<uint16_t[]>(trace::kMaxChunkRecords);
  }
  uint16_t* const of_sections = is_in_runs_ ? section_numbers_.get() : numbers->data();
  std::size_t groups = 1;
  if (varying_ == 0) {
    groups_[0] = {0, static_cast<uint32_t>(count_)};
  } else if (!PlanKeys()) {
    groups = NumberByColumns(of_sections);
  } else if (varying_ == 1) {
    groups = NumberByKey<1>(of_sections);
  } else if (varying_ == 2) {
    groups = NumberByKey<2>(of_sections);
  } else if (varying_ == 3) {
    groups = NumberByKey<3>(of_sections);
  } else {
    groups = NumberByKey<0>(of_sections);
  }
  if (is_in_runs_) SpreadNumbers(groups, numbers->data());
  return {groups_.get(), groups};
}

// From the sections to their records.
void AlikeRecords::SpreadNumbers(std::size_t groups, uint16_t* numbers) {
  using Eight [[gnu::vector_size(16)]] = uint16_t;
  constexpr uint32_t kAtOnce = 8;
  for (std::size_t n = 0; n < groups; ++n) groups_[n].count = 0;
  uint32_t i = 0;
  for (std::size_t s = 0; s < sections_; ++s) {
    const uint16_t number = section_numbers_[s];
    const uint32_t end = section_ends_[s];
    const Eight same = Eight{} + number;
    groups_[number].count += end - i;
    for (; i < end && i + kAtOnce <= count_; i += kAtOnce)
      std::memcpy(numbers + i, &same, sizeof same);  // and behind it
    for (; i < end; ++i) numbers[i] = number;
    i = end;
  }
}

// False: they do not fit.
bool AlikeRecords::PlanKeys() {
  unsigned sum_bits = 0;
  for (std::size_t c = 0; c < varying_; ++c) {
    sum_bits += key_bits_[c] = static_cast<unsigned>(std::bit_width(AllBits(values_[c].get(), sections_)));
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
  for (std::size_t i = 0; i < sections_; ++i) {
    uint64_t key = values[0][i];
    for (std::size_t c = 1; c < columns; ++c) key = key << bits[c] | values[c][i];
    const std::size_t place = PlaceOf(key * kHashFactor);
    if (recent_keys_[place] != key) [[unlikely]] {
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
  for (std::size_t i = 0; i < sections_; ++i) {
    uint64_t hash = 0;
    for (std::size_t c = 0; c < varying_; ++c) hash = (hash ^ values_[c][i]) * kHashFactor;
    uint16_t& recent = recent_numbers_[PlaceOf(hash)];
    bool is_alike = recent != kNoNumber;
    for (std::size_t c = 0; is_alike && c < varying_; ++c)
      is_alike = values_[c][i] == values_[c][groups_[recent].first];
    if (!is_alike) {
      groups_[count] = {static_cast<uint32_t>(i), 0};
      recent = static_cast<uint16_t>(count++);
    }
    ++groups_[recent].count;
    numbers[i] = recent;
  }
  return count;
}

std::vector<CountedBlock> BlockCounter::Read(trace::ByteReader body) {
  std::vector<CountedBlock> blocks;
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
        CountedBlock& counted = blocks.emplace_back();
        counted.is_good = is_good = view.record_count <= records_left && ReadBlock<R>(view, &counted);
        records_left -= view.record_count;  // not looked at again where there were too few
        counted.block.first_byte = static_cast<uint32_t>(view.columns.next() - begin);
        counted.block.size_bytes = static_cast<uint32_t>(view.columns.left());
      }
    });
  }
  return blocks;
}

template <class R>
bool BlockCounter::ReadBlock(const trace::BlockView& block, CountedBlock* out) {
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
      if (!v.is_there) return;
      field = trace::wire_detail::FromBits<T>(v.is_of_all ? v.of_all : alike_.ValueOf(v.column, groups[n].first));
    });
    if constexpr (requires { r.is_device_launched; }) {
      bulk.has_device_launches = bulk.has_device_launches || r.is_device_launched != 0;
    }
    std::memcpy(out->rows.data() + n * sizeof(R), &r, sizeof(R));
  }
  return true;
}

template <class R>
bool BlockCounter::ReadCommon(const BlockColumns<R>& columns, std::size_t count, ValuesOf<R>* values) {
  alike_.Begin(count);
  bool is_good = true;
  std::size_t k = 0;
  R r;
  R::Fields(r, [&](const trace::FieldInfo&, auto&) {
    const ColumnView& column = columns[k];
    CommonValues& v = (*values)[k];
    if (!kAreCommon<R>[k++] || !is_good || !column.is_there) return;
    v.is_there = true;
    if (column.encoding == trace::Encoding::kConstant) {
      v.is_of_all = true;
      is_good = DecodeNumbers(column, &v.of_all, 1);
    } else {
      v.column = alike_.Add(column);
    }
  });
  return is_good && alike_.Decode();
}

}  // namespace gprof
