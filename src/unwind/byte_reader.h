// Reading bytes that nobody vouches for: whatever is beyond their end is 0, and the reader says that it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace gprof {

using Bytes = std::span<const unsigned char>;

class ByteReader {
 public:
  // `address`: what the first byte is called where addresses are relative to their own place.
  explicit ByteReader(Bytes bytes, uint64_t address = 0) : bytes_(bytes), address_(address) {}

  bool is_bad() const { return is_bad_; }
  bool AtEnd() const { return is_bad_ || at_ >= bytes_.size(); }
  std::size_t position() const { return at_; }
  uint64_t address() const { return address_ + at_; }

  template <class T>
  T Take() {
    T value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Bytes TakeBytes(uint64_t size) {
    if (!Has(size)) return {};
    const Bytes part = bytes_.subspan(at_, size);
    at_ += size;
    return part;
  }
  Bytes Rest() { return TakeBytes(bytes_.size() - at_); }
  // Up to a 0 byte.
  std::string_view TakeText() {
    const std::size_t from = at_;
    while (Take<unsigned char>() != 0) {
    }
    return is_bad_ ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(bytes_.data()) + from, at_ - 1 - from);
  }
  uint64_t Uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = Take<unsigned char>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80u) == 0) return value;
    }
  }
  int64_t Sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = Take<unsigned char>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80u) != 0) continue;
      if (shift < 64 && (byte & 0x40u) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
  }
  // A pointer as .eh_frame and .eh_frame_hdr have them. `data` is the address of the section.
  uint64_t Pointer(uint8_t encoding, uint64_t data = 0);

 private:
  bool Has(uint64_t size) {
    is_bad_ |= size > bytes_.size() - at_;
    return !is_bad_;
  }

  Bytes bytes_;
  uint64_t address_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
};

inline constexpr uint8_t kPointerOmitted = 0xff;

inline uint64_t ByteReader::Pointer(uint8_t encoding, uint64_t data) {
  constexpr uint8_t kIndirect = 0x80, kRelativeToPlace = 0x10, kRelativeToData = 0x30;
  if (encoding == kPointerOmitted) return 0;
  const uint64_t place = address();
  uint64_t value = 0;
  switch (encoding & 0x0fu) {
    case 0x01:
      value = Uleb();
      break;
    case 0x02:
      value = Take<uint16_t>();
      break;
    case 0x03:
      value = Take<uint32_t>();
      break;
    case 0x09:
      value = static_cast<uint64_t>(Sleb());
      break;
    case 0x0a:
      value = static_cast<uint64_t>(int64_t{Take<int16_t>()});
      break;
    case 0x0b:
      value = static_cast<uint64_t>(int64_t{Take<int32_t>()});
      break;
    case 0x00:
    case 0x04:
    case 0x0c:
      value = Take<uint64_t>();
      break;
    default:
      is_bad_ = true;
  }
  const auto relative = static_cast<uint8_t>(encoding & 0x70u);
  if (relative == kRelativeToPlace) value += place;
  if (relative == kRelativeToData) value += data;
  // What is stored elsewhere is filled in by the dynamic linker: a file does not have it.
  if ((encoding & kIndirect) != 0 || (relative != 0 && relative != kRelativeToPlace && relative != kRelativeToData)) {
    value = 0;
  }
  return value;
}

}  // namespace gprof
