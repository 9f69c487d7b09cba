// zstd bodies, within the bounds of file.h.
#pragma once

#include <cstddef>
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

class Packer {
 public:
  Packer() = default;
  ~Packer();
  Packer(Packer&& other) noexcept : context_(other.context_) { other.context_ = nullptr; }
  Packer& operator=(Packer&&) = delete;

  // Compresses a body of `size` bytes into `out`, which has room for as many. Returns how many it takes, or 0 when that
  // does not make it smaller.
  std::size_t Pack(const unsigned char* data, std::size_t size, unsigned char* out);

 private:
  struct ZstdContext;
  ZstdContext* context_ = nullptr;
};

}  // namespace gprof
