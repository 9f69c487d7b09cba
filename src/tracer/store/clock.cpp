#include "tracer/store/clock.h"

#include <cstring>

#include "tracer/store/memory/arena.h"
#include "tracer/system/proc_file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gprof::tracer {

bool clock_uses_counter GPROF_IN_ARENA = false;

namespace {

constinit ClockMap stamp_clock GPROF_IN_ARENA;

// The name that the kernel gives to the counter as a clock, and whether it runs at one pace.
#if defined(__x86_64__)
constexpr char kClockSource[] = "tsc";
bool IsSteady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
#elif defined(__aarch64__)
constexpr char kClockSource[] = "arch_sys_counter";
bool IsSteady() { return true; }  // by its definition
#else
constexpr char kClockSource[] = "none";
bool IsSteady() { return false; }
#endif

}  // namespace

ClockMap& StampClock() { return stamp_clock; }

void ChooseClock() {
  // The kernel has checked that the counters of all cores agree before it takes them for its own clock.
  constexpr std::size_t kLength = sizeof kClockSource - 1;
  char source[32];
  const auto n =
      ReadProcFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
  clock_uses_counter =
      IsSteady() && n >= static_cast<ssize_t>(kLength) && std::memcmp(source, kClockSource, kLength) == 0;
}

Anchor ReadAnchor() {
  constexpr int kAttempts = 12;
  Anchor best;
  for (int i = 0; i < kAttempts; ++i) {
    const uint64_t before = MonotonicNs();
    const uint64_t stamp = Stamp();
    const uint64_t realtime = RealtimeNs();
    const uint64_t after = MonotonicNs();
    if (i > 0 && after - before >= best.uncertainty_ns) continue;
    // The readings lie about a third and two thirds into the bracket.
    const uint64_t third = (after - before) / 3;
    best = {stamp, before + third, realtime - third, after - before};
  }
  if (!clock_uses_counter) best.stamp = best.monotonic_ns;
  return best;
}

void ClockMap::Add(const Anchor& anchor) {
  if (count_ > 0 && anchor.stamp <= At(count_ - 1).stamp) return;
  if (count_ == kAnchors) {
    first_ = (first_ + 1) % kAnchors;
    --count_;
  }
  anchors_[(first_ + count_) % kAnchors] = anchor;
  ++count_;
}

uint64_t ClockMap::ToNs(uint64_t stamp) const {
  if (!clock_uses_counter || count_ == 0) return stamp;
  if (count_ == 1) return At(0).monotonic_ns;
  uint32_t i = count_ - 2;  // nearly always right: rows are young
  while (i > 0 && stamp < At(i).stamp) --i;
  const Anchor& a = At(i);
  const Anchor& b = At(i + 1);
  const double slope = static_cast<double>(b.monotonic_ns - a.monotonic_ns) / static_cast<double>(b.stamp - a.stamp);
  const double ns = static_cast<double>(static_cast<int64_t>(stamp - a.stamp)) * slope;
  return a.monotonic_ns + static_cast<uint64_t>(static_cast<int64_t>(ns));
}

uint64_t ClockMap::ToStamp(uint64_t ns) const {
  if (!clock_uses_counter || count_ < 2) return ns;
  const Anchor& a = At(count_ - 2);
  const Anchor& b = At(count_ - 1);
  const double slope = static_cast<double>(b.stamp - a.stamp) / static_cast<double>(b.monotonic_ns - a.monotonic_ns);
  return a.stamp + static_cast<uint64_t>(
                       static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(ns - a.monotonic_ns)) * slope));
}

}  // namespace gprof::tracer
