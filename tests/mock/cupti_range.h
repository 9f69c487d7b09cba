// What the range profiler of the libcupti double has with the rest of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hub.h"

namespace mock {

inline constexpr uint64_t kRangeMagic = 0x52414e4745530000;

struct RangeKernel {
  uint64_t blocks, duration_ns;
  bool is_whole;        // all passes were made
  uint64_t passes = 0;  // a bit for each that was made, with application replay over several runs
  uint64_t name = 0;    // of a pushed range, or the number of one that is not
};

bool IsRangeImage(const uint8_t* image);
// False: there is no such range.
bool RangeValues(const uint8_t* image, size_t range, const char* const* metrics, size_t count, double* values);
// Kernels are being measured one by one.
bool AreKernelsMeasured();
// MOCK_UNKNOWN_METRICS: the chip does not have it.
bool IsUnknown(const std::string& metric);
// The device runs it.
void NoteRangeKernel(const Op& op);

}  // namespace mock
