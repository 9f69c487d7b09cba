#include "trace/file/checksum.h"

#include "gprof/trace/crc32.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define GPROF_HAS_CARRYLESS 1
#endif

namespace gprof {
namespace {

#ifdef GPROF_HAS_CARRYLESS

// "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009): what is left of a block
// after the blocks behind it is that block times a power of x modulo the polynomial. The numbers are such powers, for
// the reflected polynomial of crc32.h.
constexpr std::size_t kFoldedBytes = 64, kLaneBytes = 16;

#define GPROF_CARRYLESS __attribute__((target("pclmul,sse4.1")))

GPROF_CARRYLESS inline __m128i Load(const unsigned char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// `lane` moved on by the distance that `powers` stand for, and the bytes there.
GPROF_CARRYLESS inline __m128i Fold(__m128i lane, __m128i powers, __m128i bytes) {
  const __m128i low = _mm_clmulepi64_si128(lane, powers, 0x00), high = _mm_clmulepi64_si128(lane, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), bytes);
}

// 16 bytes to the 4 of the checksum.
GPROF_CARRYLESS uint32_t Reduce(__m128i x) {
  const __m128i low_word = _mm_setr_epi32(-1, 0, -1, 0);
  const __m128i to_64 = _mm_set_epi64x(0, 0x0163cd6124), to_96 = _mm_set_epi64x(0, 0x00ccaa009e);
  const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(to_96, x, 0x00));
  x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low_word), to_64, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, low_word), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_word), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

// At least 64 bytes, a multiple of 16.
GPROF_CARRYLESS uint32_t FoldAll(const unsigned char* data, std::size_t size) {
  const __m128i by_64_bytes = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by_16_bytes = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  __m128i lanes[4];
  for (int i = 0; i < 4; ++i) lanes[i] = Load(data + kLaneBytes * i);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(-1));
  data += kFoldedBytes, size -= kFoldedBytes;
  for (; size >= kFoldedBytes; data += kFoldedBytes, size -= kFoldedBytes) {
    for (int i = 0; i < 4; ++i) lanes[i] = Fold(lanes[i], by_64_bytes, Load(data + kLaneBytes * i));
  }
  __m128i x = lanes[0];
  for (int i = 1; i < 4; ++i) x = Fold(x, by_16_bytes, lanes[i]);
  for (; size >= kLaneBytes; data += kLaneBytes, size -= kLaneBytes) x = Fold(x, by_16_bytes, Load(data));
  return ~Reduce(x);
}

#endif

}  // namespace

uint32_t Checksum(const unsigned char* data, std::size_t size) {
#ifdef GPROF_HAS_CARRYLESS
  static const bool is_fast = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  if (is_fast && size >= kFoldedBytes) {
    const std::size_t folded = size / kLaneBytes * kLaneBytes;
    return trace::Crc32(data + folded, size - folded, FoldAll(data, folded));
  }
#endif
  return trace::Crc32(data, size);
}

}  // namespace gprof
