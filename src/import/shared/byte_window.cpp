#include "import/shared/byte_window.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "gprof/error.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kMaxValueBytes = 256 * kMiB;
// Traces pack 10 to 40 times; what packs so much better is no trace.
constexpr uint64_t kSuspiciousBytes = 256 * uint64_t{kMiB}, kMaxRatio = 300;
constexpr std::size_t kMaxInputBytes = 1 << 30;  // zlib counts in 32 bits
constexpr std::string_view kGzipMagic = "\x1F\x8B"sv;

}  // namespace

void ByteWindow::Closer::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

ByteWindow::ByteWindow(std::string_view packed, std::size_t step_bytes, MemoryBudget* budget)
    : packed_(packed), budget_(budget), file_bytes_(packed.size()), step_bytes_(step_bytes) {
  if (!packed.starts_with(kGzipMagic)) {
    bytes_ = packed;
    return;
  }
  stream_.reset(new z_stream_s{});
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(stream_.get(), kGzip) != Z_OK) throw Error(ExitCode::kUnreadable, "zlib cannot start");
  More();
}

ByteWindow::~ByteWindow() = default;

bool ByteWindow::More() {
  if (stream_ == nullptr) return false;
  if (bytes_.size() > kMaxValueBytes) {
    throw Error(ExitCode::kUnreadable, fmt::format("a JSON value is larger than {} MiB", kMaxValueBytes / kMiB));
  }
  Reserve(2 * bytes_.size() + step_bytes_);
  char* const begin = buffer_.get();
  if (!bytes_.empty()) std::memmove(begin, bytes_.data(), bytes_.size());
  const std::size_t kept = bytes_.size();
  const std::size_t added = Unpack(begin + kept, capacity_ - kept);
  bytes_ = {begin, kept + added};
  CheckSize();
  return added > 0;
}

void ByteWindow::Reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  if (budget_ != nullptr) budget_->Take(capacity);  // the smaller one is there until its bytes were copied
  std::unique_ptr<char[]> larger(new char[capacity]);
  if (!bytes_.empty()) std::memcpy(larger.get(), bytes_.data(), bytes_.size());
  bytes_ = {larger.get(), bytes_.size()};
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

std::size_t ByteWindow::Unpack(char* to, std::size_t room) {
  char* at = to;
  while (at < to + room && UnpackSome(&at, to + room)) {
  }
  return static_cast<std::size_t>(at - to);
}

bool ByteWindow::UnpackSome(char** to, char* end) {
  z_stream_s& stream = *stream_;
  const std::size_t input = std::min(packed_.size(), kMaxInputBytes);
  // zlib does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data()));
  stream.avail_in = static_cast<uInt>(input);
  stream.next_out = reinterpret_cast<Bytef*>(*to);
  stream.avail_out = static_cast<uInt>(std::min<std::size_t>(static_cast<std::size_t>(end - *to), kMaxInputBytes));
  const int status = inflate(&stream, Z_NO_FLUSH);
  packed_.remove_prefix(input - stream.avail_in);
  *to = reinterpret_cast<char*>(stream.next_out);
  if (status == Z_OK) return true;
  // Files may be several packed files one after the other; what follows else is padding.
  if (status == Z_STREAM_END && packed_.starts_with(kGzipMagic)) return inflateReset(&stream) == Z_OK;
  if (status == Z_BUF_ERROR && *to == end) return true;
  if (status == Z_BUF_ERROR) damage_ = "the compressed file is truncated";
  if (status != Z_BUF_ERROR && status != Z_STREAM_END) damage_ = "the compressed file is damaged";
  stream_.reset();
  return false;
}

void ByteWindow::CheckSize() const {
  if (stream_ == nullptr || unpacked_bytes() < kSuspiciousBytes) return;
  if (unpacked_bytes() / kMaxRatio <= file_bytes_ - packed_.size()) return;  // several packed files, maybe
  throw Error(ExitCode::kUnreadable,
              fmt::format("the file unpacks to more than {} times its size, so it is not a trace", kMaxRatio),
              "unpack it with gzip -d and use the result");
}

}  // namespace gprof
