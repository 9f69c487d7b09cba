#include "trace/survey.h"

namespace gprof {
namespace {

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

// kColumns is the number of columns where it is known to the compiler, else 0. A table with one place for each hash: what
// comes to a taken place takes it over, and those that come back are numbered anew.
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

void Survey::Count(std::size_t count, BulkBlock* out) const {
  if (numbers_.empty()) {
    out->commons[0].count = static_cast<uint32_t>(count);
    return;
  }
  for (const uint16_t number : numbers_) ++out->commons[number].count;
  out->which.assign(numbers_.begin(), numbers_.end());
}

}  // namespace gprof
