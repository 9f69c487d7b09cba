// CRC-32 (the polynomial of zlib and Ethernet), eight bytes a step: about 2 GB/s, so that a reader checks every chunk.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof::trace {

namespace crc_detail {
struct Tables {
  uint32_t t[8][256];
};
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    tables.t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (int k = 1; k < 8; ++k) {
      tables.t[k][i] = tables.t[0][tables.t[k - 1][i] & 0xFF] ^ (tables.t[k - 1][i] >> 8);
    }
  }
  return tables;
}
inline constexpr Tables kTables = MakeTables();
}  // namespace crc_detail

inline uint32_t Crc32(const unsigned char* data, std::size_t size, uint32_t seed = 0) {
  const auto& t = crc_detail::kTables.t;
  uint32_t c = ~seed;
  while (size >= 8) {
    const uint32_t low =
        c ^ (uint32_t{data[0]} | uint32_t{data[1]} << 8 | uint32_t{data[2]} << 16 | uint32_t{data[3]} << 24);
    c = t[7][low & 0xFF] ^ t[6][(low >> 8) & 0xFF] ^ t[5][(low >> 16) & 0xFF] ^ t[4][low >> 24] ^ t[3][data[4]] ^
        t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
    data += 8;
    size -= 8;
  }
  while (size-- > 0) c = t[0][(c ^ *data++) & 0xFF] ^ (c >> 8);
  return ~c;
}

}  // namespace gprof::trace
