#include "trace/reshape/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/saturate.h"
#include "gprof/error.h"
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
              fmt::format("cannot merge {} traces: {} records are more than fit in memory", traces.size(), sum),
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
      : m_(merged), t_(*trace), device_of_(device_of), shift_ns_(shift_ns) {
    for (const std::string& text : t_.strings) names_.push_back(names->Intern(text));
  }

  void Run() {
    MoveHosts();
    MoveGpus();
    MoveCalls();
    MoveNvtx();
    MoveWaits();
    MoveMemory();
    MoveRemarks();
    for (DeviceWindow& window : t_.device_windows) MoveWindow(&window);
  }

 private:
  void Name(NameId* id) const { *id = names_[id->value]; }
  void Device(uint32_t* device) const {
    if (*device != kNone) *device = device_of_[*device];
  }
  void Process(uint32_t* index) const { Shift(index, Size(m_.processes.size())); }
  void Thread(uint32_t* index) const { Shift(index, Size(m_.threads.size())); }
  void Stream(uint32_t* index) const { Shift(index, Size(m_.streams.size())); }
  void Api(uint32_t* index) const { Shift(index, Size(m_.api_calls.size())); }
  void Range(uint32_t* index) const { Shift(index, Size(m_.ranges.size())); }
  void Domain(uint32_t* index) const { Shift(index, Size(m_.domains.size())); }
  template <class T>
  void Times(T* t) const {
    t->start_ns += shift_ns_;
    t->end_ns += shift_ns_;
  }

  void MoveHosts() {
    for (gprof::Process& p : t_.processes) {
      p.start_ns = ShiftedIfKnown(p.start_ns, shift_ns_);
      p.end_ns = ShiftedIfKnown(p.end_ns, shift_ns_);
      p.gpu_complete_until_ns = ShiftedIfKnown(p.gpu_complete_until_ns, shift_ns_);
      for (NameId* id :
           {&p.name, &p.command_line, &p.host, &p.tracer_version, &p.cupti_path, &p.rank_source, &p.capture_mode}) {
        Name(id);
      }
    }
    for (Capture& c : t_.captures) Times(&c), Process(&c.process);
    for (gprof::Thread& thread : t_.threads) Process(&thread.process), Name(&thread.name);
    Shift(&t_.process_captures, Size(m_.captures.size()));
  }

  void MoveGpus() {
    for (gprof::Device& d : t_.devices) Process(&d.process), Name(&d.name), Name(&d.uuid);
    for (Context& c : t_.contexts) Process(&c.process), Device(&c.device);
    for (gprof::Stream& s : t_.streams) {
      Process(&s.process), Device(&s.device), Name(&s.name);
      s.created_ns = ShiftedIfKnown(s.created_ns, shift_ns_);
    }
    MoveOps();
  }

  void MoveOps() {
    t_.ops.ChangeFacts([&](PackedOps::Facts& op) { MoveFacts(&op); });
    for (PackedOps::Item& op : t_.ops.items()) {
      op.SetStart(op.start_ns() + shift_ns_);
      if (op.HasCall()) op.SetCall(op.Call() + Size(m_.api_calls.size()));
    }
  }

  // Of an operation, or of what many have in common.
  template <class T>
  void MoveFacts(T* op) const {
    Device(&op->device), Device(&op->peer_device);
    Stream(&op->stream), Process(&op->process), Name(&op->name);
    Shift(&op->shape, Size(m_.shapes.size()));
    Shift(&op->node, Size(m_.graph_nodes.size()));
  }

  void MoveOp(GpuOp* op) const {
    Times(op);
    Api(&op->api);
    MoveFacts(op);
  }

  void MoveCall(ApiCall* c) const {
    Times(c);
    Thread(&c->thread), Process(&c->process), Api(&c->parent), Range(&c->range), Name(&c->function);
  }

  void MoveCalls() {
    t_.api_calls.ChangeFacts([&](PackedCalls::Facts& c) { Thread(&c.thread), Process(&c.process), Name(&c.function); });
    for (PackedCalls::Item& c : t_.api_calls.items()) c.SetStart(c.start_ns() + shift_ns_), Range(&c.range);
    for (GraphNode& n : t_.graph_nodes) {
      n.time_ns += shift_ns_;
      Process(&n.process), Thread(&n.thread), Api(&n.api), Range(&n.range);
      Shift(&n.source, Size(m_.graph_nodes.size()));
    }
    Shift(&t_.thread_api_calls, Size(m_.api_calls.size()));
    Shift(&t_.thread_ranges, Size(m_.ranges.size()));
  }

  void MoveNvtx() {
    t_.ranges.ChangeFacts([&](PackedRanges::Facts& r) {
      Thread(&r.thread), Thread(&r.end_thread), Domain(&r.domain), Name(&r.name), Name(&r.path);
    });
    for (PackedRanges::Item& r : t_.ranges.items()) r.SetStart(r.start_ns() + shift_ns_), Range(&r.parent);
    for (NvtxMark& m : t_.marks) m.time_ns += shift_ns_, Thread(&m.thread), Domain(&m.domain), Name(&m.name);
    for (NvtxDomain& d : t_.domains) Process(&d.process), Name(&d.name);
    for (NvtxCategory& c : t_.categories) Domain(&c.domain), Name(&c.name);
    for (NvtxPayload& p : t_.payloads) {
      p.time_ns += shift_ns_;
      Thread(&p.thread), Domain(&p.domain), Range(&p.range), Name(&p.schema);
      Shift(&p.mark, Size(m_.marks.size()));
      p.first_value += Size(m_.payload_values.size());
      p.last_value += Size(m_.payload_values.size());
    }
    for (PayloadValue& v : t_.payload_values) Name(&v.key), Name(&v.text);
  }

  void MoveWaits() {
    for (EventRecord& e : t_.event_records) {
      e.time_ns += shift_ns_;
      Process(&e.process), Thread(&e.thread), Api(&e.api), Stream(&e.stream);
    }
    for (Sync& s : t_.syncs) Times(&s), Thread(&s.thread), Process(&s.process), Api(&s.api), Stream(&s.stream);
    for (Overhead& o : t_.overheads) Times(&o), Process(&o.process), Thread(&o.thread);
    for (Jit& j : t_.jits) Times(&j), Process(&j.process), Device(&j.device), Thread(&j.thread);
  }

  void MoveMemory() {
    for (MemoryEvent& e : t_.memory_events) {
      e.time_ns += shift_ns_;
      Process(&e.process), Device(&e.device), Stream(&e.stream), Api(&e.api);
    }
    for (ManagedMemory& m : t_.managed_memory) {
      Times(&m);
      Process(&m.process), Device(&m.source), Device(&m.destination), Stream(&m.stream);
    }
    for (MemoryPoolEvent& p : t_.memory_pools) {
      p.time_ns += shift_ns_;
      Process(&p.process), Device(&p.device), Api(&p.api);
    }
  }

  void MoveRemarks() {
    for (Clock& c : t_.clocks) {
      Process(&c.process);
      const int64_t time_ns = TimeNs(c.anchor.monotonic_ns) + shift_ns_;
      c.anchor.monotonic_ns = time_ns < 0 ? 0 : static_cast<uint64_t>(time_ns);
    }
    for (Loss& l : t_.losses) Process(&l.process), l.time_ns = ShiftedIfKnown(l.time_ns, shift_ns_);
    for (Notice& n : t_.notices) {
      Process(&n.process), Name(&n.message);
      n.time_ns = ShiftedIfKnown(n.time_ns, shift_ns_);
    }
  }

  void MoveWindow(DeviceWindow* window) const {
    Times(&window->time);
    if (window->has_next) MoveOp(&window->next);
    if (window->has_next_call) MoveCall(&window->next_call);
  }

  const Trace& m_;
  Trace& t_;
  const std::vector<uint32_t>& device_of_;
  int64_t shift_ns_;
  std::vector<NameId> names_;
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
        "the clock of {} cannot be compared with that of the first trace; they are taken to begin together", t.path));
    t.notices.push_back(notice);
  }

  void TakeAll(Trace* t) {
    Append(&m_.processes, &t->processes);
    Append(&m_.captures, &t->captures);
    Append(&m_.threads, &t->threads);
    Append(&m_.contexts, &t->contexts);
    Append(&m_.streams, &t->streams);
    Append(&m_.shapes, &t->shapes);
    m_.ops.Append(std::move(t->ops));
    m_.api_calls.Append(std::move(t->api_calls));
    m_.ranges.Append(std::move(t->ranges));
    Append(&m_.marks, &t->marks);
    Append(&m_.domains, &t->domains);
    Append(&m_.categories, &t->categories);
    Append(&m_.payloads, &t->payloads);
    Append(&m_.payload_values, &t->payload_values);
    Append(&m_.graph_nodes, &t->graph_nodes);
    Append(&m_.event_records, &t->event_records);
    Append(&m_.syncs, &t->syncs);
    Append(&m_.overheads, &t->overheads);
    Append(&m_.jits, &t->jits);
    Append(&m_.memory_events, &t->memory_events);
    Append(&m_.managed_memory, &t->managed_memory);
    Append(&m_.memory_pools, &t->memory_pools);
    Append(&m_.clocks, &t->clocks);
    Append(&m_.losses, &t->losses);
    Append(&m_.notices, &t->notices);
    Append(&m_.process_captures, &t->process_captures);
    Append(&m_.thread_api_calls, &t->thread_api_calls);
    Append(&m_.thread_ranges, &t->thread_ranges);
  }

  // Calls, ranges, captures and graph nodes are in order: their threads and processes follow each other.
  void Order() {
    m_.device_ops = GroupAndSortOps(m_.ops, m_.devices.size());
    OrderMarks();
    ByTime(&m_.payloads), ByTime(&m_.event_records), ByTime(&m_.memory_events), ByTime(&m_.memory_pools);
    ByStart(&m_.syncs), ByStart(&m_.overheads), ByStart(&m_.jits), ByStart(&m_.managed_memory);
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

  template <class T>
  static void ByStart(std::vector<T>* v) {
    SortNearlySorted(v->begin(), v->end(), [](const T& a, const T& b) { return a.start_ns < b.start_ns; });
  }

  template <class T>
  static void ByTime(std::vector<T>* v) {
    SortNearlySorted(v->begin(), v->end(), [](const T& a, const T& b) { return a.time_ns < b.time_ns; });
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
