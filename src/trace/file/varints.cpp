#include "trace/file/varints.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/machine/vectors.h"
#include "gprof/trace/bytes.h"

namespace gprof {
namespace {

using trace::ByteReader;

// Where the next number is read from and written to.
struct Cursor {
  const unsigned char* at;
  const unsigned char* end;
  uint64_t* to;
  uint64_t* last;  // behind the last number

  std::size_t bytes_left() const { return static_cast<std::size_t>(end - at); }
  std::size_t numbers_left() const { return static_cast<std::size_t>(last - to); }
};

// What becomes of a number: it is one itself, or how far the next one is from the one before.
class Itself {
 public:
  static constexpr bool kIsSum = false;
  uint64_t operator()(uint64_t number) const { return number; }
  uint64_t sum() const { return 0; }
  void SetSum(uint64_t) {}
};
class SumUp {
 public:
  static constexpr bool kIsSum = true;
  uint64_t operator()(uint64_t number) { return sum_ += static_cast<uint64_t>(trace::UnZigZag(number)); }
  uint64_t sum() const { return sum_; }
  void SetSum(uint64_t sum) { sum_ = sum; }

 private:
  uint64_t sum_ = 0;
};

// Of any length.
template <class ValueOf>
bool TakeOne(Cursor& c, ValueOf& value_of) {
  ByteReader in(c.at, c.bytes_left());
  *c.to++ = value_of(in.Varint());
  c.at = c.end - in.left();
  return !in.failed();
}

// ---- on any processor ----

constexpr uint64_t kHighBits = 0x8080808080808080u;

// The seven bits of each byte, side by side.
uint64_t Compact(uint64_t word) {
  word = (word & 0x007F007F007F007Fu) | (word & 0x7F007F007F007F00u) >> 1;
  word = (word & 0x00003FFF00003FFFu) | (word & 0x3FFF00003FFF0000u) >> 2;
  return (word & 0x000000000FFFFFFFu) | (word & 0x0FFFFFFF00000000u) >> 4;
}

// The number whose bytes are those that `bytes` has ones in.
uint64_t NumberIn(uint64_t word, uint64_t bytes) {
  return Compact((word & bytes & ~kHighBits) >> std::countr_zero(bytes));
}

// `ends` has the high bit of each byte that ends a number: all bits of the bytes up to the first of those, and how many
// bytes that are.
uint64_t UpToFirst(uint64_t ends) { return ends ^ (ends - 1); }
unsigned BytesUpToFirst(uint64_t ends) { return static_cast<unsigned>(std::countr_zero(ends)) / 8 + 1; }

// Eight bytes at a time, three numbers of those, and nearly without branches on their lengths, which nobody can
// predict. Stops at what is left to TakeOne: the last ones, and those of more than eight bytes.
template <class ValueOf>
void TakeWords(Cursor& cursor, ValueOf& value_of_next) {
  constexpr std::size_t kWordBytes = 8;
  Cursor c = cursor;
  ValueOf value_of = value_of_next;  // stays in registers
  while (std::endian::native == std::endian::little && c.numbers_left() >= kWordBytes && c.bytes_left() >= kWordBytes) {
    uint64_t word = 0;
    std::memcpy(&word, c.at, sizeof word);
    // Bits that end a number: of all of them, and of those from the second and the third on.
    const uint64_t ends = ~word & kHighBits, ends_2 = ends & (ends - 1), ends_3 = ends_2 & (ends_2 - 1);
    if (ends == kHighBits) {
      for (unsigned k = 0; k < kWordBytes; ++k) c.to[k] = value_of(word >> (8 * k) & 0xFF);
      c.to += kWordBytes;
      c.at += kWordBytes;
      continue;
    }
    if (ends == 0) break;
    *c.to++ = value_of(NumberIn(word, UpToFirst(ends)));
    if (ends_2 != 0) *c.to++ = value_of(NumberIn(word, UpToFirst(ends) ^ UpToFirst(ends_2)));
    if (ends_3 != 0) *c.to++ = value_of(NumberIn(word, UpToFirst(ends_2) ^ UpToFirst(ends_3)));
    c.at += BytesUpToFirst(ends_3 != 0 ? ends_3 : ends_2 != 0 ? ends_2 : ends);
  }
  cursor = c;
  value_of_next = value_of;
}

template <class ValueOf>
bool TakePlainly(Cursor& cursor, ValueOf& value_of) {
  while (cursor.numbers_left() != 0) {
    TakeWords(cursor, value_of);
    if (cursor.numbers_left() != 0 && !TakeOne(cursor, value_of)) return false;
  }
  return true;
}

// ---- with AVX2 ----

#ifdef GPROF_HAS_VECTORS

constexpr unsigned kGroupNumbers = 4, kGroupBytes = 12, kKindsOfGroups = 1u << kGroupBytes;

// Some numbers at the beginning of twelve bytes, as many as have four bytes at most: none where the first one has more.
// Which numbers are neighbours nobody can predict, so that four of any of these lengths are taken in one way.
struct Group {
  uint8_t numbers = 0, bytes = 0;
};
// Which byte goes where, so that each number has four bytes of its own; the last ones are 0 where there are fewer.
struct alignas(16) Places {
  std::array<uint8_t, 16> from{};
};
struct Groups {
  // By the bits of those bytes that do not end a number.
  std::array<Group, kKindsOfGroups> groups{};
  std::array<Places, kKindsOfGroups> places{};
};

constexpr Groups PlanGroups() {
  constexpr uint8_t kZero = 0x80;
  Groups all;
  for (unsigned goes_on = 0; goes_on < kKindsOfGroups; ++goes_on) {
    Group& group = all.groups[goes_on];
    std::array<uint8_t, 16>& from = all.places[goes_on].from;
    for (uint8_t& place : from) place = kZero;
    while (group.numbers < kGroupNumbers) {
      unsigned bytes = 1;
      while (group.bytes + bytes <= kGroupBytes && (goes_on >> (group.bytes + bytes - 1) & 1) != 0) ++bytes;
      if (bytes > 4 || group.bytes + bytes > kGroupBytes) break;
      for (unsigned k = 0; k < bytes; ++k) from[4 * group.numbers + k] = static_cast<uint8_t>(group.bytes + k);
      ++group.numbers;
      group.bytes = static_cast<uint8_t>(group.bytes + bytes);
    }
  }
  return all;
}
constexpr Groups kGroups = PlanGroups();

GPROF_VECTORS inline void Store(uint64_t* to, __m256i numbers) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), numbers);
}

// Writes four numbers; `sum` has the one before in all of its places, and has the last one of these then.
GPROF_VECTORS inline void StoreSums(uint64_t* to, __m256i sums, __m256i* sum) {
  sums = _mm256_add_epi64(sums, *sum);
  Store(to, sums);
  *sum = _mm256_permute4x64_epi64(sums, 0xFF);
}

// Eight numbers of 14 bits. The sums of four of them have 16 bits.
template <class ValueOf>
GPROF_VECTORS inline void StoreEight(uint64_t* to, __m128i numbers, __m256i* sum) {
  if constexpr (ValueOf::kIsSum) {
    const __m128i signs = _mm_sub_epi16(_mm_setzero_si128(), _mm_and_si128(numbers, _mm_set1_epi16(1)));
    __m128i sums = _mm_xor_si128(_mm_srli_epi16(numbers, 1), signs);
    sums = _mm_add_epi16(sums, _mm_slli_epi64(sums, 16));
    sums = _mm_add_epi16(sums, _mm_slli_epi64(sums, 32));
    StoreSums(to, _mm256_cvtepi16_epi64(sums), sum);
    StoreSums(to + 4, _mm256_cvtepi16_epi64(_mm_srli_si128(sums, 8)), sum);
  } else {
    Store(to, _mm256_cvtepu16_epi64(numbers));
    Store(to + 4, _mm256_cvtepu16_epi64(_mm_srli_si128(numbers, 8)));
  }
}

// Four numbers, each in four bytes as they are in a varint.
template <class ValueOf>
GPROF_VECTORS inline void StoreFour(uint64_t* to, __m128i bytes, __m256i* sum) {
  bytes = _mm_and_si128(bytes, _mm_set1_epi8(0x7F));
  const __m128i halves = _mm_maddubs_epi16(_mm_set1_epi16(static_cast<short>(0x8001)), bytes);
  const __m128i numbers = _mm_madd_epi16(halves, _mm_set1_epi32(0x40000001));
  if constexpr (ValueOf::kIsSum) {
    const __m128i signs = _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(numbers, _mm_set1_epi32(1)));
    __m128i sums = _mm_xor_si128(_mm_srli_epi32(numbers, 1), signs);
    sums = _mm_add_epi32(sums, _mm_slli_si128(sums, 4));
    sums = _mm_add_epi32(sums, _mm_slli_si128(sums, 8));
    StoreSums(to, _mm256_cvtepi32_epi64(sums), sum);
  } else {
    Store(to, _mm256_cvtepu32_epi64(numbers));
  }
}

// Of 64 bytes, those that do not end a number.
GPROF_VECTORS inline uint64_t GoesOn(const unsigned char* at) {
  const auto half = [](const unsigned char* from) GPROF_VECTORS {
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  };
  return uint64_t{half(at + 32)} << 32 | half(at);
}

// Sixteen bytes at a time: eight numbers of two bytes, or of one, or what a group has. Where the next ones begin
// follows from bits that were taken of many bytes at once, as each step would wait for its bytes otherwise. Stops at
// what is left to TakeOne: numbers of more than four bytes, and the last ones, as more is read and written than there
// may be.
template <class ValueOf>
GPROF_VECTORS void TakeVectors(Cursor& cursor, ValueOf& value_of) {
  constexpr std::size_t kBytes = 16, kNumbers = 8, kAhead = 64;
  constexpr unsigned kEightOfTwo = 0x5555, kEightOfOneMask = 0xFF, kSixteenMask = 0xFFFF;
  if (cursor.bytes_left() < kAhead || cursor.numbers_left() < kNumbers) return;
  const unsigned char *at = cursor.at, *const last_at = cursor.end - kAhead;
  uint64_t *to = cursor.to, *const last_to = cursor.last - kNumbers;
  __m256i sum = _mm256_set1_epi64x(static_cast<int64_t>(value_of.sum()));
  bool is_long = false;
  while (at <= last_at && to <= last_to && !is_long) {
    const unsigned char* const last_known = at + kAhead - kBytes;
    for (uint64_t goes_on = GoesOn(at); at <= last_known && to <= last_to;) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      std::size_t taken = 0;
      if ((goes_on & kSixteenMask) == kEightOfTwo) {
        const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 1), _mm_set1_epi16(0x3F80));
        StoreEight<ValueOf>(to, _mm_or_si128(_mm_and_si128(bytes, _mm_set1_epi16(0x7F)), high), &sum);
        taken = 16, to += 8;
      } else if ((goes_on & kEightOfOneMask) == 0) {
        StoreEight<ValueOf>(to, _mm_cvtepu8_epi16(bytes), &sum);
        taken = 8, to += 8;
      } else {
        const std::size_t kind = goes_on % kKindsOfGroups;
        const Group group = kGroups.groups[kind];
        is_long = group.numbers == 0;
        if (is_long) break;
        const auto* const places = reinterpret_cast<const __m128i*>(kGroups.places[kind].from.data());
        StoreFour<ValueOf>(to, _mm_shuffle_epi8(bytes, _mm_load_si128(places)), &sum);
        taken = group.bytes, to += group.numbers;
      }
      at += taken;
      goes_on >>= taken;
    }
  }
  cursor.at = at;
  cursor.to = to;
  value_of.SetSum(static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(sum))));
}

template <class ValueOf>
bool TakeInVectors(Cursor& cursor, ValueOf& value_of) {
  constexpr std::size_t kWorthIt = 16;
  while (cursor.numbers_left() >= kWorthIt) {
    TakeVectors(cursor, value_of);
    if (cursor.numbers_left() == 0) break;
    if (!TakeOne(cursor, value_of)) return false;
  }
  return TakePlainly(cursor, value_of);
}

#endif

template <class ValueOf>
bool Take(Cursor cursor, [[maybe_unused]] bool may_use_vectors) {
  ValueOf value_of;
#ifdef GPROF_HAS_VECTORS
  if (may_use_vectors && CanUseVectors()) return TakeInVectors(cursor, value_of);
#endif
  return TakePlainly(cursor, value_of);
}

}  // namespace

bool DecodeVarints(const unsigned char* data, const unsigned char* end, Numbers numbers, uint64_t* out,
                   std::size_t count, bool may_use_vectors) {
  const Cursor cursor{data, end, out, out + count};
  return numbers == Numbers::kDifferences ? Take<SumUp>(cursor, may_use_vectors)
                                          : Take<Itself>(cursor, may_use_vectors);
}

}  // namespace gprof
