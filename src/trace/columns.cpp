#include "trace/columns.h"

#include <algorithm>
#include <cstring>

#include "trace/varints.h"

namespace gprof {
namespace {

using trace::ByteReader;
using trace::Encoding;

// A run of values that differ by the same step. There is room for `room` values, and what is behind the run is written over.
inline void WriteRun(uint64_t* to, std::size_t length, std::size_t room, uint64_t value, uint64_t step) {
  constexpr std::size_t kAtOnce = 4;
  if (room < length + kAtOnce) [[unlikely]] {
    for (std::size_t i = 0; i < length; ++i) to[i] = value + i * step;
    return;
  }
  using Two [[gnu::vector_size(16)]] = uint64_t;
  Two low = {value, value + step}, high = low + 2 * step;
  const uint64_t step_of_fours = kAtOnce * step;
  for (uint64_t* const end = to + length; to < end; to += kAtOnce) {
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + 2, &high, sizeof high);
    low += step_of_fours;
    high += step_of_fours;
  }
}

// Takes runs off the bytes of a column.
class RunReader {
 public:
  explicit RunReader(const ColumnView& column) : at_(column.data), end_(column.data + column.size_bytes) {}

  // The length of a run and its value. False: they are damaged.
  [[gnu::always_inline]] bool Take(uint64_t* length, uint64_t* value) {
    constexpr unsigned kMostOfAByte = 0x7F;
    // As good as always they have a byte each, or the value has two.
    if (end_ - at_ < 3) return TakeLong(length, value);
    if ((at_[0] | at_[1]) <= kMostOfAByte) {
      *length = at_[0];
      *value = at_[1];
      at_ += 2;
      return true;
    }
    if ((at_[0] | at_[2]) > kMostOfAByte) return TakeLong(length, value);
    *length = at_[0];
    *value = (at_[1] & kMostOfAByte) | static_cast<uint64_t>(at_[2]) << 7;
    at_ += 3;
    return true;
  }

 private:
  [[gnu::noinline]] bool TakeLong(uint64_t* length, uint64_t* value) {
    ByteReader in(at_, static_cast<std::size_t>(end_ - at_));
    *length = in.Varint();
    *value = in.Varint();
    at_ = end_ - in.left();
    return !in.failed();
  }

  const unsigned char* at_;
  const unsigned char* const end_;
};

template <bool kIsDelta>
bool DecodeRuns(const ColumnView& column, uint64_t* out, std::size_t count) {
  constexpr std::size_t kShort = 4;
  RunReader runs(column);
  uint64_t before = 0, length = 0, value = 0;
  for (std::size_t left = count; left != 0; left -= length, out += length) {
    if (!runs.Take(&length, &value) || length - 1 >= left) return false;
    const uint64_t step = kIsDelta ? static_cast<uint64_t>(trace::UnZigZag(value)) : 0;
    const uint64_t first = kIsDelta ? before + step : value;
    // Most are short: some values are written without a look at how many there are, and what is behind them written over.
    if (length <= kShort && left >= kShort) {
      out[0] = first;
      out[1] = first + step;
      out[2] = first + 2 * step;
      out[3] = first + 3 * step;
    } else {
      WriteRun(out, length, left, first, step);
    }
    before += length * step;
  }
  return true;
}

bool Decode(const ColumnView& column, uint64_t* out, std::size_t count, bool may_use_vectors) {
  if (!column.is_there) return std::fill_n(out, count, 0), true;
  const unsigned char* const end = column.data + column.size_bytes;
  switch (column.encoding) {
    case Encoding::kConstant: {
      ByteReader in(column.data, column.size_bytes);
      std::fill_n(out, count, in.Varint());
      return !in.failed();
    }
    case Encoding::kVarint:
      return DecodeVarints(column.data, end, Numbers::kThemselves, out, count, may_use_vectors);
    case Encoding::kDelta:
      return DecodeVarints(column.data, end, Numbers::kDifferences, out, count, may_use_vectors);
    case Encoding::kRuns:
      return DecodeRuns<false>(column, out, count);
    case Encoding::kDeltaRuns:
      return DecodeRuns<true>(column, out, count);
    case Encoding::kText:
      break;
  }
  return false;
}

}  // namespace

bool DecodeNumbers(const ColumnView& column, uint64_t* out, std::size_t count) {
  return Decode(column, out, count, true);
}

std::size_t DecodeRunList(const ColumnView& column, ColumnRun* runs, std::size_t count) {
  RunReader reader(column);
  std::size_t found = 0;
  uint64_t length = 0, value = 0;
  for (std::size_t left = count; left != 0; left -= length) {
    if (!reader.Take(&length, &value) || length - 1 >= left) return 0;
    runs[found++] = {value, static_cast<uint32_t>(count - left + length)};
  }
  return found;
}

bool DecodeNumbersPlainly(const ColumnView& column, uint64_t* out, std::size_t count) {
  return Decode(column, out, count, false);
}

}  // namespace gprof
