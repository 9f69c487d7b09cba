// What a device could compute at most: operations of its units in a clock, by type, times its highest clock.
#pragma once

#include <cstdint>
#include <string_view>

#include "gprof/trace.h"

namespace gprof {

// What the multiplications of a kernel or library call are done in.
enum class MathType : uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kFp4, kInt8, kOther };

std::string_view NameOf(MathType type);

// Dense floating-point (or integer) operations per second, a multiply-add counted as two, on tensor cores where the
// device has them for the type. 0 where it is not known.
double PeakOperationsPerSecond(const Device& device, MathType type);

// How many times as many operations of `type` as of `base` a device does at its peak, which asks for no clock: captures
// of other tools seldom have one. 0 where it is not known.
double PeakRatio(const Device& device, MathType type, MathType base);

}  // namespace gprof
