// zstd bodies, within the bounds of file.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gprof {

class Unpacker {
 public:
  Unpacker() = default;
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Fills `out` with exactly `unpacked_bytes` bytes. False: the data are damaged or hold another number of bytes.
  bool Unpack(const unsigned char* data, std::size_t size, std::size_t unpacked_bytes, std::vector<unsigned char>* out);

 private:
  struct ZstdContext;
  ZstdContext* context_ = nullptr;  // made at the first compressed chunk: most traces have none
};

// Compresses a body. The result is empty when that does not make it smaller.
std::string Pack(const unsigned char* data, std::size_t size);

}  // namespace gprof
