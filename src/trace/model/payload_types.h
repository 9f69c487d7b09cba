// The predefined types of NVTX payload entries (nvtx3/nvToolsExtPayload.h): how long they are and how their bytes read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gprof::payload {

// Numbers of the NVTX headers, which belong to its ABI.
inline constexpr uint64_t kEntryPointer = 1u << 1;
inline constexpr uint64_t kEntryOffsetFromBase = 1u << 2, kEntryOffsetFromHere = 1u << 3;
inline constexpr uint64_t kEntryArrayMask = 7u << 4;
inline constexpr uint64_t kEntryFixedArray = 1u << 4, kEntryZeroTerminated = 2u << 4, kEntryLengthIndex = 3u << 4;
inline constexpr uint64_t kEntryHide = 1u << 9;

inline constexpr uint32_t kSchemaStatic = 1, kSchemaDynamic = 2;

inline constexpr uint64_t kTypeReferenced = 1022, kTypeRaw = 1023;
inline constexpr uint64_t kFirstSchema = 1u << 24;  // smaller numbers are predefined types

enum class TypeClass : uint8_t { kUnknown, kUnsigned, kSigned, kFloat, kChar, kByte, kString, kHex };

struct TypeInfo {
  TypeClass type_class = TypeClass::kUnknown;
  uint8_t size_bytes = 0;  // of strings: of a character
};

// kUnknown for types that this build does not know.
TypeInfo InfoOfType(uint64_t type);

// The first `size` bytes (at most 8) of `bytes` as a number; shorter signed ones are extended.
uint64_t ReadUnsigned(std::string_view bytes);
int64_t ReadSigned(std::string_view bytes);
// float or double by their length.
double ReadFloat(std::string_view bytes);

// 0x and the bytes as one number, most significant first.
std::string Hex(std::string_view bytes);
// Characters of 1, 2 or 4 bytes as UTF-8, up to the first that is 0, cut where they are too many to be read.
std::string ReadText(std::string_view bytes, std::size_t char_bytes);

}  // namespace gprof::payload
