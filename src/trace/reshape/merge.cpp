#include "trace/reshape/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "base/saturate.h"
#include "gprof/error.h"
#include "gprof/lists.h"
#include "trace/load/order.h"
#include "trace/model/name_table.h"
#include "trace/model/saturating_time.h"
#include "trace/reshape/merge_devices.h"

namespace gprof {
namespace {

uint32_t Size(std::size_t size) { return static_cast<uint32_t>(size); }

void Shift(uint32_t* index, uint32_t base) {
  if (*index != kNone) *index += base;
}

void Shift(std::vector<Trace::Slice>* slices, uint32_t base) {
  for (Trace::Slice& slice : *slices) slice = {slice.first + base, slice.last + base};
}

// 0 stands for a time that is not known.
int64_t ShiftedIfKnown(int64_t time_ns, int64_t by_ns) { return time_ns == 0 ? 0 : time_ns + by_ns; }

template <class T>
void Append(std::vector<T>* to, std::vector<T>* from) {
  if (to->empty()) {
    to->swap(*from);
    return;
  }
  to->insert(to->end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
  *from = {};
}

void CheckSizes(const std::vector<Trace>& traces) {
  uint64_t sum = 0;
  for (const Trace& t : traces) {
    sum = AddSaturating(sum, t.record_count);
    sum = AddSaturating(sum, t.strings.size() + t.payload_values.size());
  }
  if (sum < kNone) return;
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot merge {} traces: {} records do not fit in memory", traces.size(), sum),
              "report on fewer of them at a time");
}

void AddHealth(TraceHealth* sum, const TraceHealth& h) {
  constexpr uint64_t TraceHealth::*kCounts[] = {&TraceHealth::file_bytes,
                                                &TraceHealth::chunks,
                                                &TraceHealth::damaged_chunks,
                                                &TraceHealth::skipped_bytes,
                                                &TraceHealth::missing_chunks,
                                                &TraceHealth::unknown_chunks,
                                                &TraceHealth::unknown_records,
                                                &TraceHealth::lost_records,
                                                &TraceHealth::unmatched_launches,
                                                &TraceHealth::unmatched_ops,
                                                &TraceHealth::bad_times,
                                                &TraceHealth::early_ops,
                                                &TraceHealth::unmatched_nvtx_ends,
                                                &TraceHealth::open_ranges,
                                                &TraceHealth::unfinished_processes,
                                                &TraceHealth::salvaged_processes,
                                                &TraceHealth::unfinished_gpu_work,
                                                &TraceHealth::gpu_pauses,
                                                &TraceHealth::ops_from_before,
                                                &TraceHealth::missing_strings,
                                                &TraceHealth::duplicate_chunks};
  // A count that is added to TraceHealth is to be added here as well: these, worst_early_ns and is_truncated.
  static_assert(sizeof(TraceHealth) == sizeof kCounts / sizeof kCounts[0] * sizeof(uint64_t) + 2 * sizeof(uint64_t));
  for (const auto count : kCounts) sum->*count = AddSaturating(sum->*count, h.*count);
  sum->worst_early_ns = std::max(sum->worst_early_ns, h.worst_early_ns);
  sum->is_truncated = sum->is_truncated || h.is_truncated;
}

// Brings the indexes and times of one trace to those of the merged one.
class Mover {
 public:
  Mover(const Trace& merged, Trace* trace, NameTable* names, const std::vector<uint32_t>& device_of, int64_t shift_ns)
      : t_(*trace), device_of_(device_of), shift_ns_(shift_ns) {
    for (const std::string& text : t_.strings) names_.push_back(names->Intern(text));
    ForEachList([&](const auto& list) { Base(list.index) = Size((merged.*list.list).size()); });
    Base(Role::kCall) = Size(merged.api_calls.size());
    Base(Role::kRange) = Size(merged.ranges.size());
    Base(Role::kShape) = Size(merged.shapes.size());
    captures_ = Size(merged.captures.size());
  }

  void Run() {
    ForEachList([&](const auto& list) {
      for (auto& item : t_.*list.list) MoveItem(&item);
    });
    Shift(&t_.process_captures, captures_);
    Shift(&t_.thread_api_calls, Base(Role::kCall));
    Shift(&t_.thread_ranges, Base(Role::kRange));
    MoveOps();
    MoveCalls();
    MoveRanges();
    for (DeviceWindow& window : t_.device_windows) MoveWindow(&window);
  }

 private:
  uint32_t& Base(Role role) { return bases_[static_cast<std::size_t>(role)]; }
  void Index(Role role, uint32_t* index) { Shift(index, Base(role)); }
  void Name(NameId* id) const { *id = names_[id->value]; }
  void Device(uint32_t* device) const {
    if (*device != kNone) *device = device_of_[*device];
  }
  template <class T>
  void MoveItem(T* item) {
    T::Fields(*item, [&](FieldOf field, auto& value) { MoveField(field.role, &value); });
  }

  template <class T>
  void MoveField(Role role, T* value) {
    if constexpr (std::is_same_v<T, NameId>) {
      Name(value);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      if (role == Role::kTime || role == Role::kStart || role == Role::kEnd) *value += shift_ns_;
      if (role == Role::kKnownTime) *value = ShiftedIfKnown(*value, shift_ns_);
    } else if constexpr (std::is_same_v<T, uint64_t>) {
      if (role == Role::kTime) *value = static_cast<uint64_t>(std::max<int64_t>(TimeNs(*value) + shift_ns_, 0));
    } else if constexpr (std::is_same_v<T, uint32_t>) {
      if (role == Role::kDevice) return Device(value);
      if (role >= Role::kProcess) Index(role, value);
    }
  }

  void MoveOps() {
    t_.ops.ChangeTraits([&](PackedOps::Traits& op) { MoveTraits(&op); });
    for (PackedOps::Item& op : t_.ops.items()) {
      op.SetStart(op.start_ns() + shift_ns_);
      if (op.HasCall()) op.SetCall(op.Call() + Base(Role::kCall));
    }
  }

  void MoveTraits(PackedOps::Traits* op) {
    Device(&op->device), Device(&op->peer_device);
    Index(Role::kStream, &op->stream), Index(Role::kProcess, &op->process), Name(&op->name);
    Index(Role::kShape, &op->shape), Index(Role::kGraphNode, &op->node);
  }

  void MoveCalls() {
    t_.api_calls.ChangeTraits([&](PackedCalls::Traits& c) {
      Index(Role::kThread, &c.thread), Index(Role::kProcess, &c.process);
      Index(Role::kStack, &c.stack), Name(&c.function);
    });
    for (PackedCalls::Item& c : t_.api_calls.items()) {
      c.SetStart(c.start_ns() + shift_ns_), Index(Role::kRange, &c.range);
    }
  }

  void MoveRanges() {
    t_.ranges.ChangeTraits([&](PackedRanges::Traits& r) {
      Index(Role::kThread, &r.thread), Index(Role::kThread, &r.end_thread), Index(Role::kDomain, &r.domain);
      Name(&r.name), Name(&r.path);
    });
    for (PackedRanges::Item& r : t_.ranges.items()) {
      r.SetStart(r.start_ns() + shift_ns_), Index(Role::kRange, &r.parent);
    }
  }

  void MoveWindow(DeviceWindow* window) {
    window->time = {window->time.start_ns + shift_ns_, window->time.end_ns + shift_ns_};
    if (window->has_next) MoveItem(&window->next);
    if (window->has_next_call) MoveItem(&window->next_call);
  }

  Trace& t_;
  const std::vector<uint32_t>& device_of_;
  int64_t shift_ns_;
  std::vector<NameId> names_;
  std::array<uint32_t, kRoles> bases_{};  // elements of the lists before those of this trace
  uint32_t captures_ = 0;
};

class Merger {
 public:
  explicit Merger(std::vector<Trace> traces) : traces_(std::move(traces)) {}

  Trace Run() {
    CheckSizes(traces_);
    shifts_ = ClockShifts(traces_);
    devices_ = MergeDevices(traces_);
    m_.path = fmt::format("{} and {} more", traces_.front().path, traces_.size() - 1);
    m_.devices.resize(devices_.devices.size());
    m_.device_ops.resize(devices_.devices.size());
    for (const Trace& t : traces_) has_windows_ = has_windows_ || !t.device_windows.empty();
    if (has_windows_) m_.device_windows.resize(devices_.devices.size());
    is_windowed_.resize(devices_.devices.size());
    for (uint32_t i = 0; i < traces_.size(); ++i) Take(i);
    Order();
    m_.strings = names_.Take();
    return std::move(m_);
  }

 private:
  void Take(uint32_t i) {
    Trace& t = traces_[i];
    Mover(m_, &t, &names_, devices_.index[i], shifts_[i].ns).Run();
    TakeSpan(t, shifts_[i].ns);
    TakeDevices(i);
    if (!shifts_[i].is_known) SayUnknownClock(t);
    AddHealth(&m_.health, t.health);
    m_.record_count += t.record_count;
    m_.lacks |= t.lacks;
    TakeRecorder(t.recorder);
    TakeAll(&t);
    t = {};  // its memory
  }

  void TakeRecorder(const std::string& recorder) {
    if (recorder.empty() || m_.recorder.find(recorder) != std::string::npos) return;
    m_.recorder += (m_.recorder.empty() ? "" : " and ") + recorder;
  }

  void TakeSpan(const Trace& t, int64_t shift_ns) {
    if (t.start_ns == 0 && t.end_ns == 0) return;  // nothing in it has a time
    const Interval span{t.start_ns + shift_ns, t.end_ns + shift_ns};
    m_.start_ns = has_span_ ? std::min(m_.start_ns, span.start_ns) : span.start_ns;
    m_.end_ns = has_span_ ? std::max(m_.end_ns, span.end_ns) : span.end_ns;
    has_span_ = true;
  }

  void TakeDevices(uint32_t i) {
    const Trace& t = traces_[i];
    for (uint32_t d = 0; d < t.devices.size(); ++d) {
      const uint32_t device = devices_.index[i][d];
      const MergedDevices::Source& source = devices_.devices[device];
      if (source.trace == i && source.device == d) {
        m_.devices[device] = t.devices[d];
        m_.devices[device].ordinal = source.ordinal;
      }
      if (has_windows_) TakeWindow(t, d, device);
    }
  }

  // From the first window to the last; what came next is what came next after all of them.
  void TakeWindow(const Trace& t, uint32_t from, uint32_t to) {
    DeviceWindow window;
    const Trace::Slice ops = t.device_ops[from];
    if (!t.device_windows.empty()) {
      window = t.device_windows[from];
    } else if (ops.first != ops.last) {
      window.time = {t.ops[ops.first].start_ns, t.ops[ops.first].end_ns};
      for (uint32_t i = ops.first; i < ops.last; ++i) {
        window.time.end_ns = std::max(window.time.end_ns, t.ops[i].end_ns);
      }
    }
    const bool is_empty = window.time.DurationNs() == 0 && !window.has_next;
    if (is_empty) return;
    DeviceWindow& merged = m_.device_windows[to];
    const bool is_first = std::exchange(is_windowed_[to], uint8_t{1}) == 0;
    const Interval time = is_first ? window.time
                                   : Interval{std::min(merged.time.start_ns, window.time.start_ns),
                                              std::max(merged.time.end_ns, window.time.end_ns)};
    if (!merged.has_next || (window.has_next && window.next.start_ns < merged.next.start_ns)) merged = window;
    merged.time = time;
  }

  void SayUnknownClock(Trace& t) {
    Notice notice;
    notice.process = t.processes.empty() ? kNone : Size(m_.processes.size());
    notice.time_ns = m_.start_ns;
    notice.level = trace::NoticeLevel::kWarning;
    notice.message = names_.Intern(fmt::format(
        "the clock of {} cannot be aligned with the first trace; both are assumed to start at the same time", t.path));
    t.notices.push_back(notice);
  }

  void TakeAll(Trace* t) {
    ForEachList([&](const auto& list) {
      if (list.index != Role::kDevice) Append(&(m_.*list.list), &(t->*list.list));  // TakeDevices has those
    });
    Append(&m_.shapes, &t->shapes);
    m_.ops.Append(std::move(t->ops));
    m_.api_calls.Append(std::move(t->api_calls));
    m_.ranges.Append(std::move(t->ranges));
    Append(&m_.process_captures, &t->process_captures);
    Append(&m_.thread_api_calls, &t->thread_api_calls);
    Append(&m_.thread_ranges, &t->thread_ranges);
  }

  // What is sorted by something else is in order: threads, processes, frames and metric sources follow each other.
  void Order() {
    m_.device_ops = GroupAndSortOps(m_.ops, m_.devices.size());
    OrderMarks();
    SortListsByTime(m_);
  }

  // Payloads name marks by their place.
  void OrderMarks() {
    std::vector<uint32_t> order(m_.marks.size()), place(m_.marks.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    SortNearlySorted(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return m_.marks[a].time_ns < m_.marks[b].time_ns; });
    std::vector<NvtxMark> marks;
    marks.reserve(order.size());
    for (const uint32_t i : order) {
      place[i] = Size(marks.size());
      marks.push_back(m_.marks[i]);
    }
    m_.marks.swap(marks);
    for (NvtxPayload& p : m_.payloads) {
      if (p.mark != kNone) p.mark = place[p.mark];
    }
  }

  std::vector<Trace> traces_;
  std::vector<ClockShift> shifts_;
  MergedDevices devices_;
  NameTable names_;
  Trace m_;
  bool has_span_ = false, has_windows_ = false;
  std::vector<uint8_t> is_windowed_;  // by device: its window is known
};

}  // namespace

Trace MergeTraces(std::vector<Trace> traces) {
  if (traces.empty()) return {};
  if (traces.size() == 1) return std::move(traces.front());
  return Merger(std::move(traces)).Run();
}

}  // namespace gprof
