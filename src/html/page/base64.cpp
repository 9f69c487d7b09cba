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

}  // namespace gprof
