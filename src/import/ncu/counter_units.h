// Units of counters as ncu prints them, and their values, in the base units of a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gprof {

struct BaseUnit {
  std::string unit;
  int exponent = 0;  // a value times ten to the power of this is in `unit`
};

// "Gbyte/s" is byte/s with 9, "us" is ns with 3, "Mhz" is hz with 6. Versions of ncu differ in how they write them
// ("Gbyte/second", "usecond", "cycle/nsecond"). Others stay as they are.
BaseUnit BaseUnitOf(std::string_view unit);

struct CounterNumber {
  int64_t value = 0;
  int32_t scale = 0;  // of 10
};

// "1,234.500000" is 12345 with -1. Nothing for what is no finite number.
std::optional<CounterNumber> ReadCounterNumber(std::string_view text);

}  // namespace gprof
