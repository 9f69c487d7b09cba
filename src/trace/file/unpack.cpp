#include "trace/file/unpack.h"

#include <zstd.h>

namespace gprof {

struct Unpacker::ZstdContext {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~ZstdContext() { ZSTD_freeDCtx(zstd); }
};

Unpacker::~Unpacker() { delete context_; }

bool Unpacker::Unpack(const unsigned char* data, std::size_t size, std::size_t unpacked_bytes,
                      std::vector<unsigned char>* out) {
  if (context_ == nullptr) context_ = new ZstdContext;
  out->resize(unpacked_bytes);
  const std::size_t got = ZSTD_decompressDCtx(context_->zstd, out->data(), unpacked_bytes, data, size);
  return ZSTD_isError(got) == 0 && got == unpacked_bytes;
}

struct Packer::ZstdContext {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~ZstdContext() { ZSTD_freeCCtx(zstd); }
};

Packer::~Packer() { delete context_; }

std::size_t Packer::Pack(const unsigned char* data, std::size_t size, unsigned char* out) {
  // Of a trace of PyTorch, level 3 makes 3 % less and takes 2.3 times as long.
  constexpr int kLevel = 1;
  if (size == 0) return 0;
  if (context_ == nullptr) context_ = new ZstdContext;
  const std::size_t got = ZSTD_compressCCtx(context_->zstd, out, size - 1, data, size, kLevel);
  return ZSTD_isError(got) != 0 ? 0 : got;  // as a rule: there was not room enough
}

}  // namespace gprof
