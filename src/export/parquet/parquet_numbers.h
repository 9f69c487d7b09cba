// Numbers that the Parquet format gives to types, encodings and pages.
#pragma once

#include <cstdint>

namespace gprof::parquet {

inline constexpr int32_t kBoolean = 0, kInt64 = 2, kDouble = 5, kByteArray = 6;  // types
inline constexpr int32_t kUtf8 = 0, kUint64 = 14;                                // what they stand for
inline constexpr int32_t kOptional = 1;                                          // a value may be absent
inline constexpr int32_t kPlain = 0, kRle = 3, kRleDictionary = 8;               // encodings
inline constexpr int32_t kDataPage = 0, kDictionaryPage = 2;
inline constexpr int32_t kZstd = 6;
inline constexpr int32_t kVersion = 2;

}  // namespace gprof::parquet
