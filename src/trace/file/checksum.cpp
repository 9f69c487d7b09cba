#include "trace/file/checksum.h"

#include <zlib.h>

namespace gprof {

uint32_t Checksum(const unsigned char* data, std::size_t size) { return static_cast<uint32_t>(crc32_z(0, data, size)); }

}  // namespace gprof
