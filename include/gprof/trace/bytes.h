// Bounded writing and reading of bytes; neither ever touches memory outside what it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gprof::trace {

constexpr uint64_t ZigZag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
constexpr int64_t UnZigZag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

// Bytes of a varint (LEB128): seven bits a byte, ten bytes at most.
constexpr uint32_t VarintBytes(uint64_t v) {
  const int bits = 64 - __builtin_clzll(v | 1);
  return static_cast<uint32_t>((bits + 6) / 7);
}

// Writes into memory of the caller; what does not fit is dropped and remembered in `overflow`.
class ByteWriter {
 public:
  ByteWriter(unsigned char* data, std::size_t capacity) : begin_(data), next_(data), end_(data + capacity) {}

  void Byte(uint8_t v) {
    if (next_ == end_) return Overflow();
    *next_++ = v;
  }
  void Varint(uint64_t v) {
    if (static_cast<std::size_t>(end_ - next_) < VarintBytes(v)) return Overflow();
    while (v >= 0x80) {
      *next_++ = static_cast<unsigned char>(v | 0x80);
      v >>= 7;
    }
    *next_++ = static_cast<unsigned char>(v);
  }
  void Bytes(const void* data, std::size_t size) {
    if (static_cast<std::size_t>(end_ - next_) < size) return Overflow();
    if (size != 0) std::memcpy(next_, data, size);
    next_ += size;
  }

  bool overflow() const { return overflow_; }
  std::size_t size() const { return static_cast<std::size_t>(next_ - begin_); }

 private:
  void Overflow() {
    overflow_ = true;
    next_ = end_;
  }
  unsigned char* begin_;
  unsigned char* next_;
  unsigned char* end_;
  bool overflow_ = false;
};

// Reads memory of the caller; past the end every read answers 0 and `failed` is set.
class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const unsigned char* data, std::size_t size) : next_(data), end_(data + size) {}

  uint8_t Byte() {
    if (next_ == end_) return Fail();
    return *next_++;
  }
  uint64_t Varint() {
    if (next_ != end_ && *next_ < 0x80) return *next_++;
    return LongVarint();
  }
  const unsigned char* Bytes(std::size_t size) {
    if (static_cast<std::size_t>(end_ - next_) < size) {
      Fail();
      return nullptr;
    }
    const unsigned char* at = next_;
    next_ += size;
    return at;
  }

  bool failed() const { return failed_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  const unsigned char* next() const { return next_; }

 private:
  uint64_t LongVarint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (next_ == end_) return Fail();
      const unsigned char b = *next_++;
      v |= static_cast<uint64_t>(b & 0x7F) << shift;
      if (b < 0x80) return v;
    }
    return Fail();
  }
  uint8_t Fail() {
    failed_ = true;
    next_ = end_;
    return 0;
  }
  const unsigned char* next_ = nullptr;
  const unsigned char* end_ = nullptr;
  bool failed_ = false;
};

}  // namespace gprof::trace
