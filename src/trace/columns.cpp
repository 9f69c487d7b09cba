#include "trace/columns.h"

#include <algorithm>
#include <cstring>

#include "trace/varints.h"

namespace gprof {
namespace {

using trace::ByteReader;
using trace::Encoding;

// A run of values that differ by the same step.
[[gnu::noinline]] void WriteRun(uint64_t* to, std::size_t length, uint64_t value, uint64_t step) {
  using Two [[gnu::vector_size(16)]] = uint64_t;
  uint64_t *const end = to + length, *const end_of_fours = to + length / 4 * 4;
  Two low = {value, value + step}, high = low + 2 * step;
  const uint64_t step_of_fours = 4 * step;
  for (; to != end_of_fours; to += 4) {
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + 2, &high, sizeof high);
    low += step_of_fours;
    high += step_of_fours;
  }
  for (value = low[0]; to != end; value += step) *to++ = value;
}

// The length of a run and its value. False: they are damaged.
[[gnu::noinline]] bool TakeLongRun(const unsigned char** next, const unsigned char* end, uint64_t* length, uint64_t* value) {
  ByteReader in(*next, static_cast<std::size_t>(end - *next));
  *length = in.Varint();
  *value = in.Varint();
  *next = end - in.left();
  return !in.failed();
}

template <bool kIsDelta>
bool DecodeRuns(const ColumnView& column, uint64_t* out, std::size_t count) {
  constexpr std::size_t kShort = 4, kMostOfAByte = 0x7F;
  const unsigned char* at = column.data;
  const unsigned char* const end = column.data + column.size_bytes;
  uint64_t before = 0;
  for (std::size_t i = 0, length = 0; i < count; i += length) {
    uint64_t value = 0;
    // As good as always they have a byte each, or the value has two.
    if (end - at >= 2 && (at[0] | at[1]) <= kMostOfAByte) {
      length = at[0];
      value = at[1];
      at += 2;
    } else if (end - at >= 3 && (at[0] | at[2]) <= kMostOfAByte) {
      length = at[0];
      value = (at[1] & kMostOfAByte) | at[2] << 7;
      at += 3;
    } else if (!TakeLongRun(&at, end, &length, &value)) {
      return false;
    }
    if (length == 0 || length > count - i) return false;
    const uint64_t step = kIsDelta ? static_cast<uint64_t>(trace::UnZigZag(value)) : 0;
    const uint64_t first = kIsDelta ? before + step : value;
    // Most are short: some values are written without a look at how many there are, and what is behind them written over.
    if (length <= kShort && count - i >= kShort) {
      out[i] = first;
      out[i + 1] = first + step;
      out[i + 2] = first + 2 * step;
      out[i + 3] = first + 3 * step;
    } else {
      WriteRun(out + i, length, first, step);
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

bool DecodeNumbersPlainly(const ColumnView& column, uint64_t* out, std::size_t count) {
  return Decode(column, out, count, false);
}

}  // namespace gprof
