#include "analysis/facts/time/recorded_time.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace gprof {
namespace {

std::vector<uint32_t> ProcessesOf(const Trace& trace, Trace::Slice ops) {
  std::vector<uint32_t> processes;
  uint32_t last = kNone;
  for (uint32_t i = ops.first; i < ops.last; ++i) {
    if (trace.ops[i].process == last) continue;
    last = trace.ops[i].process;
    if (std::ranges::find(processes, last) == processes.end()) processes.push_back(last);
  }
  return processes;
}

std::vector<Interval> Union(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::start_ns);
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

// What is left of `all`, which is in order, without the times in which GPU work of the process was not recorded.
std::vector<Interval> WithoutGpuPauses(const Trace& trace, uint32_t process, std::vector<Interval> all) {
  for (const GpuPause& pause : trace.gpu_pauses) {
    if (pause.process != process) continue;
    std::vector<Interval> rest;
    for (const Interval& i : all) {
      if (i.start_ns < pause.start_ns) rest.push_back({i.start_ns, std::min(i.end_ns, pause.start_ns)});
      if (i.end_ns > pause.end_ns) rest.push_back({std::max(i.start_ns, pause.end_ns), i.end_ns});
    }
    all = std::move(rest);
  }
  return all;
}

// Where none of the processes is recorded that use the device, although one of them lives, something may be missing.
std::vector<Interval> OfDevice(const Trace& trace, Trace::Slice ops) {
  std::vector<Interval> recorded, lives;
  for (const uint32_t process : ProcessesOf(trace, ops)) {
    if (process == kNone) continue;
    const Interval life{trace.processes[process].start_ns, trace.processes[process].end_ns};
    lives.push_back(life);
    std::vector<Interval> of_process;
    if (RecordedTime::IsRecordedThroughout(trace, process)) of_process.push_back(life);
    const Trace::Slice slice = trace.process_captures[process];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      of_process.push_back({trace.captures[i].start_ns, trace.captures[i].end_ns});
    }
    of_process = WithoutGpuPauses(trace, process, std::move(of_process));
    recorded.insert(recorded.end(), of_process.begin(), of_process.end());
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
  const bool is_whole = IsRecordedWhole(trace) && trace.gpu_pauses.empty();
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

int64_t CapturedNs(const TraceHead& trace) {
  std::vector<Interval> captures;
  for (const Capture& c : trace.captures) captures.push_back({c.start_ns, c.end_ns});
  int64_t sum_ns = 0;
  for (const Interval& i : Union(std::move(captures))) sum_ns += i.DurationNs();
  return sum_ns;
}

bool IsRecordedWhole(const TraceHead& trace) {
  return std::ranges::all_of(trace.captures, [&](const Capture& c) {
    const Trace::Slice slice = trace.process_captures[c.process];
    return slice.last - slice.first == 1 && c.trigger == trace::CaptureTrigger::kBegin &&
           (c.is_open || c.end_trigger == trace::CaptureTrigger::kEnd);
  });
}

bool HasOnlyWaited(const TraceHead& trace) {
  // How the tracer ends the text for a process that is recorded throughout (src/tracer/capture/capture_mode.cpp).
  constexpr std::string_view kThroughout = "from the beginning";
  return trace.captures.empty() && std::ranges::any_of(trace.processes, [&](const Process& process) {
           const std::string_view mode = trace.Text(process.capture_mode);
           return !mode.empty() && !mode.ends_with(kThroughout);
         });
}

}  // namespace gprof
