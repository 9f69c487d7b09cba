#include "export/output/output_stream.h"

#define ZLIB_CONST  // zlib does not write to its input, and says so only when asked
#include <zlib.h>

#include <utility>
#include <vector>

#include "gprof/error.h"

namespace gprof {

class OutputStream::Gzip {
 public:
  explicit Gzip(const Sink& sink) : sink_(sink), block_(kBlockBytes) {
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kWindowBits + kGzipHeader, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
      throw Error(ExitCode::kUnreadable, "cannot compress: zlib has no memory");
    }
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void Write(std::string_view bytes, bool is_last) {
    stream_.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = block_.data();
      stream_.avail_out = static_cast<uInt>(block_.size());
      deflate(&stream_, is_last ? Z_FINISH : Z_NO_FLUSH);
      sink_({reinterpret_cast<const char*>(block_.data()), block_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

 private:
  // Twice as fast as the usual 6 for files a few percent larger.
  static constexpr int kLevel = 3;
  static constexpr int kWindowBits = 15, kGzipHeader = 16, kMemoryLevel = 8;
  const Sink& sink_;
  std::vector<Bytef> block_;
  z_stream stream_{};
};

OutputStream::OutputStream(Sink sink, bool is_compressed) : sink_(std::move(sink)) {
  if (is_compressed) gzip_ = std::make_unique<Gzip>(sink_);
}

OutputStream::~OutputStream() = default;

void OutputStream::Flush(bool is_end) {
  if (gzip_) {
    gzip_->Write(buffer_, is_end);
  } else {
    sink_(buffer_);
  }
  buffer_.clear();
}

}  // namespace gprof
