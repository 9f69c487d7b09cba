#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "trace/join/join.h"
#include "trace/join/kept_records.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

// Pairs the starts and stops of one process, which come in order.
class CapturePairing {
 public:
  CapturePairing(Trace& trace, uint32_t process) : trace_(trace), process_(process) {}

  void Take(const CaptureBorder& border) {
    if (border.is_start) {
      if (is_open_) Close(border.time_ns, true);  // its stop was lost, and it was over by now
      Open(border.time_ns, border.number, border.trigger);
      return;
    }
    // A stop without its start: the start was lost, so it was recorded from the first thing that is known.
    if (!is_open_ && has_any_ && trace_.captures.back().number == border.number) return;
    if (!is_open_) Open(has_any_ ? last_end_ns_ : trace_.processes[process_].start_ns, border.number, {});
    trace_.captures.back().end_trigger = border.trigger;
    Close(border.time_ns, false);
  }

  void Finish() {
    if (is_open_) Close(trace_.processes[process_].end_ns, true);
  }

 private:
  void Open(int64_t start_ns, uint32_t number, trace::CaptureTrigger trigger) {
    Capture c;
    c.start_ns = std::max(start_ns, last_end_ns_);
    c.process = process_;
    c.number = number;
    c.trigger = trigger == trace::CaptureTrigger{} ? trace::CaptureTrigger::kBegin : trigger;
    trace_.captures.push_back(c);
    is_open_ = has_any_ = true;
  }

  void Close(int64_t end_ns, bool is_open) {
    Capture& c = trace_.captures.back();
    c.end_ns = std::max(c.start_ns, end_ns);
    c.is_open = is_open;
    last_end_ns_ = c.end_ns;
    is_open_ = false;
  }

  Trace& trace_;
  uint32_t process_;
  int64_t last_end_ns_ = 0;
  bool is_open_ = false, has_any_ = false;
};

// A time of the base level follows a capture, and another one follows it, within so long.
constexpr int64_t kSeamNs = 1'000'000;

std::vector<Capture> WithBaseTimes(const Trace& t, uint32_t process) {
  const Trace::Slice slice = t.process_captures[process];
  std::vector<Capture> all(t.captures.begin() + slice.first, t.captures.begin() + slice.last);
  for (const BaseTime& time : t.base_times) {
    if (time.process != process) continue;
    Capture base;
    base.start_ns = time.start_ns, base.end_ns = time.end_ns, base.process = process;
    base.trigger = base.end_trigger = trace::CaptureTrigger::kWindow;
    all.push_back(base);
  }
  std::stable_sort(all.begin(), all.end(), [](const Capture& a, const Capture& b) { return a.start_ns < b.start_ns; });
  std::vector<Capture> joined;
  for (const Capture& c : all) {
    if (joined.empty() || c.start_ns > joined.back().end_ns + kSeamNs) {
      joined.push_back(c);
      continue;
    }
    joined.back().end_ns = std::max(joined.back().end_ns, c.end_ns);
    joined.back().end_trigger = c.end_trigger, joined.back().is_open = c.is_open;
  }
  return joined;
}

// See CaptureAt.
uint32_t PlaceIn(const std::vector<Capture>& captures, Trace::Slice slice, int64_t time_ns) {
  const auto first = captures.begin() + slice.first, last = captures.begin() + slice.last;
  const auto at = std::partition_point(first, last, [&](const Capture& c) { return c.end_ns <= time_ns; });
  if (at != last) return static_cast<uint32_t>(at - captures.begin());
  return slice.first == slice.last ? kNone : slice.last - 1;
}

bool GoesOn(const Capture& capture) { return !capture.is_open && capture.end_trigger != trace::CaptureTrigger::kEnd; }

}  // namespace

void PairCaptures(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  auto& borders = unjoined.capture_borders;
  std::sort(borders.begin(), borders.end(), [](const CaptureBorder& a, const CaptureBorder& b) {
    return std::make_tuple(a.process, a.time_ns, a.number, !a.is_start) <
           std::make_tuple(b.process, b.time_ns, b.number, !b.is_start);
  });
  std::size_t next = 0;
  for (uint32_t process = 0; process < t.processes.size(); ++process) {
    Trace::Slice slice;
    slice.first = static_cast<uint32_t>(t.captures.size());
    CapturePairing pairing(t, process);
    for (; next < borders.size() && borders[next].process == process; ++next) pairing.Take(borders[next]);
    pairing.Finish();
    slice.last = static_cast<uint32_t>(t.captures.size());
    t.process_captures.push_back(slice);
  }
}

void FindRangeCaptures(UnjoinedTrace& unjoined) {
  const Trace& t = unjoined.trace;
  unjoined.range_captures = t.captures;
  unjoined.process_range_captures = t.process_captures;
  if (t.base_times.empty()) return;
  unjoined.range_captures.clear();
  for (uint32_t process = 0; process < t.processes.size(); ++process) {
    const auto first = static_cast<uint32_t>(unjoined.range_captures.size());
    const std::vector<Capture> joined = WithBaseTimes(t, process);
    unjoined.range_captures.insert(unjoined.range_captures.end(), joined.begin(), joined.end());
    unjoined.process_range_captures[process] = {first, static_cast<uint32_t>(unjoined.range_captures.size())};
  }
}

uint32_t CaptureAt(const Trace& trace, uint32_t process, int64_t time_ns) {
  return PlaceIn(trace.captures, trace.process_captures[process], time_ns);
}

bool GoesOnAfterCapture(const Trace& trace, uint32_t process, int64_t time_ns) {
  const uint32_t capture = CaptureAt(trace, process, time_ns);
  return capture != kNone && GoesOn(trace.captures[capture]);
}

std::optional<int64_t> EndOfRanges(const UnjoinedTrace& unjoined, uint32_t process, int64_t time_ns) {
  const uint32_t at = PlaceIn(unjoined.range_captures, unjoined.process_range_captures[process], time_ns);
  if (at == kNone || !GoesOn(unjoined.range_captures[at])) return std::nullopt;
  return unjoined.range_captures[at].end_ns;
}

int64_t EndOfRecording(const Trace& trace, uint32_t process, int64_t time_ns) {
  return GoesOnAfterCapture(trace, process, time_ns) ? trace.captures[CaptureAt(trace, process, time_ns)].end_ns
                                                     : trace.processes[process].end_ns;
}

LaunchesBefore::LaunchesBefore(const UnjoinedTrace& unjoined)
    : unjoined_(unjoined), lowest_(unjoined.trace.captures.size(), kNone) {
  const Trace& t = unjoined.trace;
  const auto is_from_the_beginning = [](const Capture& c) { return c.trigger == trace::CaptureTrigger::kBegin; };
  if (std::all_of(t.captures.begin(), t.captures.end(), is_from_the_beginning)) {
    lowest_.clear();
    return;
  }
  for (const ApiCall& call : t.api_calls) {
    const uint32_t capture = CaptureAt(t, call.process, call.start_ns);
    if (capture != kNone && call.correlation != 0) lowest_[capture] = std::min(lowest_[capture], call.correlation);
  }
}

bool LaunchesBefore::Has(uint32_t process, uint32_t correlation, int64_t start_ns) const {
  const uint32_t capture = lowest_.empty() ? kNone : CaptureAt(unjoined_.trace, process, start_ns);
  if (capture == kNone || correlation == 0 || unjoined_.correlations[process].count == 0) return false;
  const bool is_from_the_beginning = unjoined_.trace.captures[capture].trigger == trace::CaptureTrigger::kBegin;
  return !is_from_the_beginning && correlation < lowest_[capture];
}

}  // namespace gprof
