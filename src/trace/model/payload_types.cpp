#include "trace/model/payload_types.h"

#include <algorithm>
#include <cstring>

namespace gprof::payload {
namespace {

constexpr TypeClass kU = TypeClass::kUnsigned, kS = TypeClass::kSigned, kF = TypeClass::kFloat, kC = TypeClass::kChar,
                    kH = TypeClass::kHex;

// By type number, 0 to 27: char to char32_t, as the platforms have them that there are tracers for (LP64).
constexpr TypeInfo kBasicTypes[] = {{},       {kC, 1}, {kU, 1}, {kS, 2}, {kU, 2}, {kS, 4}, {kU, 4},
                                    {kS, 8},  {kU, 8}, {kS, 8}, {kU, 8}, {kS, 1}, {kU, 1}, {kS, 2},
                                    {kU, 2},  {kS, 4}, {kU, 4}, {kS, 8}, {kU, 8}, {kF, 4}, {kF, 8},
                                    {kH, 16}, {kU, 8}, {kH, 8}, {kC, 4}, {kC, 1}, {kC, 2}, {kC, 4}};

constexpr std::size_t kMaxTextBytes = 256;
constexpr std::string_view kMore = "…";

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [&](uint32_t bits) { *out += static_cast<char>(bits); };
  if (code < 0x80) return put(code);
  if (code >= 0x800) {
    if (code >= 0x10000) {
      put(0xF0 | (code >> 18 & 0x07));
      put(0x80 | (code >> 12 & 0x3F));
    } else {
      put(0xE0 | code >> 12);
    }
    put(0x80 | (code >> 6 & 0x3F));
  } else {
    put(0xC0 | code >> 6);
  }
  put(0x80 | (code & 0x3F));
}

// Not inside a UTF-8 sequence, so that what is kept can be shown.
void Cut(std::string* text) {
  std::size_t size = kMaxTextBytes;
  while (size > 0 && (static_cast<unsigned char>((*text)[size]) & 0xC0) == 0x80) --size;
  text->resize(size);
  *text += kMore;
}

}  // namespace

TypeInfo InfoOfType(uint64_t type) {
  if (type < std::size(kBasicTypes)) return kBasicTypes[type];
  switch (type) {
    case 32:
      return {TypeClass::kByte, 1};
    case 33:  // 128 bits: integers and floating point
    case 34:
    case 45:
      return {kH, 16};
    case 42:  // half precision of two sorts
    case 50:
      return {kH, 2};
    case 43:
    case 52:  // TF32 is stored as float
      return {kF, 4};
    case 44:
      return {kF, 8};
    case 68:  // category
    case 71:  // process, thread
    case 73:
      return {kU, 4};
    case 69:  // colour
      return {kH, 4};
    case 70:  // scope
    case 72:
    case 74:
      return {kU, 8};
    case 75:  // strings
    case 76:
      return {TypeClass::kString, 1};
    case 77:
      return {TypeClass::kString, 2};
    case 78:
      return {TypeClass::kString, 4};
    case 80:  // handle of a registered string
      return {kH, 8};
    default:
      return {};
  }
}

uint64_t ReadUnsigned(std::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

int64_t ReadSigned(std::string_view bytes) {
  const uint64_t value = ReadUnsigned(bytes);
  if (bytes.empty() || bytes.size() >= sizeof value) return static_cast<int64_t>(value);
  const auto shift = static_cast<unsigned>(64 - 8 * bytes.size());
  return static_cast<int64_t>(value << shift) >> shift;
}

double ReadFloat(std::string_view bytes) {
  if (bytes.size() >= sizeof(double)) {
    double value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return static_cast<double>(value);
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (std::size_t i = bytes.size(); i > 0; --i) {
    const auto byte = static_cast<unsigned char>(bytes[i - 1]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string ReadText(std::string_view bytes, std::size_t char_bytes) {
  std::string text;
  for (std::size_t at = 0; at + char_bytes <= bytes.size() && text.size() <= kMaxTextBytes; at += char_bytes) {
    const auto code = static_cast<uint32_t>(ReadUnsigned(bytes.substr(at, char_bytes)));
    if (code == 0) break;
    if (char_bytes == 1) {
      text += bytes[at];
    } else {
      AppendUtf8(code, &text);
    }
  }
  if (text.size() > kMaxTextBytes) Cut(&text);
  return text;
}

}  // namespace gprof::payload
