#include "html/page/base64.h"

#include <cstdint>

namespace gprof {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char Digit(uint32_t bits) { return kDigits[bits & 63]; }

uint32_t Byte(char c) { return static_cast<unsigned char>(c); }

void AddThree(const char* bytes, std::string* out) {
  const uint32_t bits = Byte(bytes[0]) << 16 | Byte(bytes[1]) << 8 | Byte(bytes[2]);
  out->append({Digit(bits >> 18), Digit(bits >> 12), Digit(bits >> 6), Digit(bits)});
}

// What HTML does not leave alone in a script: NUL, carriage return and <.
constexpr std::string_view kReserved("\0\r<", 3);
constexpr uint32_t kPairs = 0x100;                                     // a reserved character and the one after it
constexpr uint32_t kLast = kPairs + 128 * uint32_t{kReserved.size()};  // a reserved character that is the last one

void AppendTwoBytes(uint32_t code, std::string* out) {
  out->append({static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))});
}

}  // namespace

void Base64::Add(std::string_view bytes, std::string* out) {
  while (!rest_.empty() && rest_.size() < 3 && !bytes.empty()) {
    rest_ += bytes.front();
    bytes.remove_prefix(1);
  }
  if (rest_.size() == 3) {
    AddThree(rest_.data(), out);
    rest_.clear();
  }
  for (; bytes.size() >= 3; bytes.remove_prefix(3)) AddThree(bytes.data(), out);
  rest_ += bytes;
}

void Base64::Finish(std::string* out) {
  if (rest_.empty()) return;
  const std::size_t size = rest_.size();
  rest_.resize(3, '\0');
  AddThree(rest_.data(), out);
  for (std::size_t i = size; i < 3; ++i) (*out)[out->size() - 3 + i] = '=';
  rest_.clear();
}

void Septets::Append(uint32_t septet, std::string* out) {
  if (reserved_ != 0) {
    AppendTwoBytes(kPairs + 128 * (reserved_ - 1) + septet, out);
    reserved_ = 0;
  } else if (const auto at = kReserved.find(static_cast<char>(septet)); at != std::string_view::npos) {
    reserved_ = static_cast<uint32_t>(at) + 1;
  } else {
    *out += static_cast<char>(septet);
  }
}

void Septets::Add(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) {
    held_ = held_ << 8 | static_cast<unsigned char>(byte);
    count_ += 8;
    while (count_ >= 7) {
      count_ -= 7;
      Append(held_ >> count_ & 127, out);
    }
    held_ &= (1U << count_) - 1;
  }
}

void Septets::Finish(std::string* out) {
  if (count_ != 0) Append(held_ << (7 - count_) & 127, out);
  if (reserved_ != 0) AppendTwoBytes(kLast + static_cast<unsigned char>(kReserved[reserved_ - 1]), out);
  *this = {};
}

}  // namespace gprof
