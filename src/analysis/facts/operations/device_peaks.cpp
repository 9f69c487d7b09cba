#include "analysis/facts/operations/device_peaks.h"

#include <algorithm>
#include <iterator>

namespace gprof {
namespace {

// Of one SM in one clock, from NVIDIA's architecture papers: the figures of the data sheets divided by the number of
// SMs and the clock they are given for. Where products of one architecture differ, those of data centres. 0: the type
// is unknown to its tensor cores, or not told apart.
struct SmPeaks {
  uint32_t compute;  // 10 x major + minor
  uint32_t fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8;
};
constexpr SmPeaks kPeaks[] = {
    {70, 64, 128, 0, 1024, 0, 0, 0, 0},
    {75, 4, 128, 0, 1024, 0, 0, 0, 2048},
    {80, 128, 128, 1024, 2048, 2048, 0, 0, 4096},
    {86, 4, 256, 512, 1024, 1024, 0, 0, 2048},
    {89, 4, 256, 512, 1024, 1024, 2048, 0, 2048},
    {90, 256, 256, 2048, 4096, 4096, 8192, 0, 8192},
    {100, 128, 256, 4096, 8192, 8192, 16384, 32768, 16384},
    {103, 4, 256, 4096, 8192, 8192, 16384, 49152, 0},
    {120, 4, 256, 512, 1024, 1024, 2048, 4096, 2048},
};

uint32_t OfSm(const SmPeaks& peaks, MathType type) {
  switch (type) {
    case MathType::kFp64:
      return peaks.fp64;
    case MathType::kFp32:
      return peaks.fp32;
    case MathType::kTf32:
      return peaks.tf32;
    case MathType::kFp16:
      return peaks.fp16;
    case MathType::kBf16:
      return peaks.bf16;
    case MathType::kFp8:
      return peaks.fp8;
    case MathType::kFp4:
      return peaks.fp4;
    case MathType::kInt8:
      return peaks.int8;
    case MathType::kOther:
      return 0;
  }
  return 0;
}

uint32_t InOneClock(const Device& device, MathType type) {
  const uint32_t compute = 10 * device.properties.compute_major + device.properties.compute_minor;
  const auto is_its = [&](const SmPeaks& peaks) { return peaks.compute == compute; };
  const auto peaks = std::find_if(std::begin(kPeaks), std::end(kPeaks), is_its);
  return peaks == std::end(kPeaks) ? 0 : OfSm(*peaks, type);
}

}  // namespace

std::string_view NameOf(MathType type) {
  constexpr std::string_view kNames[] = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "other"};
  return kNames[static_cast<std::size_t>(type)];
}

double PeakOperationsPerSecond(const Device& device, MathType type) {
  return 1e3 * InOneClock(device, type) * device.properties.sm_count * device.properties.sm_clock_khz;
}

double PeakRatio(const Device& device, MathType type, MathType base) {
  const uint32_t of_base = InOneClock(device, base);
  return of_base == 0 ? 0 : static_cast<double>(InOneClock(device, type)) / of_base;
}

}  // namespace gprof
