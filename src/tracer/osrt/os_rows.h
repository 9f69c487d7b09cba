// Rows of calls that took long, as the threads that made them write them.
#pragma once

#include <cstdint>

#include "tracer/store/log_rows.h"

namespace gprof::tracer {

// What the number in a row says. Which one it is depends on the call, not on the function alone.
enum class OsDetail : uint8_t {
  kNothing = 0,
  kAddress = 1,     // of a lock
  kDescriptor = 2,  // number << 32 | bytes
  kName = 3,        // id of a name << 32 | bytes
  kLength = 4,      // of memory
  kProcess = 5,     // its id
  kSocket = 6       // as kDescriptor
};

struct OsCallRow {
  RowHeader header;   // flags: number of the function
  uint32_t duration;  // packed
  uint64_t start;     // stamp
  uint64_t what;      // number << 12 | OsDetail << 8 | error
};
static_assert(sizeof(OsCallRow) == 24);

// Of a wait for a lock that another thread had, or of a caller whose stack is known.
struct LongOsCallRow {
  OsCallRow row;
  uint32_t other_tid, stack;  // 0: not known
  uint32_t waker_stack, unused;
};
static_assert(sizeof(LongOsCallRow) == 40);

inline constexpr uint32_t kErrorBits = 8, kDetailBits = 4;

constexpr uint64_t PackWhat(OsDetail detail, uint64_t number, uint32_t error) {
  return number << (kErrorBits + kDetailBits) | static_cast<uint64_t>(detail) << kErrorBits | (error & 0xff);
}
constexpr uint64_t NumberOf(uint64_t what) { return what >> (kErrorBits + kDetailBits); }
constexpr OsDetail DetailOf(uint64_t what) {
  return static_cast<OsDetail>(what >> kErrorBits & ((1u << kDetailBits) - 1));
}
constexpr uint32_t ErrorOf(uint64_t what) { return static_cast<uint32_t>(what & 0xff); }

}  // namespace gprof::tracer
