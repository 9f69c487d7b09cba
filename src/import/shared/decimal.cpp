#include "import/shared/decimal.h"

#include <charconv>
#include <limits>

namespace gprof {
namespace {

constexpr int kMaxExponent = 1000;

struct Parts {
  uint64_t digits = 0;
  int exponent = 0;  // of 10
  bool is_negative = false;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits beyond what 64 bits hold are dropped.
void AddDigit(char c, bool is_fraction, Parts* parts) {
  constexpr uint64_t kFull = (std::numeric_limits<uint64_t>::max() - 9) / 10;
  if (parts->digits > kFull) {
    if (!is_fraction && parts->exponent < kMaxExponent) ++parts->exponent;
    return;
  }
  parts->digits = parts->digits * 10 + static_cast<uint64_t>(c - '0');
  if (is_fraction) --parts->exponent;
}

bool ReadExponent(std::string_view text, Parts* parts) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (stop != text.data() + text.size() || text.empty()) return false;
  if (status != std::errc() || exponent > kMaxExponent || exponent < -kMaxExponent) return false;
  parts->exponent += exponent;
  return true;
}

bool ReadParts(std::string_view text, Parts* parts) {
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) parts->is_negative = text[at++] == '-';
  const std::size_t first = at;
  while (at < text.size() && IsDigit(text[at])) AddDigit(text[at++], false, parts);
  std::size_t count = at - first;
  if (at < text.size() && text[at] == '.') {
    ++at;
    for (; at < text.size() && IsDigit(text[at]); ++count) AddDigit(text[at++], true, parts);
  }
  if (count == 0) return false;
  if (at == text.size()) return true;
  return (text[at] == 'e' || text[at] == 'E') && ReadExponent(text.substr(at + 1), parts);
}

}  // namespace

std::optional<int64_t> ReadDecimal(std::string_view text, int shift) {
  Parts parts;
  if (!ReadParts(text, &parts)) return {};
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t value = parts.digits;
  int exponent = parts.exponent + shift;
  for (; exponent > 0 && value != 0; --exponent) {
    if (value > kMost / 10) return {};
    value *= 10;
  }
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent == -1) value = value / 10 + (value % 10 >= 5 ? 1 : 0);
  if (value > kMost) return {};
  return parts.is_negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
}

std::optional<uint64_t> ReadBits(std::string_view text) {
  uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, bits);
  if (stop == end && status == std::errc()) return bits;
  const std::optional<int64_t> number = ReadDecimal(text);
  if (!number) return {};
  return static_cast<uint64_t>(*number);
}

}  // namespace gprof
