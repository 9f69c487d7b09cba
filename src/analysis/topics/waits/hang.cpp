// What a program that made no progress was in the midst of: GPU work that had not ended, by stream, and where each
// thread was.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/places/call_places.h"
#include "analysis/facts/recording/clock_reasons.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

using trace::ProgressKind;

// GPU work of a stream that had not ended, as it was launched.
struct PendingStream {
  const InProgress* first = nullptr;
  int64_t count = 0;
  uint32_t waits_for = kNone;  // the stream with work that has to end before
};

// A thread, with the innermost call that is known of it.
struct StuckThread {
  const InProgress* thread = nullptr;  // as the operating system sees it; null where that was not looked at
  const InProgress* call = nullptr;    // of CUDA, MPI or the C library
};

// Of threads the last look at each process counts. Of GPU work CUPTI tells once, so that it counts from each look after
// which no GPU began anything.
std::vector<const InProgress*> LastLook(const Trace& trace) {
  std::map<uint32_t, uint32_t> last;  // by process
  for (const InProgress& one : trace.in_progress) last[one.process] = std::max(last[one.process], one.look);
  int64_t began_ns = 0;
  for (const Trace::Slice& ops : trace.device_ops) {
    if (ops.first < ops.last) began_ns = std::max(began_ns, trace.ops[ops.last - 1].start_ns);
  }
  std::vector<const InProgress*> seen;
  for (const InProgress& one : trace.in_progress) {
    const bool is_current = one.IsGpuWork() ? one.time_ns >= began_ns : one.look == last[one.process];
    if (one.process != kNone && is_current) seen.push_back(&one);
  }
  return seen;
}

class Standstill {
 public:
  explicit Standstill(const AnalysisInput& input)
      : trace_(input.trace()), places_(trace_, input.shared().python_lines()) {
    for (const InProgress* one : LastLook(trace_)) Take(one);
    for (auto& [stream, pending] : streams_) pending.waits_for = StreamBefore(stream, pending);
  }

  const std::map<uint32_t, PendingStream>& streams() const { return streams_; }
  const std::map<uint32_t, StuckThread>& threads() const { return threads_; }

  // No GPU began anything after that.
  bool IsAtEnd() const {
    return std::ranges::none_of(trace_.device_ops, [&](const Trace::Slice& ops) {
      return ops.first < ops.last && trace_.ops[ops.last - 1].start_ns > time_ns_;
    });
  }

  std::string NameOf(const InProgress& work) const {
    switch (work.progress_kind) {
      case ProgressKind::kKernel:
        return KernelName(trace_, work.name);
      case ProgressKind::kCopy:
        return "copy of " + FormatBytes(static_cast<double>(work.size_bytes));
      case ProgressKind::kMemset:
        return "memset of " + FormatBytes(static_cast<double>(work.size_bytes));
      case ProgressKind::kGraph:
        return "CUDA graph";
      default:
        return std::string(trace_.Text(work.name));
    }
  }

  // When GPU work was launched, or the call entered, before it was looked at; nothing where that is not known.
  std::optional<int64_t> AgeNs(const InProgress& one) const {
    const int64_t since_ns = one.api != kNone && one.IsGpuWork() ? trace_.api_calls[one.api].start_ns : one.since_ns;
    return since_ns == 0 ? std::nullopt : std::optional(std::max<int64_t>(one.time_ns - since_ns, 0));
  }

  std::string PlaceOf(const InProgress& one) {
    return places_.Named(one.IsGpuWork() && one.api != kNone ? trace_.api_calls[one.api].stack : one.stack);
  }
  std::string PlaceOf(const StuckThread& stuck) {
    std::string place = stuck.thread == nullptr ? std::string() : PlaceOf(*stuck.thread);
    return place.empty() && stuck.call != nullptr ? PlaceOf(*stuck.call) : place;
  }

  // "cudaStreamSynchronize", "futex", "its own code".
  std::string DoingOf(const StuckThread& stuck) const {
    if (stuck.call != nullptr) return NameOf(*stuck.call);
    const std::string call = NameOf(*stuck.thread);
    return call.empty() ? (stuck.thread->is_running ? "(running)" : "(not known)") : call;
  }

  uint32_t HolderOf(const StuckThread& stuck) const {
    return stuck.thread == nullptr ? kNone : stuck.thread->other_thread;
  }

  bool IsMain(uint32_t thread) const {
    const Thread& t = trace_.threads[thread];
    return t.process != kNone && t.tid == trace_.processes[t.process].pid;
  }

 private:
  void Take(const InProgress* one) {
    time_ns_ = std::max(time_ns_, one->time_ns);
    if (one->IsGpuWork()) {
      if (one->stream == kNone) return;
      PendingStream& pending = streams_[one->stream];
      ++pending.count;
      if (pending.first == nullptr || LaunchOf(*one) < LaunchOf(*pending.first)) pending.first = one;
      return;
    }
    if (one->thread == kNone) return;
    StuckThread& stuck = threads_[one->thread];
    if (one->progress_kind == ProgressKind::kThread) {
      stuck.thread = one;
    } else if (stuck.call == nullptr || one->since_ns > stuck.call->since_ns) {
      stuck.call = one;
    }
  }

  // Where its call is known, when that was; what comes from one process is in the order in which CUPTI noted it.
  std::pair<int64_t, const InProgress*> LaunchOf(const InProgress& work) const {
    return {work.api == kNone ? 0 : trace_.api_calls[work.api].start_ns, &work};
  }

  // The stream whose event the first work of this one waits for, where that event comes behind work that has not ended.
  uint32_t StreamBefore(uint32_t stream, const PendingStream& pending) const {
    const int64_t launched_ns = LaunchOf(*pending.first).first;
    uint32_t before = kNone;
    int64_t latest_ns = 0;
    for (const Sync& wait : trace_.syncs) {
      if (wait.kind != trace::SyncKind::kStreamWaitEvent || wait.stream != stream) continue;
      if (wait.start_ns > launched_ns || wait.start_ns < latest_ns) continue;
      const uint32_t of = StreamOfEvent(wait);
      const auto there = streams_.find(of);
      if (of == stream || there == streams_.end()) continue;
      if (LaunchOf(*there->second.first).first > wait.start_ns) continue;
      before = of;
      latest_ns = wait.start_ns;
    }
    return before;
  }

  uint32_t StreamOfEvent(const Sync& wait) const {
    uint32_t stream = kNone;
    for (const EventRecord& record : trace_.event_records) {
      if (record.time_ns > wait.start_ns) break;
      if (record.event == wait.event && record.process == wait.process) stream = record.stream;
    }
    return stream;
  }

  const Trace& trace_;
  CallPlaces places_;
  std::map<uint32_t, PendingStream> streams_;
  std::map<uint32_t, StuckThread> threads_;
  int64_t time_ns_ = 0;
};

Cell TimeCell(std::optional<int64_t> ns) { return ns ? Cell(*ns) : Cell(); }

Table StreamTable(const Trace& trace, Standstill& still, uint32_t max_rows) {
  Table table{
      "hang_streams",
      "GPU work that had not ended",
      {{"device", "GPU", Unit::kText, false},
       {"stream", "Stream", Unit::kText, false},
       {"work", "First unfinished", Unit::kText, false},
       {"launched_ns", "Launched", Unit::kNs, false, ColumnRole::kOwn, "time before the program was looked at"},
       {"place", "Launched at", Unit::kText, false},
       {"behind", "Behind it", Unit::kCount, false, ColumnRole::kOwn, "operations of the stream that wait for it"},
       {"waits_for", "Waits for", Unit::kText, false, ColumnRole::kOwn,
        "the stream whose event it waits for (cudaStreamWaitEvent)"}},
      {},
      "",
      RowsOfRanks::kApart};
  for (const auto& [stream, pending] : still.streams()) {
    const InProgress& first = *pending.first;
    table.rows.push_back({DeviceScope(trace, first.device), StreamName(trace, stream), still.NameOf(first),
                          TimeCell(still.AgeNs(first)), still.PlaceOf(first), pending.count - 1,
                          pending.waits_for == kNone ? std::string() : StreamName(trace, pending.waits_for)});
  }
  CutRows(&table, max_rows);
  return table;
}

// Threads of a pool are all in the same place: they share a row.
struct ThreadRow {
  uint32_t thread = kNone;
  int64_t count = 0;
};
using ThreadKey = std::tuple<std::string, std::string, uint32_t>;

std::vector<ThreadRow> GroupThreads(const Trace& trace, Standstill& still) {
  std::vector<ThreadRow> rows;
  std::map<ThreadKey, size_t> pools;
  for (const auto& [thread, stuck] : still.threads()) {
    const bool is_alone = still.IsMain(thread) || stuck.call != nullptr || still.HolderOf(stuck) != kNone;
    const auto [at, is_new] =
        pools.try_emplace({still.DoingOf(stuck), still.PlaceOf(stuck), trace.threads[thread].process}, rows.size());
    if (!is_alone && !is_new && rows[at->second].count > 0) {
      ++rows[at->second].count;
      continue;
    }
    if (!is_alone) at->second = rows.size();
    rows.push_back({thread, 1});
  }
  const auto order = [&](const ThreadRow& row) {
    const StuckThread& stuck = still.threads().at(row.thread);
    return std::make_tuple(!still.IsMain(row.thread), stuck.call == nullptr, still.HolderOf(stuck) == kNone);
  };
  std::ranges::stable_sort(rows, [&](const ThreadRow& a, const ThreadRow& b) { return order(a) < order(b); });
  return rows;
}

Table ThreadTable(const Trace& trace, Standstill& still, uint32_t max_rows) {
  Table table{"hang_threads",
              "Where threads were",
              {{"thread", "Thread", Unit::kText, false},
               {"count", "Threads", Unit::kCount, false, ColumnRole::kOwn, "in the same place"},
               {"call", "Is in", Unit::kText, false, ColumnRole::kOwn, "a call of CUDA or MPI, or a system call"},
               {"since_ns", "For", Unit::kNs, false},
               {"place", "At", Unit::kText, false},
               {"holder", "Waits for", Unit::kText, false, ColumnRole::kOwn, "the thread that holds the lock"}},
              {},
              "",
              RowsOfRanks::kApart};
  for (const ThreadRow& row : GroupThreads(trace, still)) {
    const StuckThread& stuck = still.threads().at(row.thread);
    const uint32_t holder = still.HolderOf(stuck);
    table.rows.push_back({ThreadName(trace, row.thread), row.count, still.DoingOf(stuck),
                          stuck.call == nullptr ? Cell() : TimeCell(still.AgeNs(*stuck.call)), still.PlaceOf(stuck),
                          holder == kNone ? std::string() : ThreadName(trace, holder)});
  }
  CutRows(&table, max_rows);
  return table;
}

// The source of a GPU's samples of NVML, by its name; kNone where it was not sampled.
uint32_t SourceOf(const Trace& trace, uint32_t device, std::string_view name) {
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.device == device && trace.Text(source.name) == name && trace.Text(source.origin) == "nvml") return i;
  }
  return kNone;
}

// The last sample, which is that of the moment in which the program was looked at, or a little before.
std::optional<int64_t> LastOf(const Trace& trace, uint32_t device, std::string_view name) {
  const uint32_t source = SourceOf(trace, device, name);
  if (source == kNone || trace.SamplesOf(source).empty()) return std::nullopt;
  return trace.SamplesOf(source).back().value;
}

// "heat", "none"; empty where it is not known.
std::string HeldDownBy(std::optional<int64_t> mask) {
  if (!mask) return {};
  for (const ClockReason& reason : kClockReasons) {
    if ((*mask & reason.bit) != 0) return std::string(reason.name);
  }
  return "none";
}

// What the driver logs of errors of a GPU; those whose meaning does not depend on anything else.
std::string XidText(int64_t xid) {
  constexpr std::pair<int64_t, std::string_view> kMeanings[] = {{13, "exception of a kernel"},
                                                                {31, "page fault of the GPU"},
                                                                {43, "the GPU stopped a channel"},
                                                                {48, "double-bit ECC error"},
                                                                {63, "memory row remapped"},
                                                                {64, "memory row not remapped"},
                                                                {74, "NVLink error"},
                                                                {79, "the GPU has fallen off the bus"},
                                                                {94, "contained ECC error"},
                                                                {95, "uncontained ECC error"},
                                                                {119, "GSP does not answer"},
                                                                {120, "GSP error"}};
  for (const auto& [number, meaning] : kMeanings) {
    if (number == xid) return std::to_string(xid) + " (" + std::string(meaning) + ")";
  }
  return std::to_string(xid);
}

// "none" where nothing was logged while it was watched; empty where nobody watched.
std::string XidOf(const Trace& trace, uint32_t device) {
  const std::optional<int64_t> last = LastOf(trace, device, "Xid");
  if (last) return XidText(*last);
  return SourceOf(trace, device, "Xid") == kNone ? "" : "none";
}

Table GpuTable(const Trace& trace, uint32_t max_rows) {
  Table table{"hang_gpus",
              "State of the GPUs",
              {{"device", "GPU", Unit::kText, false},
               {"sm_clock_mhz", "SM clock (MHz)", Unit::kCount, false},
               {"held_down_by", "Held down by", Unit::kText, false, ColumnRole::kOwn, "what keeps its clocks low"},
               {"temperature", "°C", Unit::kCount, false},
               {"xid", "Xid", Unit::kText, false, ColumnRole::kOwn, "the last error that the driver logged"}},
              {},
              "",
              RowsOfRanks::kApart};
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    const auto number = [&](std::string_view name) {
      const std::optional<int64_t> value = LastOf(trace, device, name);
      return value ? Cell(*value) : Cell();
    };
    const Cell clock = number("SM clock"), heat = number("temperature");
    const std::string held = HeldDownBy(LastOf(trace, device, "clock limits")), xid = XidOf(trace, device);
    if (clock.index() == 0 && heat.index() == 0 && held.empty() && xid.empty()) continue;
    table.rows.push_back({DeviceScope(trace, device), clock, held, heat, xid});
  }
  CutRows(&table, max_rows);
  return table;
}

// A GPU whose driver has logged an error waits for nobody any more.
void AddXidFindings(const Trace& trace, AnalysisResult* result) {
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    const std::optional<int64_t> xid = LastOf(trace, device, "Xid");
    if (!xid) continue;
    Finding finding = NewFinding("hang.xid");
    finding.message = "the driver logged Xid " + XidText(*xid) + " of " + DeviceScope(trace, device);
    finding.subject.device = DeviceScope(trace, device);
    result->findings.push_back(std::move(finding));
  }
}

std::string ForTime(std::optional<int64_t> ns) { return ns ? " for " + FormatNs(*ns) : std::string(); }

// The work that nothing else here waits for: the longest launched of those that wait for no other stream.
std::optional<uint32_t> RootStream(const Standstill& still) {
  std::optional<uint32_t> root;
  int64_t oldest_ns = -1;
  for (const auto& [stream, pending] : still.streams()) {
    const int64_t age_ns = still.AgeNs(*pending.first).value_or(0);
    if (pending.waits_for != kNone || age_ns <= oldest_ns) continue;
    root = stream;
    oldest_ns = age_ns;
  }
  return root;
}

void AddStreamFinding(const Trace& trace, Standstill& still, AnalysisResult* result) {
  const std::optional<uint32_t> root = RootStream(still);
  if (!root) return;
  const PendingStream& pending = still.streams().at(*root);
  const InProgress& first = *pending.first;
  const bool is_collective = IsNcclKernel(trace.Text(first.name));
  Finding finding = is_collective ? NewFinding("hang.collective") : NewFinding("hang.gpu_work");
  const std::string name = InMessage(still.NameOf(first));
  const std::optional<int64_t> age_ns = still.AgeNs(first);
  finding.message = name + " in " + StreamName(trace, *root) + " of " + DeviceScope(trace, first.device) +
                    " had not ended" + (age_ns ? " " + FormatNs(*age_ns) + " after its launch" : "");
  AddPlace(still.PlaceOf(first), &finding);
  if (pending.count > 1)
    finding.evidence.push_back(CountOf(pending.count - 1, "operation") + (pending.count == 2
                                                                              ? " of the stream waits behind it"
                                                                              : " of the stream wait behind it"));
  for (const auto& [stream, other] : still.streams()) {
    if (other.waits_for == kNone) continue;
    finding.evidence.push_back(StreamName(trace, stream) + " waits for an event of " +
                               StreamName(trace, other.waits_for) + " before " + InMessage(still.NameOf(*other.first)));
  }
  finding.subject.device = DeviceScope(trace, first.device);
  finding.subject.stream = StreamName(trace, *root);
  if (first.progress_kind == ProgressKind::kKernel) finding.subject.kernel = KernelName(trace, first.name);
  result->findings.push_back(std::move(finding));
}

// Threads that wait for each other's lock; the first of them, or none.
std::vector<uint32_t> LockCircle(const Standstill& still) {
  for (const auto& [begin, stuck] : still.threads()) {
    std::vector<uint32_t> way = {begin};
    for (uint32_t at = still.HolderOf(stuck); at != kNone && way.size() <= still.threads().size();) {
      if (at == begin) return way;
      way.push_back(at);
      const auto next = still.threads().find(at);
      at = next == still.threads().end() ? kNone : still.HolderOf(next->second);
    }
  }
  return {};
}

void AddLockFindings(const Trace& trace, Standstill& still, AnalysisResult* result) {
  const std::vector<uint32_t> circle = LockCircle(still);
  if (!circle.empty()) {
    Finding finding = NewFinding("hang.deadlock");
    std::string names;
    for (const uint32_t thread : circle) names += (names.empty() ? "" : " and ") + InMessage(ThreadName(trace, thread));
    finding.message = names + " wait for each other's locks";
    for (const uint32_t thread : circle) {
      const std::string place = still.PlaceOf(still.threads().at(thread));
      if (!place.empty()) finding.evidence.push_back(ThreadName(trace, thread) + " waits at " + place);
    }
    finding.subject.thread = ThreadName(trace, circle.front());
    result->findings.push_back(std::move(finding));
    return;
  }
  std::map<uint32_t, std::vector<uint32_t>> waiters;  // by holder
  for (const auto& [thread, stuck] : still.threads()) {
    if (still.HolderOf(stuck) != kNone) waiters[still.HolderOf(stuck)].push_back(thread);
  }
  for (const auto& [holder, threads] : waiters) {
    Finding finding = NewFinding("hang.lock");
    const auto held = still.threads().find(holder);
    finding.message =
        InMessage(ThreadName(trace, threads.front())) +
        (threads.size() > 1
             ? " and " + CountOf(static_cast<int64_t>(threads.size()) - 1, "other thread") + " wait for a lock that "
             : " waits for a lock that ") +
        InMessage(ThreadName(trace, holder)) + " holds";
    if (held != still.threads().end()) {
      finding.message += ", which is in " + InMessage(still.DoingOf(held->second));
      AddPlace(still.PlaceOf(held->second), &finding);
    }
    finding.subject.thread = ThreadName(trace, holder);
    result->findings.push_back(std::move(finding));
  }
}

// The main thread, and others that are in a call of CUDA or MPI.
void AddThreadFinding(const Trace& trace, Standstill& still, AnalysisResult* result) {
  const std::vector<ThreadRow> rows = GroupThreads(trace, still);
  if (rows.empty()) return;
  const auto text = [&](const ThreadRow& row) {
    const StuckThread& stuck = still.threads().at(row.thread);
    const std::optional<int64_t> age_ns = stuck.call == nullptr ? std::nullopt : still.AgeNs(*stuck.call);
    return ThreadName(trace, row.thread) + " was in " + InMessage(still.DoingOf(stuck)) + ForTime(age_ns);
  };
  Finding finding = NewFinding("hang.thread");
  finding.message = text(rows.front());
  AddPlace(still.PlaceOf(still.threads().at(rows.front().thread)), &finding);
  constexpr size_t kMostTold = 5;
  for (size_t i = 1; i < rows.size() && finding.evidence.size() < kMostTold; ++i) {
    const StuckThread& stuck = still.threads().at(rows[i].thread);
    const std::string place = still.PlaceOf(stuck);
    if (stuck.call == nullptr && place.empty()) continue;
    finding.evidence.push_back(text(rows[i]) + (place.empty() ? "" : " at " + place));
  }
  finding.subject.thread = ThreadName(trace, rows.front().thread);
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunHang(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  if (trace.in_progress.empty()) return result;
  Standstill still(input);
  if (still.IsAtEnd()) {
    AddXidFindings(trace, &result);
    AddLockFindings(trace, still, &result);
    AddStreamFinding(trace, still, &result);
    AddThreadFinding(trace, still, &result);
  }
  result.tables.push_back(StreamTable(trace, still, options.max_rows));
  result.tables.push_back(ThreadTable(trace, still, options.max_rows));
  result.tables.push_back(GpuTable(trace, options.max_rows));
  return result;
}

}  // namespace gprof
