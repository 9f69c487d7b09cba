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

// Up to its first byte with a high bit of zero, and the ones below that bit.
uint64_t UpToFirst(uint64_t ends) { return ends ^ (ends - 1); }
unsigned BytesUpToFirst(uint64_t ends) { return static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1; }

// Eight bytes at a time, three numbers of those, and nearly without branches on their lengths, which nobody can predict.
// Returns how many numbers were taken; the last ones, and those of more than eight bytes, are left to ByteReader.
template <class Way, class ValueOf>
[[gnu::always_inline]] inline std::size_t DecodeWords(const unsigned char** next, const unsigned char* end,
                                                      uint64_t* out, std::size_t count, ValueOf& value_of_next) {
  if (std::endian::native != std::endian::little) return 0;
  ValueOf value_of = value_of_next;  // stays in registers
  const unsigned char* at = *next;
  std::size_t i = 0;
  while (count - i >= 3 && end - at >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    // Bits that end a number: of all of them, and of those from the second and the third on.
    const uint64_t ends = ~word & kHighBits, ends_2 = ends & (ends - 1), ends_3 = ends_2 & (ends_2 - 1);
    if (ends == kHighBits && count - i >= 8) {
      for (unsigned k = 0; k < 8; ++k) out[i + k] = value_of(word >> (8 * k) & 0xFF);
      i += 8;
      at += 8;
      continue;
    }
    if (ends == 0) break;
    out[i++] = value_of(Way::Number(word, UpToFirst(ends)));
    if (ends_2 == 0) {
      at += BytesUpToFirst(ends);
      continue;
    }
    out[i++] = value_of(Way::Number(word, UpToFirst(ends) ^ UpToFirst(ends_2)));
    if (ends_3 == 0) {
      at += BytesUpToFirst(ends_2);
      continue;
    }
    out[i++] = value_of(Way::Number(word, UpToFirst(ends_2) ^ UpToFirst(ends_3)));
    at += BytesUpToFirst(ends_3);
  }
  *next = at;
  value_of_next = value_of;
  return i;
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
bool DecodeNumbersOf(const ColumnView& column, uint64_t* out, std::size_t count) {
#ifdef GPROF_HAS_BIT_EXTRACTION
  if (CanExtract()) return ExtractVarints<ValueOf>(column, out, count);
#endif
  return DecodeVarints<ByShifting, ValueOf>(column, out, count);
}

// Some values at a time, also where a run has fewer: what comes behind it is written over.
class RunWriter {
 public:
  RunWriter(uint64_t* out, std::size_t count)
      : next_(out), end_(out + count), end_of_room_(count < kAtOnce ? out : end_ - (kAtOnce - 1)) {}

  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  // The run is no longer than what is left.
  void Add(std::size_t length, uint64_t value, uint64_t step) {
    uint64_t* const run_end = next_ + length;
    uint64_t* const room_end = std::min(run_end, end_of_room_);
    Two low = {value, value + step}, high = low + 2 * step;
    for (; next_ < room_end; next_ += kAtOnce) {
      std::memcpy(next_, &low, sizeof low);
      std::memcpy(next_ + 2, &high, sizeof high);
      low += kAtOnce * step;
      high += kAtOnce * step;
    }
    for (value = low[0]; next_ < run_end; value += step) *next_++ = value;
    next_ = run_end;
  }

 private:
  using Two [[gnu::vector_size(16)]] = uint64_t;
  static constexpr std::size_t kAtOnce = 4;
  uint64_t* next_;
  uint64_t *const end_, *const end_of_room_;  // where so many can be written up to
};

bool DecodeRuns(const ColumnView& column, uint64_t* out, std::size_t count) {
  ByteReader in(column.data, column.size_bytes);
  const bool is_delta = column.encoding == Encoding::kDeltaRuns;
  RunWriter writer(out, count);
  uint64_t before = 0;
  while (writer.left() > 0) {
    const uint64_t length = in.Varint();
    const uint64_t value = in.Varint();
    if (in.failed() || length == 0 || length > writer.left()) return false;
    if (is_delta) {
      const auto step = static_cast<uint64_t>(trace::UnZigZag(value));
      writer.Add(static_cast<std::size_t>(length), before + step, step);
      before += length * step;
    } else {
      writer.Add(static_cast<std::size_t>(length), value, 0);
    }
  }
  return true;
}

}  // namespace

bool DecodeNumbers(const ColumnView& column, uint64_t* out, std::size_t count) {
  if (!column.is_there) return std::fill_n(out, count, 0), true;
  switch (column.encoding) {
    case Encoding::kConstant: {
      ByteReader in(column.data, column.size_bytes);
      std::fill_n(out, count, in.Varint());
      return !in.failed();
    }
    case Encoding::kVarint:
      return DecodeNumbersOf<Itself>(column, out, count);
    case Encoding::kDelta:
      return DecodeNumbersOf<SumUp>(column, out, count);
    case Encoding::kRuns:
    case Encoding::kDeltaRuns:
      return DecodeRuns(column, out, count);
    case Encoding::kText:
      break;
  }
  return false;
}

}  // namespace gprof
