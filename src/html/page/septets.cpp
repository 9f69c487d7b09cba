#include "html/page/septets.h"

namespace gprof {
namespace {

// What HTML does not leave alone in a script: NUL, carriage return and <.
constexpr std::string_view kReserved("\0\r<", 3);
constexpr uint32_t kPairs = 0x100;                                     // a reserved character and the one after it
constexpr uint32_t kLast = kPairs + 128 * uint32_t{kReserved.size()};  // a reserved character that is the last one

void AppendTwoBytes(uint32_t code, std::string* out) {
  out->append({static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))});
}

}  // namespace

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
