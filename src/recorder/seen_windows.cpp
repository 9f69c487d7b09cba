#include "recorder/seen_windows.h"

#include <algorithm>

namespace gprof {
namespace {

constexpr uint64_t kSeamNs = 1'000'000;  // between a window and the base level after it
constexpr std::size_t kMostSpans = 256;

}  // namespace

void SeenWindows::Take(const trace::CaptureRecord& row) {
  if (row.trigger != static_cast<uint8_t>(trace::CaptureTrigger::kWindow)) return;
  if (row.event == static_cast<uint8_t>(trace::CaptureEvent::kStart)) {
    if (first_ns_ == 0) first_ns_ = row.time_ns;
    since_ns_ = row.time_ns;
    is_open_ = true;
    ++sums_.windows;
  } else if (is_open_) {
    is_open_ = false;
    has_pauses_ = true;
    sums_.window_ns += row.time_ns - std::min(since_ns_, row.time_ns);
    Add({since_ns_, row.time_ns});
  }
}

void SeenWindows::Take(const trace::BaseTimeRecord& row) {
  sums_.base_ns += row.duration_ns;
  Add({row.start_ns, row.start_ns + row.duration_ns});
}

void SeenWindows::Add(Span span) {
  const auto is_before = [&](const Span& other) { return other.until_ns + kSeamNs < span.from_ns; };
  auto at = std::partition_point(spans_.begin(), spans_.end(), is_before);
  while (at != spans_.end() && at->from_ns <= span.until_ns + kSeamNs) {
    span.from_ns = std::min(span.from_ns, at->from_ns);
    span.until_ns = std::max(span.until_ns, at->until_ns);
    at = spans_.erase(at);
  }
  spans_.insert(at, span);
  if (spans_.size() > kMostSpans) spans_.pop_front();
}

SeenWindows::Covered SeenWindows::Covers(uint64_t from_ns, uint64_t until_ns) const {
  if (!has_pauses_ && !is_open_) return Covered::kYes;
  if (is_open_ && from_ns >= since_ns_) return Covered::kYes;
  const auto is_over = [&](const Span& span) { return span.until_ns < from_ns; };
  const auto at = std::partition_point(spans_.begin(), spans_.end(), is_over);
  if (at == spans_.end()) return Covered::kNotYet;
  if (at->from_ns > from_ns) return Covered::kNo;
  if (at->until_ns >= until_ns) return Covered::kYes;
  if (is_open_ && at->until_ns + kSeamNs >= since_ns_) return Covered::kYes;
  return at + 1 == spans_.end() ? Covered::kNotYet : Covered::kNo;
}

SeenWindows::Sums SeenWindows::Until(uint64_t now_ns) const {
  Sums sums = sums_;
  if (is_open_ && now_ns > since_ns_) sums.window_ns += now_ns - since_ns_;
  sums.all_ns = first_ns_ != 0 && now_ns > first_ns_ ? now_ns - first_ns_ : 0;
  return sums;
}

}  // namespace gprof
