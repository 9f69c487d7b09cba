#include "trace/columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GPROF_HAS_BIT_EXTRACTION 1
#define GPROF_BIT_EXTRACTION __attribute__((target("bmi,bmi2")))
#endif

namespace gprof {
namespace {

using trace::ByteReader;
using trace::Encoding;

constexpr uint64_t kHighBits = 0x8080808080808080u;

// The bits of a number whose bytes are those that `bytes` has ones in.
class ByShifting {
 public:
  static uint64_t Number(uint64_t word, uint64_t bytes) {
    return Compact((word & bytes & ~kHighBits) >> std::countr_zero(bytes));
  }

 private:
  // The seven bits of each byte, side by side.
  static uint64_t Compact(uint64_t word) {
    word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
    word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
    return (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
  }
};

#ifdef GPROF_HAS_BIT_EXTRACTION
class ByExtraction {
 public:
  GPROF_BIT_EXTRACTION static uint64_t Number(uint64_t word, uint64_t bytes) {
    return _pext_u64(word, bytes & ~kHighBits);
  }
};

bool CanExtract() {
  // Some processors have the instruction, but take longer for it than for all that it stands for.
  static const bool is_slow = __builtin_cpu_is("amdfam15h") != 0 || __builtin_cpu_is("amdfam17h") != 0;
  static const bool can = __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  return can && !is_slow;
}
#endif

// What becomes of the numbers of a column: each is itself, or how far it is from the one before.
class Itself {
 public:
  uint64_t operator()(uint64_t number) const { return number; }
};
class SumUp {
 public:
  uint64_t operator()(uint64_t number) { return sum_ += static_cast<uint64_t>(trace::UnZigZag(number)); }

 private:
  uint64_t sum_ = 0;
};

// `ends` has the high bit of each byte that ends a number: all bits of the bytes up to the first of those, and how many
// bytes that are.
uint64_t UpToFirst(uint64_t ends) { return ends ^ (ends - 1); }
unsigned BytesUpToFirst(uint64_t ends) { return static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1; }

// Eight bytes at a time, three numbers of those, and nearly without branches on their lengths, which nobody can predict.
// Returns how many numbers were taken; the last ones, and those of more than eight bytes, are left to ByteReader.
template <class Way, class ValueOf>
[[gnu::always_inline]] inline std::size_t DecodeWords(const unsigned char** next, const unsigned char* end,
                                                      uint64_t* out, std::size_t count, ValueOf& value_of_next) {
  constexpr std::size_t kWordBytes = 8, kAtOnce = 3;
  const unsigned char* at = *next;
  if (std::endian::native != std::endian::little || count < kAtOnce || end - at < std::ptrdiff_t{kWordBytes}) return 0;
  const unsigned char* const last_at = end - kWordBytes;
  uint64_t *to = out, *const last_to = out + (count - kAtOnce);
  ValueOf value_of = value_of_next;  // stays in registers
  while (to <= last_to && at <= last_at) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    // Bits that end a number: of all of them, and of those from the second and the third on.
    const uint64_t ends = ~word & kHighBits, ends_2 = ends & (ends - 1), ends_3 = ends_2 & (ends_2 - 1);
    if (ends == kHighBits && last_to - to >= std::ptrdiff_t{kWordBytes - kAtOnce}) {
      for (unsigned k = 0; k < kWordBytes; ++k) to[k] = value_of(word >> (8 * k) & 0xFF);
      to += kWordBytes;
      at += kWordBytes;
      continue;
    }
    if (ends == 0) break;
    *to++ = value_of(Way::Number(word, UpToFirst(ends)));
    if (ends_2 == 0) {
      at += BytesUpToFirst(ends);
      continue;
    }
    *to++ = value_of(Way::Number(word, UpToFirst(ends) ^ UpToFirst(ends_2)));
    if (ends_3 == 0) {
      at += BytesUpToFirst(ends_2);
      continue;
    }
    *to++ = value_of(Way::Number(word, UpToFirst(ends_2) ^ UpToFirst(ends_3)));
    at += BytesUpToFirst(ends_3);
  }
  *next = at;
  value_of_next = value_of;
  return static_cast<std::size_t>(to - out);
}

template <class Way, class ValueOf>
[[gnu::always_inline]] inline bool DecodeVarints(const ColumnView& column, uint64_t* out, std::size_t count) {
  ValueOf value_of;
  const unsigned char* at = column.data;
  const unsigned char* const end = column.data + column.size_bytes;
  std::size_t i = 0;
  while (i < count) {
    i += DecodeWords<Way>(&at, end, out + i, count - i, value_of);
    if (i == count) break;
    ByteReader in(at, static_cast<std::size_t>(end - at));
    out[i++] = value_of(in.Varint());
    if (in.failed()) return false;
    at = end - in.left();
  }
  return true;
}

#ifdef GPROF_HAS_BIT_EXTRACTION
template <class ValueOf>
GPROF_BIT_EXTRACTION bool ExtractVarints(const ColumnView& column, uint64_t* out, std::size_t count) {
  return DecodeVarints<ByExtraction, ValueOf>(column, out, count);
}
#endif

template <class ValueOf>
bool DecodeEach(const ColumnView& column, uint64_t* out, std::size_t count, [[maybe_unused]] bool may_extract) {
#ifdef GPROF_HAS_BIT_EXTRACTION
  if (may_extract && CanExtract()) return ExtractVarints<ValueOf>(column, out, count);
#endif
  return DecodeVarints<ByShifting, ValueOf>(column, out, count);
}

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

bool Decode(const ColumnView& column, uint64_t* out, std::size_t count, bool may_extract) {
  if (!column.is_there) return std::fill_n(out, count, 0), true;
  switch (column.encoding) {
    case Encoding::kConstant: {
      ByteReader in(column.data, column.size_bytes);
      std::fill_n(out, count, in.Varint());
      return !in.failed();
    }
    case Encoding::kVarint:
      return DecodeEach<Itself>(column, out, count, may_extract);
    case Encoding::kDelta:
      return DecodeEach<SumUp>(column, out, count, may_extract);
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
