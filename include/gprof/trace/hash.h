// The hash that hosts are known by in traces (ProcessKey::host), whoever computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gprof::trace {

inline constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15u;

// Both halves of the product.
inline uint64_t MixBits(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashBytes(const void* data, std::size_t size) {
  const auto* p = static_cast<const unsigned char*>(data);
  uint64_t hash = kHashFactor ^ size, word = 0;
  for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
    std::memcpy(&word, p, sizeof word);
    hash = MixBits(hash ^ word, kHashFactor);
  }
  word = 0;
  if (size != 0) std::memcpy(&word, p, size);
  return MixBits(hash ^ word, 0xD6E8FEB86659FD93u);
}

}  // namespace gprof::trace
