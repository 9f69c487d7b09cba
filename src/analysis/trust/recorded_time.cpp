#include "analysis/trust/recorded_time.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace gprof {
namespace {

std::vector<uint32_t> ProcessesOf(const Trace& trace, Trace::Slice ops) {
  std::vector<uint32_t> processes;
  uint32_t last = kNone;
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    if (trace.ops[i].process == last) continue;
    last = trace.ops[i].process;
    if (std::find(processes.begin(), processes.end(), last) == processes.end()) processes.push_back(last);
  }
  return processes;
}

std::vector<Interval> Union(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::vector<Interval> merged;
  for (const Interval& i : intervals) {
    if (!merged.empty() && i.start_ns <= merged.back().end_ns) {
      merged.back().end_ns = std::max(merged.back().end_ns, i.end_ns);
    } else {
      merged.push_back(i);
    }
  }
  return merged;
}

// From the first to the last operation on the device of the processes that lived at the same time. What lies between
// two programs that ran one after the other belongs to neither: one ends, the other starts.
std::vector<Interval> WindowsOfPrograms(const Trace& trace, Trace::Slice ops) {
  std::vector<Interval> windows(trace.processes.size(), {INT64_MAX, INT64_MIN});
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    const PackedOps::Item& item = trace.ops.items()[i];
    const uint32_t process = trace.ops.TraitsOf(item).process;
    if (process == kNone) return {};
    windows[process].start_ns = std::min(windows[process].start_ns, item.start_ns());
    windows[process].end_ns = std::max(windows[process].end_ns, trace.ops.EndNs(item));
  }
  std::vector<Interval> lives;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].start_ns > windows[i].end_ns) continue;
    const Process& process = trace.processes[i];
    lives.push_back({std::min(process.start_ns, windows[i].start_ns), std::max(process.end_ns, windows[i].end_ns)});
  }
  lives = Union(std::move(lives));
  std::vector<Interval> programs(lives.size(), {INT64_MAX, INT64_MIN});
  for (const Interval& window : windows) {
    if (window.start_ns > window.end_ns) continue;
    size_t i = 0;
    while (lives[i].end_ns < window.end_ns) ++i;
    programs[i].start_ns = std::min(programs[i].start_ns, window.start_ns);
    programs[i].end_ns = std::max(programs[i].end_ns, window.end_ns);
  }
  return programs;
}

std::vector<Interval> Intersection(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end(); (x->end_ns < y->end_ns ? x : y)++) {
    const Interval part{std::max(x->start_ns, y->start_ns), std::min(x->end_ns, y->end_ns)};
    if (part.start_ns < part.end_ns) both.push_back(part);
  }
  return both;
}

// Where none of the processes is recorded that use the device, although one of them lives, something may be missing.
std::vector<Interval> OfDevice(const Trace& trace, Trace::Slice ops) {
  std::vector<Interval> recorded, lives;
  for (const uint32_t process : ProcessesOf(trace, ops)) {
    if (process == kNone) continue;
    const Interval life{trace.processes[process].start_ns, trace.processes[process].end_ns};
    lives.push_back(life);
    if (RecordedTime::IsRecordedThroughout(trace, process)) recorded.push_back(life);
    const Trace::Slice slice = trace.process_captures[process];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      recorded.push_back({trace.captures[i].start_ns, trace.captures[i].end_ns});
    }
  }
  int64_t dead_from_ns = std::numeric_limits<int64_t>::min();
  for (const Interval& life : Union(std::move(lives))) {
    recorded.push_back({dead_from_ns, life.start_ns});
    dead_from_ns = life.end_ns;
  }
  recorded.push_back({dead_from_ns, std::numeric_limits<int64_t>::max()});
  return Union(std::move(recorded));
}

}  // namespace

RecordedTime::RecordedTime(const Trace& trace)
    : trace_(trace), of_device_(trace.device_ops.size()), is_throughout_(trace.device_ops.size(), 1) {
  const bool is_whole = IsRecordedWhole(trace);
  for (size_t device = 0; device < of_device_.size(); ++device) {
    const Trace::Slice ops = trace.device_ops[device];
    std::vector<Interval> windows;
    if (trace.processes.size() > 1) windows = WindowsOfPrograms(trace, ops);
    is_throughout_[device] = is_whole && windows.size() < 2;
    if (is_throughout_[device] != 0) continue;
    of_device_[device] = OfDevice(trace, ops);
    if (windows.size() > 1) of_device_[device] = Intersection(of_device_[device], windows);
  }
}

int64_t CapturedNs(const Trace& trace) {
  std::vector<Interval> captures;
  for (const Capture& c : trace.captures) captures.push_back({c.start_ns, c.end_ns});
  int64_t sum_ns = 0;
  for (const Interval& i : Union(std::move(captures))) sum_ns += i.DurationNs();
  return sum_ns;
}

bool IsRecordedWhole(const Trace& trace) {
  return std::all_of(trace.captures.begin(), trace.captures.end(), [&](const Capture& c) {
    const Trace::Slice slice = trace.process_captures[c.process];
    return slice.last - slice.first == 1 && c.trigger == trace::CaptureTrigger::kBegin &&
           (c.is_open || c.end_trigger == trace::CaptureTrigger::kEnd);
  });
}

bool HasOnlyWaited(const Trace& trace) {
  // How the tracer ends the text for a process that is recorded throughout (src/tracer/capture/capture_mode.cpp).
  constexpr std::string_view kThroughout = "from the beginning";
  return trace.captures.empty() &&
         std::any_of(trace.processes.begin(), trace.processes.end(), [&](const Process& process) {
           const std::string_view mode = trace.Text(process.capture_mode);
           return !mode.empty() && !mode.ends_with(kThroughout);
         });
}

}  // namespace gprof
