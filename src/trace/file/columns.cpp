#include "trace/file/columns.h"

#include <algorithm>
#include <cstring>

#include "trace/file/varints.h"

namespace gprof {
namespace {

using trace::ByteReader;
using trace::Encoding;

// A run of values that differ by the same step. There is room for `room` values, and what is behind the run is written
// over.
inline void WriteRun(uint64_t* to, std::size_t length, std::size_t room, uint64_t value, uint64_t step) {
  constexpr std::size_t kAtOnce = 4;
  if (room < length + kAtOnce) [[unlikely]] {
    for (std::size_t i = 0; i < length; ++i) to[i] = value + i * step;
    return;
  }
  using Two [[gnu::vector_size(16)]] = uint64_t;
  Two low = {value, value + step}, high = low + 2 * step;
  const Two fours = {kAtOnce * step, kAtOnce * step};
  for (uint64_t* const end = to + length; to < end; to += kAtOnce) {
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + 2, &high, sizeof high);
    low += fours;
    high += fours;
  }
}

// A run as it is in a column, and where the next one begins; nullptr: it is damaged.
struct StoredRun {
  const unsigned char* next = nullptr;
  uint64_t length = 0, value = 0;
};

// Of varints of any length.
[[gnu::noinline]] StoredRun ReadLongRun(const unsigned char* at, const unsigned char* end) {
  ByteReader in(at, static_cast<std::size_t>(end - at));
  StoredRun run;
  run.length = in.Varint();
  run.value = in.Varint();
  run.next = in.failed() ? nullptr : in.next();
  return run;
}

[[gnu::always_inline]] inline StoredRun ReadRun(const unsigned char* at, const unsigned char* end) {
  constexpr unsigned kMostOfAByte = 0x7F;
  if (end - at < 3) [[unlikely]]
    return ReadLongRun(at, end);
  const uint64_t first = at[0], second = at[1], third = at[2];
  // As good as always they have a byte each, or the value has two.
  if ((first | second) <= kMostOfAByte) return {at + 2, first, second};
  if ((first | third) <= kMostOfAByte) return {at + 3, first, (second & kMostOfAByte) | third << 7};
  return ReadLongRun(at, end);
}

template <bool kIsDelta>
bool DecodeRuns(const ColumnView& column, uint64_t* out, std::size_t count) {
  constexpr std::size_t kShort = 4;
  const unsigned char *at = column.data, *const end = column.data + column.size_bytes;
  uint64_t before = 0, length = 0;
  for (std::size_t left = count; left != 0; left -= length, out += length) {
    const auto [next, run_length, value] = ReadRun(at, end);
    if (next == nullptr || run_length - 1 >= left) return false;
    at = next;
    length = run_length;
    const uint64_t step = kIsDelta ? static_cast<uint64_t>(trace::UnZigZag(value)) : 0;
    const uint64_t first = kIsDelta ? before + step : value;
    // Most are short: some values are written without a look at how many there are, and what is behind them written
    // over.
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
  const unsigned char *at = column.data, *const end = column.data + column.size_bytes;
  std::size_t found = 0;
  for (std::size_t left = count; left != 0;) {
    const auto [next, length, value] = ReadRun(at, end);
    if (next == nullptr || length - 1 >= left) return 0;
    at = next;
    left -= length;
    runs[found++] = {value, static_cast<uint32_t>(count - left)};
  }
  return found;
}

bool DecodeNumbersPlainly(const ColumnView& column, uint64_t* out, std::size_t count) {
  return Decode(column, out, count, false);
}

}  // namespace gprof
