#include "trace/unpack.h"

#include <zstd.h>

namespace gprof {

struct Unpacker::ZstdContext {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~ZstdContext() { ZSTD_freeDCtx(zstd); }
};

Unpacker::~Unpacker() {
  delete context_;
}

bool Unpacker::Unpack(const unsigned char* data, std::size_t size, std::size_t unpacked_bytes,
                      std::vector<unsigned char>* out) {
  if (context_ == nullptr) context_ = new ZstdContext;
  out->resize(unpacked_bytes);
  const std::size_t got = ZSTD_decompressDCtx(context_->zstd, out->data(), unpacked_bytes, data, size);
  return ZSTD_isError(got) == 0 && got == unpacked_bytes;
}

std::string Pack(const unsigned char* data, std::size_t size) {
  constexpr int kLevel = 3;
  std::string out(ZSTD_compressBound(size), '\0');
  const std::size_t got = ZSTD_compress(out.data(), out.size(), data, size, kLevel);
  if (ZSTD_isError(got) != 0 || got >= size) return {};
  out.resize(got);
  return out;
}

}  // namespace gprof
