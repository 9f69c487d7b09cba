// What the rows of operators look like in the log of a thread. [own thread writes, writer thread or salvage reads]
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/store/log_rows.h"

namespace gprof::tracer {

// The name follows, then the inputs, filled up to whole words.
struct OperatorRow {
  RowHeader header;
  uint16_t name_bytes, input_bytes;
  uint64_t stamp;
  int64_t sequence;  // of autograd, -1 for none
};

// Of the innermost one.
struct OperatorEndRow {
  RowHeader header;
  uint32_t unused;
  uint64_t stamp;
};

// An input is one of these bytes and what is said there. Numbers are 7 bits to a byte, the lowest first; the upper bit
// says that more follow.
enum class OperatorInput : uint8_t {
  kOther = 0,
  kTensor = 1,      // type (a byte), number of sizes, sizes
  kNoTensor = 2,    // one that may be left out, and was
  kScalar = 3,      // a number or a truth value that is not told
  kScalarList = 4,  // the same of several
  kInt = 5,         // 2 * value, or -2 * value - 1 where it is negative
  kFalse = 6,
  kTrue = 7,
  kList = 8,  // number of values, then as many of them as are told
  kCut = 9,   // there are more inputs
};
inline constexpr uint32_t kMostListed = 32;  // values of a list
inline constexpr std::size_t kMostInputBytes = 1536, kMostOperatorNameBytes = 512;

}  // namespace gprof::tracer
