#include "trace/file/column_scan.h"

#include <algorithm>

#include "base/machine/vectors.h"

namespace gprof {
namespace {

constexpr uint64_t kHighestBit = uint64_t{1} << 63;

// What was found in some of the numbers, until it is asked of all.
struct Ascent {
  uint64_t all_bits = 0;
  uint64_t falls = 0;  // with its highest bit where a number is not larger than the one before
};

// ---- on any processor, and what is left over ----

uint64_t BitsOf(const uint64_t* numbers, std::size_t first, std::size_t last, uint64_t bits) {
  for (std::size_t i = first; i < last; ++i) bits |= numbers[i];
  return bits;
}

// From `first` to before `last`, of which none is the first of all.
Ascent AscentOf(const uint64_t* numbers, std::size_t first, std::size_t last, Ascent ascent) {
  for (std::size_t i = first; i < last; ++i) {
    ascent.all_bits |= numbers[i];
    ascent.falls |= numbers[i] - numbers[i - 1] - 1;
  }
  return ascent;
}

// `low` is one less than the lowest, so that 0, for none, becomes the highest of all.
CorrelationExtent AddExtent(const uint64_t* numbers, std::size_t first, std::size_t last, CorrelationExtent extent) {
  for (std::size_t i = first; i < last; ++i) {
    const auto correlation = static_cast<uint32_t>(numbers[i]);
    extent.low = std::min(extent.low, correlation - 1);
    extent.high = std::max(extent.high, correlation);
    extent.count += correlation == 0 ? 0 : 1;
  }
  return extent;
}

// ---- with AVX2; these return how many numbers they looked at ----

#ifdef GPROF_HAS_VECTORS

GPROF_VECTORS inline __m256i Load(const uint64_t* numbers) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers));
}

GPROF_VECTORS uint64_t AnyOf(__m256i bits) {
  alignas(32) uint64_t each[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(each), bits);
  return each[0] | each[1] | each[2] | each[3];
}

GPROF_VECTORS std::size_t WideBits(const uint64_t* numbers, std::size_t count, uint64_t* bits) {
  __m256i even = _mm256_setzero_si256(), odd = even;
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    even = _mm256_or_si256(even, _mm256_or_si256(Load(numbers + i), Load(numbers + i + 4)));
    odd = _mm256_or_si256(odd, _mm256_or_si256(Load(numbers + i + 8), Load(numbers + i + 12)));
  }
  *bits = AnyOf(_mm256_or_si256(even, odd));
  return i;
}

GPROF_VECTORS std::size_t WideAscent(const uint64_t* numbers, std::size_t first, std::size_t last, Ascent* ascent) {
  const __m256i minus_one = _mm256_set1_epi64x(-1);
  __m256i falls = _mm256_setzero_si256(), bits = falls;
  std::size_t i = first;
  for (; i + 4 <= last; i += 4) {
    const __m256i now = Load(numbers + i);
    const __m256i rise = _mm256_sub_epi64(now, Load(numbers + i - 1));
    bits = _mm256_or_si256(bits, now);
    falls = _mm256_or_si256(falls, _mm256_add_epi64(rise, minus_one));
  }
  ascent->all_bits |= AnyOf(bits);
  ascent->falls |= AnyOf(falls);
  return i;
}

GPROF_VECTORS std::size_t WideExtent(const uint64_t* numbers, std::size_t count, CorrelationExtent* extent) {
  const __m256i low_halves = _mm256_set1_epi64x(0xFFFFFFFF), one = _mm256_set1_epi32(1);
  __m256i low = _mm256_set1_epi32(-1), high = _mm256_setzero_si256(), none = high;
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i ids = _mm256_and_si256(Load(numbers + i), low_halves);
    low = _mm256_min_epu32(low, _mm256_sub_epi32(ids, one));  // of a high half it is the highest of all
    high = _mm256_max_epu32(high, ids);
    none = _mm256_sub_epi32(none, _mm256_cmpeq_epi32(ids, _mm256_setzero_si256()));
  }
  alignas(32) uint32_t lows[8], highs[8], nones[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lows), low);
  _mm256_store_si256(reinterpret_cast<__m256i*>(highs), high);
  _mm256_store_si256(reinterpret_cast<__m256i*>(nones), none);
  extent->count = static_cast<uint32_t>(i);
  for (unsigned k = 0; k < 8; k += 2) {
    extent->low = std::min(extent->low, lows[k]);
    extent->high = std::max(extent->high, highs[k]);
    extent->count -= nones[k];
  }
  return i;
}

#else

bool CanUseVectors() { return false; }
std::size_t WideBits(const uint64_t*, std::size_t, uint64_t*) { return 0; }
std::size_t WideAscent(const uint64_t*, std::size_t first, std::size_t, Ascent*) { return first; }
std::size_t WideExtent(const uint64_t*, std::size_t, CorrelationExtent*) { return 0; }

#endif

}  // namespace

uint64_t AllBits(const uint64_t* numbers, std::size_t count, Scan scan) {
  uint64_t bits = 0;
  const std::size_t done = scan == Scan::kWide && CanUseVectors() ? WideBits(numbers, count, &bits) : 0;
  return BitsOf(numbers, done, count, bits);
}

// Some at a time as long as there is no fall among them, then one by one.
std::size_t CountAscending(const uint64_t* numbers, std::size_t count, Scan scan) {
  constexpr std::size_t kAtOnce = 256;
  if (count == 0 || (numbers[0] & kHighestBit) != 0) return 0;
  const bool is_wide = scan == Scan::kWide && CanUseVectors();
  Ascent ascent;
  std::size_t first = 1;
  for (; first < count; first += kAtOnce) {
    const std::size_t last = std::min(count, first + kAtOnce);
    const std::size_t done = is_wide ? WideAscent(numbers, first, last, &ascent) : first;
    ascent = AscentOf(numbers, done, last, ascent);
    if (((ascent.all_bits | ascent.falls) & kHighestBit) != 0) break;
  }
  while (first < count && numbers[first] > numbers[first - 1] && (numbers[first] & kHighestBit) == 0) ++first;
  return std::min(first, count);
}

CorrelationExtent ExtentOf(const uint64_t* numbers, std::size_t count, Scan scan) {
  CorrelationExtent extent;
  const std::size_t done = scan == Scan::kWide && CanUseVectors() ? WideExtent(numbers, count, &extent) : 0;
  extent = AddExtent(numbers, done, count, extent);
  if (extent.count != 0) ++extent.low;
  return extent;
}

}  // namespace gprof
