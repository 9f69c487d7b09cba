#include <cstdlib>
#include <optional>
#include <string_view>

#include "trace/model/saturating_time.h"
#include "trace/reshape/merge.h"

namespace gprof {
namespace {

constexpr int64_t kSameClockNs = 1'000'000'000;
constexpr uint64_t kMaxDayNs = 4 * kMaxTimeNs;  // the year 2116; the difference of two offsets fits

// Time of day less the clock of the trace, by its most exact clock record.
std::optional<int64_t> DayOffset(const Trace& trace) {
  const trace::ClockRecord* best = nullptr;
  for (const Clock& clock : trace.clocks) {
    const trace::ClockRecord& a = clock.anchor;
    if (a.monotonic_ns == 0 || a.monotonic_ns > kMaxTimeNs) continue;
    if (a.realtime_ns == 0 || a.realtime_ns > kMaxDayNs) continue;
    if (best == nullptr || a.uncertainty_ns < best->uncertainty_ns) best = &a;
  }
  if (best == nullptr) return std::nullopt;
  return static_cast<int64_t>(best->realtime_ns) - static_cast<int64_t>(best->monotonic_ns);
}

// A clock that one or more of the traces were recorded on.
struct HostClock {
  std::string_view host;
  std::optional<int64_t> day_offset_ns;
  bool is_foreign = false;  // its times count from the start of a session of another tool
  ClockShift shift;
};

std::string_view HostOf(const Trace& trace) {
  return trace.processes.empty() ? std::string_view() : trace.Text(trace.processes.front().host);
}

bool IsSameClock(const HostClock& a, const HostClock& b) {
  if (a.host != b.host) return false;
  if (a.is_foreign || b.is_foreign) return a.day_offset_ns && a.day_offset_ns == b.day_offset_ns;
  // Without clock records nothing says that the host was started anew.
  return !a.day_offset_ns || !b.day_offset_ns || std::abs(*a.day_offset_ns - *b.day_offset_ns) <= kSameClockNs;
}

ClockShift ShiftTo(const HostClock& first, const HostClock& clock, int64_t from_start_ns) {
  if (first.day_offset_ns && clock.day_offset_ns) {
    const int64_t shift_ns = *clock.day_offset_ns - *first.day_offset_ns;
    if (std::abs(shift_ns) <= static_cast<int64_t>(kMaxTimeNs)) return {shift_ns, true};
  }
  return {from_start_ns, false};
}

}  // namespace

std::vector<ClockShift> ClockShifts(const std::vector<Trace>& traces) {
  std::vector<HostClock> clocks;
  std::vector<ClockShift> shifts;
  for (const Trace& trace : traces) {
    HostClock clock{HostOf(trace), DayOffset(trace), !trace.recorder.empty(), {}};
    const HostClock* known = nullptr;
    for (const HostClock& c : clocks) {
      if (IsSameClock(c, clock)) known = &c;
      if (known != nullptr) break;
    }
    if (known == nullptr) {
      if (!clocks.empty()) clock.shift = ShiftTo(clocks.front(), clock, traces.front().start_ns - trace.start_ns);
      clocks.push_back(clock);
      known = &clocks.back();
    }
    shifts.push_back(known->shift);
  }
  return shifts;
}

}  // namespace gprof
