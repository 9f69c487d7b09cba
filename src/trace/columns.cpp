#include "trace/columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gprof {
namespace {

using trace::ByteReader;
using trace::Encoding;

constexpr uint64_t kHighBits = 0x8080808080808080u;

// The seven bits of each byte, side by side.
uint64_t Compact(uint64_t word) {
  word &= ~kHighBits;
  word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
  word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
  return (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
}

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

// Eight bytes at a time and without a branch on the length of a number, which nobody can predict. Returns how many
// numbers were taken; the last bytes, and numbers of more than eight bytes, are left to ByteReader.
template <class ValueOf>
std::size_t DecodeWords(const unsigned char** next, const unsigned char* end, uint64_t* out, std::size_t count,
                        ValueOf& value_of_next) {
  if (std::endian::native != std::endian::little) return 0;
  ValueOf value_of = value_of_next;  // stays in registers
  const unsigned char* at = *next;
  std::size_t i = 0;
  while (i < count && end - at >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    const uint64_t ends = ~word & kHighBits;
    if (ends == kHighBits && count - i >= 8) {
      for (unsigned k = 0; k < 8; ++k) out[i + k] = value_of(word >> (8 * k) & 0xFF);
      i += 8;
      at += 8;
      continue;
    }
    if (ends == 0) break;
    const uint64_t first = ends ^ (ends - 1), more_ends = ends & (ends - 1);
    const auto length = static_cast<unsigned>(std::countr_zero(ends)) + 1;
    out[i++] = value_of(Compact(word & first));
    if (more_ends == 0 || i == count) {
      at += length / 8;
      continue;
    }
    // The next one is looked for while this one is put together.
    out[i++] = value_of(Compact((word & (more_ends ^ (more_ends - 1)) & ~first) >> length));
    at += (static_cast<unsigned>(std::countr_zero(more_ends)) + 1) / 8;
  }
  *next = at;
  value_of_next = value_of;
  return i;
}

template <class ValueOf>
bool DecodeVarints(const ColumnView& column, uint64_t* out, std::size_t count) {
  ValueOf value_of;
  const unsigned char* at = column.data;
  const unsigned char* const end = column.data + column.size_bytes;
  std::size_t i = 0;
  while (i < count) {
    i += DecodeWords(&at, end, out + i, count - i, value_of);
    if (i == count) break;
    ByteReader in(at, static_cast<std::size_t>(end - at));
    out[i++] = value_of(in.Varint());
    if (in.failed()) return false;
    at = end - in.left();
  }
  return true;
}

bool DecodeRuns(const ColumnView& column, uint64_t* out, std::size_t count) {
  ByteReader in(column.data, column.size_bytes);
  const bool is_delta = column.encoding == Encoding::kDeltaRuns;
  uint64_t before = 0;
  for (std::size_t i = 0; i < count;) {
    const uint64_t length = in.Varint();
    const uint64_t value = in.Varint();
    if (in.failed() || length == 0 || length > count - i) return false;
    const uint64_t step = is_delta ? static_cast<uint64_t>(trace::UnZigZag(value)) : 0;
    uint64_t v = is_delta ? before : value;
    for (const std::size_t end = i + static_cast<std::size_t>(length); i < end; ++i) out[i] = v += step;
    before = v;
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
      return DecodeVarints<Itself>(column, out, count);
    case Encoding::kDelta:
      return DecodeVarints<SumUp>(column, out, count);
    case Encoding::kRuns:
    case Encoding::kDeltaRuns:
      return DecodeRuns(column, out, count);
    case Encoding::kText:
      break;
  }
  return false;
}

}  // namespace gprof
