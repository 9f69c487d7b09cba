// The checksum of a body, as trace::Crc32 has it, at several times its speed where the processor can multiply without
// carry.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gprof {

uint32_t Checksum(const unsigned char* data, std::size_t size);

}  // namespace gprof
