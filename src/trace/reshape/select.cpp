#include "trace/reshape/select.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "gprof/lists.h"
#include "trace/load/order.h"
#include "trace/reshape/selected_names.h"

namespace gprof {
namespace {

constexpr Interval kAlways{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

Interval Intersection(Interval a, Interval b) {
  const int64_t start_ns = std::max(a.start_ns, b.start_ns);
  return {start_ns, std::max(start_ns, std::min(a.end_ns, b.end_ns))};
}

// An event of no length belongs to the time that begins with it.
bool Overlaps(Interval time, int64_t start_ns, int64_t end_ns) {
  return start_ns < time.end_ns && (end_ns > time.start_ns || start_ns >= time.start_ns);
}

template <class T>
void Clip(Interval time, T* t) {
  t->start_ns = std::clamp(t->start_ns, time.start_ns, time.end_ns);
  t->end_ns = std::clamp(t->end_ns, time.start_ns, time.end_ns);
}

// Keeps the elements with a true flag; returns where each went, kNone for the others.
template <class Vector>
std::vector<uint32_t> Keep(Vector* all, const std::vector<uint8_t>& is_kept) {
  std::vector<uint32_t> to(all->size(), kNone);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < all->size(); ++i) {
    if (is_kept[i] == 0) continue;
    to[i] = kept;
    if (kept != i) (*all)[kept] = std::move((*all)[i]);
    ++kept;
  }
  all->resize(kept);
  return to;
}

uint32_t Moved(const std::vector<uint32_t>& to, uint32_t index) { return index == kNone ? kNone : to[index]; }

// The slices of a vector whose elements are in the order of `of`.
template <class List, class F>
void Slice(const List& all, std::vector<Trace::Slice>* slices, F&& of) {
  for (Trace::Slice& slice : *slices) slice = {};
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (of(all[i]) == kNone) continue;
    Trace::Slice& slice = (*slices)[of(all[i])];
    if (slice.first == slice.last) slice.first = i;
    slice.last = i + 1;
  }
}

class Selector {
 public:
  Selector(Trace trace, const Selection& selection) : t_(std::move(trace)), s_(selection) {}

  Trace Run() {
    const SelectedNames names(t_, s_);
    is_process_ = names.Processes();
    is_thread_ = names.Threads(is_process_);
    is_device_ = names.Devices();
    is_stream_ = names.Streams(is_process_, is_device_);
    SetTimes();
    is_selected_range_ = names.Ranges();
    MarkRanges();
    MarkCalls();
    is_kernel_ = names.Kernels();
    MarkOps(is_kernel_);
    SetWindows();
    MarkCallsOfOps();
    MoveRanges();
    MoveCalls();
    MoveOps();
    MoveOthers();
    ClipProcesses();
    return std::move(t_);
  }

 private:
  bool HasThreads() const { return !s_.threads.empty(); }
  bool HasPaths() const { return !s_.nvtx.empty(); }
  bool IsProcess(uint32_t process) const { return process == kNone ? s_.processes.empty() : is_process_[process] != 0; }
  bool IsThread(uint32_t thread) const {
    return thread == kNone ? !HasThreads() && s_.processes.empty() : is_thread_[thread] != 0;
  }
  bool IsDevice(uint32_t device) const { return device == kNone ? s_.devices.empty() : is_device_[device] != 0; }
  bool IsStream(uint32_t stream) const { return stream == kNone ? s_.streams.empty() : is_stream_[stream] != 0; }
  Interval TimeOf(uint32_t process) const { return process == kNone ? range_ : times_[process]; }

  // When each process counts: the selected time, in the selected capture.
  void SetTimes() {
    range_ = kAlways;
    if (s_.time) range_ = {t_.start_ns + s_.time->start_ns, t_.start_ns + s_.time->end_ns};
    times_.assign(t_.processes.size(), range_);
    if (!s_.capture) return;
    for (uint32_t i = 0; i < t_.processes.size(); ++i) {
      bool has_capture = false;
      for (uint32_t c = t_.process_captures[i].first; c < t_.process_captures[i].last; ++c) {
        if (t_.captures[c].number != *s_.capture) continue;
        times_[i] = Intersection(range_, {t_.captures[c].start_ns, t_.captures[c].end_ns});
        has_capture = true;
      }
      is_process_[i] = is_process_[i] != 0 && has_capture;
    }
    for (uint32_t i = 0; i < t_.threads.size(); ++i)
      is_thread_[i] = is_thread_[i] != 0 && IsProcess(t_.threads[i].process);
  }

  void MarkRanges() {
    is_range_.assign(t_.ranges.size(), 0);
    for (uint32_t i = 0; i < t_.ranges.size(); ++i) {
      const NvtxRange r = t_.ranges[i];
      const bool is_within = r.parent != kNone && is_range_[r.parent] != 0;  // parents come first
      if (HasPaths() && !is_within && is_selected_range_[i] == 0) continue;
      const uint32_t process = r.thread == kNone ? kNone : t_.threads[r.thread].process;
      is_range_[i] = IsThread(r.thread) && Overlaps(TimeOf(process), r.start_ns, r.end_ns);
    }
  }

  void MarkCalls() {
    is_call_.assign(t_.api_calls.size(), 0);
    for (uint32_t i = 0; i < t_.api_calls.size(); ++i) {
      const ApiCall& call = t_.api_calls[i];
      is_call_[i] = IsCaller(call) && Overlaps(TimeOf(call.process), call.start_ns, call.end_ns);
    }
  }

  // By everything but time.
  bool IsCaller(const ApiCall& call) const {
    if (!IsThread(call.thread)) return false;
    if (!HasPaths()) return true;
    return call.range != kNone && IsInPath(call.range);
  }

  // A range that is outside of the selected time may still be one of those paths.
  bool IsInPath(uint32_t range) const {
    for (; range != kNone; range = t_.ranges[range].parent) {
      if (is_selected_range_[range] != 0) return true;
    }
    return false;
  }

  uint32_t OutermostCall(uint32_t call) const {
    while (call != kNone && t_.api_calls[call].parent < call) call = t_.api_calls[call].parent;
    return call;
  }

  // By everything but time.
  bool IsOp(const GpuOp& op, const std::vector<uint8_t>& is_kernel) const {
    if (!IsProcess(op.process) || !IsDevice(op.device) || !IsStream(op.stream)) return false;
    if (!s_.kernel.text.empty() && (op.kind != OpKind::kKernel || is_kernel[op.name.value] == 0)) return false;
    if (!HasThreads() && !HasPaths()) return true;
    const uint32_t call = OutermostCall(op.api);
    return call != kNone && IsCaller(t_.api_calls[call]);
  }

  void MarkOps(const std::vector<uint8_t>& is_kernel) {
    is_op_.assign(t_.ops.size(), 0);
    is_candidate_.assign(t_.ops.size(), 0);
    for (uint32_t i = 0; i < t_.ops.size(); ++i) {
      const GpuOp& op = t_.ops[i];
      is_candidate_[i] = IsOp(op, is_kernel);
      is_op_[i] = is_candidate_[i] != 0 && Overlaps(TimeOf(op.process), op.start_ns, op.end_ns);
    }
  }

  // A selected time is the window of a device, as far as the device was at work in the trace.
  void SetWindows() {
    if (!s_.time) return;
    t_.device_windows.assign(t_.device_ops.size(), {});
    for (uint32_t device = 0; device < t_.device_ops.size(); ++device) SetWindow(device, &t_.device_windows[device]);
  }

  void SetWindow(uint32_t device, DeviceWindow* window) {
    const Trace::Slice slice = t_.device_ops[device];
    Interval work{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      if (is_candidate_[i] == 0) continue;
      const GpuOp& op = t_.ops[i];
      work = {std::min(work.start_ns, op.start_ns), std::max(work.end_ns, op.end_ns)};
      if (window->has_next || op.start_ns < range_.end_ns) continue;
      window->has_next = true;
      window->next = op;
      window->next.api = kNone;
      const uint32_t call = OutermostCall(op.api);
      if (call == kNone) continue;
      window->has_next_call = true;
      window->next_call = t_.api_calls[call];
    }
    if (work.start_ns <= work.end_ns) window->time = Intersection(work, range_);
  }

  void MarkCallsOfOps() {
    for (uint32_t i = 0; i < t_.ops.size(); ++i) {
      if (is_op_[i] == 0) continue;
      for (uint32_t call = t_.ops[i].api; call != kNone; call = t_.api_calls[call].parent) {
        is_call_[call] = 1;
        if (t_.api_calls[call].parent >= call) break;
      }
    }
  }

  void MoveRanges() {
    // A kept range within ranges that are not: the nearest one around it that is kept.
    nearest_range_.assign(t_.ranges.size(), kNone);
    for (uint32_t i = 0; i < t_.ranges.size(); ++i) {
      const uint32_t parent = t_.ranges[i].parent;
      nearest_range_[i] = is_range_[i] != 0 ? i : parent == kNone ? kNone : nearest_range_[parent];
    }
    for (uint32_t i = 0; i < t_.ranges.size(); ++i) {
      NvtxRange r = t_.ranges[i];
      if (r.parent != kNone) t_.ranges.items()[i].parent = nearest_range_[r.parent];
      if (r.thread == kNone) continue;
      Clip(TimeOf(t_.threads[r.thread].process), &r);
      t_.ranges.SetTimes(i, r.start_ns, r.end_ns);
    }
    if (!t_.ranges.payloads().empty()) Keep(&t_.ranges.payloads(), is_range_);
    const std::vector<uint32_t> to = Keep(&t_.ranges.items(), is_range_);
    for (PackedRanges::Item& r : t_.ranges.items()) r.parent = Moved(to, r.parent);
    for (uint32_t& range : nearest_range_) range = Moved(to, range);
    Slice(t_.ranges, &t_.thread_ranges, [](const NvtxRange& r) { return r.thread; });
    if (HasPaths()) CaptureRanges();
  }

  // Idle time counts inside of the ranges: they are to the analyses what captures are.
  void CaptureRanges() {
    std::vector<std::vector<Interval>> times(t_.processes.size());
    for (const NvtxRange& r : t_.ranges) {
      if (r.thread != kNone && r.parent == kNone && t_.threads[r.thread].process != kNone) {
        AddWhereRecorded({r.start_ns, r.end_ns}, t_.threads[r.thread].process, &times);
      }
    }
    t_.captures.clear();
    for (uint32_t i = 0; i < times.size(); ++i) {
      const uint32_t first = static_cast<uint32_t>(t_.captures.size());
      AddCaptures(i, &times[i]);
      t_.process_captures[i] = {first, static_cast<uint32_t>(t_.captures.size())};
    }
  }

  // Between two windows ranges go on, and the GPU's work is not known.
  void AddWhereRecorded(const Interval& range, uint32_t process, std::vector<std::vector<Interval>>* times) const {
    if (t_.base_times.empty()) return (*times)[process].push_back(range);
    for (uint32_t c = t_.process_captures[process].first; c < t_.process_captures[process].last; ++c) {
      const Interval part = Intersection(range, {t_.captures[c].start_ns, t_.captures[c].end_ns});
      if (part.start_ns < part.end_ns) (*times)[process].push_back(part);
    }
  }

  void AddCaptures(uint32_t process, std::vector<Interval>* times) {
    std::sort(times->begin(), times->end(), [](Interval a, Interval b) { return a.start_ns < b.start_ns; });
    if (times->empty()) times->push_back({t_.processes[process].start_ns, t_.processes[process].start_ns});
    uint32_t number = 0;
    for (const Interval& time : *times) {
      if (number > 0 && time.start_ns <= t_.captures.back().end_ns) {
        t_.captures.back().end_ns = std::max(t_.captures.back().end_ns, time.end_ns);
        continue;
      }
      Capture c;
      c.start_ns = time.start_ns;
      c.end_ns = time.end_ns;
      c.process = process;
      c.number = ++number;
      c.trigger = c.end_trigger = trace::CaptureTrigger::kNvtx;
      t_.captures.push_back(c);
    }
  }

  void MoveCalls() {
    PackedCalls& calls = t_.api_calls;
    std::vector<uint32_t> parents;  // of those that stay
    for (uint32_t i = 0; i < calls.size(); ++i) {
      if (is_call_[i] == 0) continue;
      ApiCall call = calls[i];
      Clip(TimeOf(call.process), &call);
      calls.SetTimes(i, call.start_ns, call.end_ns);
      calls.SetRange(i, Moved(nearest_range_, call.range));
      parents.push_back(call.parent);
    }
    calls_to_ = Keep(&calls.items(), is_call_);
    for (uint32_t i = 0; i < calls.size(); ++i) calls.SetParent(i, Moved(calls_to_, parents[i]));
    Slice(t_.api_calls, &t_.thread_api_calls, [](const ApiCall& call) { return call.thread; });
  }

  void MoveOps() {
    Keep(&t_.ops.items(), is_op_);
    for (uint32_t i = 0; i < t_.ops.size(); ++i) {
      GpuOp op = t_.ops[i];
      if (op.api != kNone) t_.ops.items()[i].SetCall(calls_to_[op.api]);  // calls of what is kept are kept
      Clip(TimeOf(op.process), &op);
      t_.ops.SetTimes(i, op.start_ns, op.end_ns);
    }
    Slice(t_.ops, &t_.device_ops, [](const GpuOp& op) { return op.device; });
    SortOps(t_.ops, t_.device_ops);
    MoveStreams();
  }

  void MoveStreams() {
    streams_to_ = Keep(&t_.streams, is_stream_);
    // What no operation is left of may have been in a stream that is gone.
    t_.ops.ChangeTraits([&](PackedOps::Traits& op) { op.stream = Moved(streams_to_, op.stream); });
    for (DeviceWindow& window : t_.device_windows) window.next.stream = Moved(streams_to_, window.next.stream);
  }

  template <class T, class F>
  void KeepIf(std::vector<T>* all, F&& is_kept) {
    all->erase(std::remove_if(all->begin(), all->end(), [&](const T& t) { return !is_kept(t); }), all->end());
  }

  // Whatever has a process, a thread that may not be known, and a time.
  template <class T>
  bool IsKept(const T& t, uint32_t thread, int64_t start_ns, int64_t end_ns) const {
    const bool is_its = thread == kNone ? IsProcess(t.process) && !HasThreads() : IsThread(thread);
    return is_its && Overlaps(TimeOf(t.process), start_ns, end_ns);
  }

  // Of what is in a time of a thread, or was measured by a source: cut to the selected time. Nodes of graphs are not:
  // what was made before the selected time runs in it.
  template <class T>
  void KeepTimes(std::vector<T>* all) {
    if constexpr (HasRole<T>(Role::kMetricSource)) {
      KeepMeasured(all);
    } else if constexpr (requires(T t) { t.process, t.thread; } && !std::is_same_v<T, GraphNode> &&
                         (HasRole<T>(Role::kTime) || HasRole<T>(Role::kStart))) {
      KeepIf(all, [&](const T& t) {
        if constexpr (requires { t.end_ns; })
          return IsKept(t, t.thread, t.start_ns, t.end_ns);
        else
          return IsKept(t, t.thread, t.time_ns, t.time_ns);
      });
      if constexpr (requires(T t) { t.end_ns; }) {
        for (T& t : *all) Clip(TimeOf(t.process), &t);
      }
    }
  }

  template <class T>
  void KeepMeasured(std::vector<T>* all) {
    const auto time_of = [&](const T& t) { return t.source == kNone ? range_ : TimeOf(t_.metric_sources[t.source]); };
    KeepIf(all, [&](const T& t) {
      return (t.source == kNone || IsSource(t_.metric_sources[t.source])) && Overlaps(time_of(t), t.start_ns, t.end_ns);
    });
    for (T& t : *all) Clip(time_of(t), &t);
  }

  void MoveOthers() {
    ForEachList([&](const auto& list) { KeepTimes(&(t_.*list.list)); });
    KeepIf(&t_.managed_memory, [&](const ManagedMemory& m) {
      const bool is_here = s_.devices.empty() || (m.source != kNone && IsDevice(m.source)) ||
                           (m.destination != kNone && IsDevice(m.destination));
      return is_here && IsProcess(m.process) && Overlaps(TimeOf(m.process), m.start_ns, m.end_ns);
    });
    for (ManagedMemory& m : t_.managed_memory) Clip(TimeOf(m.process), &m);
    MoveMemory();
    MoveMarks();
    MoveCounters();
    MoveIndexes();
  }

  // What refers to calls, ranges, streams and marks does so by their new places.
  void MoveIndexes() {
    ForEachList([&](const auto& list) {
      for (auto& item : t_.*list.list) {
        std::decay_t<decltype(item)>::Fields(item, [&](FieldOf field, auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, uint32_t>) MoveIndex(field.role, &value);
        });
      }
    });
  }
  void MoveIndex(Role role, uint32_t* index) const {
    if (role == Role::kCall) *index = Moved(calls_to_, *index);
    if (role == Role::kRange) *index = Moved(nearest_range_, *index);
    if (role == Role::kStream) *index = Moved(streams_to_, *index);
    if (role == Role::kMark) *index = Moved(marks_to_, *index);
  }

  // Of the host there is one, whatever processes are selected; a device is that of all of them.
  bool IsSource(const MetricSource& source) const {
    if (source.scope == trace::MetricScope::kDevice) return source.device == kNone || IsDevice(source.device);
    if (source.scope == trace::MetricScope::kThread) return IsThread(source.thread);
    return source.scope != trace::MetricScope::kProcess || IsProcess(source.process);
  }

  Interval TimeOf(const MetricSource& source) const {
    const bool is_of_process = source.process != kNone && source.scope != trace::MetricScope::kDevice;
    return is_of_process ? times_[source.process] : range_;
  }

  // What was allocated before the selected time and is still there counts as allocated when it begins.
  void MoveMemory() {
    std::vector<uint8_t> is_kept(t_.memory_events.size(), 0);
    std::unordered_map<uint64_t, uint32_t> alive;  // by address; of several processes with one address the last counts
    for (uint32_t i = 0; i < t_.memory_events.size(); ++i) {
      MemoryEvent& m = t_.memory_events[i];
      if (!IsProcess(m.process) || (m.device != kNone && !IsDevice(m.device))) continue;
      const Interval time = TimeOf(m.process);
      if (m.time_ns >= time.start_ns) {
        is_kept[i] = m.time_ns < time.end_ns;
      } else if (m.operation == trace::MemoryOp::kAllocate) {
        alive[m.address] = i;
      } else {
        alive.erase(m.address);
      }
    }
    for (const auto& entry : alive) is_kept[entry.second] = 1;
    for (MemoryEvent& m : t_.memory_events) {
      m.time_ns = std::max(m.time_ns, TimeOf(m.process).start_ns);
    }
    Keep(&t_.memory_events, is_kept);
    SortNearlySorted(t_.memory_events.begin(), t_.memory_events.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
    KeepIf(&t_.memory_pools, [&](const MemoryPoolEvent& p) {
      return IsProcess(p.process) && (p.device == kNone || IsDevice(p.device)) &&
             Overlaps(TimeOf(p.process), p.time_ns, p.time_ns);
    });
  }

  // A range whose time is not known is in any selected time.
  void MoveCounters() {
    std::vector<uint8_t> is_kept(t_.counter_ranges.size(), 0);
    for (uint32_t i = 0; i < is_kept.size(); ++i) {
      const CounterRange& r = t_.counter_ranges[i];
      const bool is_then = r.start_ns == 0 || Overlaps(TimeOf(r.process), r.start_ns, r.start_ns + r.duration_ns);
      const bool is_named = is_kernel_.empty() || is_kernel_[r.name.value] != 0;
      is_kept[i] = IsProcess(r.process) && IsDevice(r.device) && is_then && is_named;
    }
    const std::vector<uint32_t> to = Keep(&t_.counter_ranges, is_kept);
    for (CounterValue& value : t_.counter_values) value.range = Moved(to, value.range);
    KeepIf(&t_.counter_values, [](const CounterValue& value) { return value.range != kNone; });
    KeepIf(&t_.pc_samples, [&](const PcSample& sample) {
      return IsProcess(sample.process) && (is_kernel_.empty() || is_kernel_[sample.kernel.value] != 0);
    });
  }

  uint32_t ProcessOf(uint32_t thread) const { return thread == kNone ? kNone : t_.threads[thread].process; }

  void MoveMarks() {
    std::vector<uint8_t> is_mark(t_.marks.size(), 0);
    for (uint32_t i = 0; i < t_.marks.size(); ++i) {
      const NvtxMark& m = t_.marks[i];
      is_mark[i] = IsThread(m.thread) && Overlaps(TimeOf(ProcessOf(m.thread)), m.time_ns, m.time_ns);
    }
    marks_to_ = Keep(&t_.marks, is_mark);
    KeepIf(&t_.payloads, [&](const NvtxPayload& p) {
      if (p.range != kNone) return is_range_[p.range] != 0;
      return p.mark == kNone ? IsThread(p.thread) : is_mark[p.mark] != 0;
    });
  }

  void ClipProcesses() {
    for (uint32_t i = 0; i < t_.processes.size(); ++i) Clip(times_[i], &t_.processes[i]);
    if (HasPaths()) return;
    for (Capture& c : t_.captures) Clip(times_[c.process], &c);
  }

  Trace t_;
  const Selection& s_;
  Interval range_ = kAlways;
  std::vector<Interval> times_;  // by process
  std::vector<uint8_t> is_process_, is_thread_, is_device_, is_stream_, is_selected_range_;
  std::vector<uint8_t> is_range_, is_call_, is_op_, is_candidate_, is_kernel_;
  std::vector<uint32_t> nearest_range_, calls_to_, streams_to_, marks_to_;
};

}  // namespace

Trace Select(Trace trace, const Selection& selection) {
  if (selection.IsEmpty()) return trace;
  return Selector(std::move(trace), selection).Run();
}

}  // namespace gprof
