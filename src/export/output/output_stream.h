// Bytes of an export on their way out: collected, compressed where that is asked for, and handed on in blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace gprof {

class OutputStream {
 public:
  // Takes the bytes; throws what ends the export (Error for a full disk).
  using Sink = std::function<void(std::string_view)>;

  OutputStream(Sink sink, bool is_compressed);
  ~OutputStream();
  OutputStream(const OutputStream&) = delete;
  OutputStream& operator=(const OutputStream&) = delete;

  void Write(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBlockBytes) Flush();
  }
  // Once, at the end: nothing is whole before.
  void Finish() { Flush(true); }

 private:
  class Gzip;
  static constexpr std::size_t kBlockBytes = 1 << 18;
  void Flush(bool is_end = false);

  Sink sink_;
  std::unique_ptr<Gzip> gzip_;
  std::string buffer_;
};

}  // namespace gprof
