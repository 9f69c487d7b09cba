// What keeps the clocks of a GPU down, as the driver says it.
#pragma once

#include <cstdint>
#include <string_view>

namespace gprof {

enum class LimitKind : uint8_t { kPower, kHeat, kSetting };  // kHeat: and all else that the hardware does by itself

struct ClockReason {
  int64_t bit;               // of nvmlDeviceGetCurrentClocksEventReasons
  std::string_view counter;  // of the time, as src/collect/gpu/nvml.cpp names it; empty: the driver counts none
  std::string_view name;
  LimitKind kind;
};
// Of several at one time the first one counts: what is most pressing.
inline constexpr ClockReason kClockReasons[] = {
    {0x40, "held down by heat, in hardware", "heat (hardware)", LimitKind::kHeat},
    {0x80, "held down by power brake", "power brake", LimitKind::kPower},
    {0x8, "", "hardware slow-down", LimitKind::kHeat},
    {0x20, "held down by heat", "heat", LimitKind::kHeat},
    {0x4, "held down by power", "power limit", LimitKind::kPower},
    {0x10, "", "sync boost", LimitKind::kSetting},
    {0x100, "", "display clocks", LimitKind::kSetting},
    {0x2, "", "application clocks", LimitKind::kSetting},
};

}  // namespace gprof
