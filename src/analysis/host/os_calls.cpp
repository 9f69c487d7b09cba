// Calls of the operating system that took long: by function, by lock, by file, and the slowest.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/host/host_gaps.h"
#include "analysis/host/os_call_kinds.h"
#include "analysis/host/thread_activity.h"
#include "analysis/host/worker_activity.h"
#include "analysis/places/call_places.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/stack_names.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentInWaits = 1;  // of the window of the GPUs
constexpr int64_t kPiecesOfAFile = 100, kSmallPieceBytes = 4096;

// Of all threads.
Table SumTable(const Trace& trace, uint32_t max_rows) {
  Table table{
      "os_sum",
      "Operating system calls",
      TimeColumns(),
      {},
      "Percent of the time in all operating system calls, summed over all threads. Only long calls are recorded."};
  table.columns.push_back({"function", "Function", Unit::kText, false});
  table.columns.push_back({"errors", "Errors", Unit::kCount, true});
  struct OfFunction {
    std::vector<int64_t> durations_ns;
    int64_t errors = 0;
  };
  std::map<NameId, OfFunction> functions;
  int64_t total_ns = 0;
  for (const OsCall& call : trace.os_calls) {
    OfFunction& function = functions[call.function];
    function.durations_ns.push_back(call.DurationNs());
    function.errors += call.error != 0;
    total_ns += call.DurationNs();
  }
  for (auto& [name, function] : functions) {
    table.rows.push_back(TimeCells(Summarize(function.durations_ns), total_ns));
    table.rows.back().emplace_back(std::string(trace.Text(name)));
    table.rows.back().emplace_back(function.errors);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, max_rows);
  return table;
}

Table SlowestTable(const Trace& trace, CallPlaces* places, uint32_t max_rows) {
  Table table{"os_slowest",
              "Slowest operating system calls",
              {{"start_ns", "Start", Unit::kNs, false},
               {"duration_ns", "Time", Unit::kNs, false},
               {"function", "Function", Unit::kText, false},
               {"object", "Object", Unit::kText, false},
               {"thread", "Thread", Unit::kText, false},
               {"holder", "Waited for", Unit::kText, false},
               {"bytes", "Bytes", Unit::kBytes, true},
               {"error", "Error", Unit::kCount, true},
               {"place", "Called from", Unit::kText, true},
               {"stack", "Stack", Unit::kText, true}},
              {},
              "Start: time since the start of the trace.",
              true};
  std::vector<const OsCall*> calls;
  for (const OsCall& call : trace.os_calls) calls.push_back(&call);
  const size_t shown = RowsShown(calls.size(), max_rows);
  std::partial_sort(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(shown), calls.end(),
                    [](const OsCall* a, const OsCall* b) {
                      return std::pair(-a->DurationNs(), a->start_ns) < std::pair(-b->DurationNs(), b->start_ns);
                    });
  StackNames stacks(trace);
  for (size_t i = 0; i < shown; ++i) {
    const OsCall& call = *calls[i];
    const OsCallKind kind = KindOf(call);
    table.rows.push_back({call.start_ns - trace.start_ns, call.DurationNs(), std::string(trace.Text(call.function)),
                          ObjectName(trace, kind), ThreadName(trace, call.thread), HolderName(trace, kind),
                          static_cast<int64_t>(call.size_bytes), static_cast<int64_t>(call.error),
                          (*places)(call.stack), stacks(call.stack)});
  }
  NoteLeftOut(&table, calls.size());
  return table;
}

// The same lock or file, whatever is called for it and whoever has it.
OsCallKind ThingOf(const OsCallKind& call) {
  OsCallKind thing = call;
  thing.function = {};
  thing.other_thread = kNone;
  return thing;
}

// The key with the largest value, the first of several; `none` without any.
template <class Key>
Key LargestOf(const std::map<Key, int64_t>& all, Key none) {
  Key largest = none;
  int64_t value = 0;
  for (const auto& [key, of_key] : all) {
    if (of_key > value) largest = key, value = of_key;
  }
  return largest;
}

Table LockTable(const Trace& trace, CallPlaces* places, uint32_t max_rows) {
  Table table{"os_locks",
              "Lock contention",
              {{"total_ns", "Total", Unit::kNs, false},
               {"waits", "Waits", Unit::kCount, false},
               {"max_ns", "Longest", Unit::kNs, false},
               {"waiters", "Threads", Unit::kCount, false},
               {"lock", "Lock", Unit::kText, false},
               {"waiter", "Main waiter", Unit::kText, false},
               {"holder", "Main holder", Unit::kText, false},
               {"place", "Waited in", Unit::kText, true}},
              {},
              "Threads: number of threads that waited. Main holder: held the lock for most of the waiting time, where "
              "recorded."};
  struct OfLock {
    int64_t total_ns = 0, waits = 0, max_ns = 0;
    std::map<uint32_t, int64_t> waiters, holders;
    PlaceSums places;
  };
  const OsCallKinds kinds(trace);
  std::map<OsCallKind, OfLock> locks;
  for (const OsCall& call : trace.os_calls) {
    if (!IsLock(call.object_kind)) continue;
    OfLock& lock = locks[ThingOf(kinds.Of(call))];
    ++lock.waits;
    lock.total_ns += call.DurationNs();
    lock.max_ns = std::max(lock.max_ns, call.DurationNs());
    lock.waiters[call.thread] += call.DurationNs();
    lock.places.Add((*places)(call.stack), call.DurationNs());
    if (call.other_thread != kNone) lock.holders[call.other_thread] += call.DurationNs();
  }
  const auto name = [&](uint32_t thread) { return thread == kNone ? std::string() : ThreadName(trace, thread); };
  for (const auto& [kind, lock] : locks) {
    const std::string object = ObjectName(trace, kind);
    table.rows.push_back({lock.total_ns, lock.waits, lock.max_ns, static_cast<int64_t>(lock.waiters.size()),
                          object.empty() ? ObjectWord(kind.object_kind) : object, name(LargestOf(lock.waiters, kNone)),
                          name(LargestOf(lock.holders, kNone)), lock.places.Main()});
  }
  SortAndCut(&table, 0, 4, max_rows);
  return table;
}

Table FileTable(const Trace& trace, CallPlaces* places, uint32_t max_rows) {
  Table table{"os_files",
              "File I/O",
              {{"total_ns", "Total", Unit::kNs, false},
               {"calls", "Calls", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"mean_bytes", "Mean size", Unit::kBytes, false},
               {"bytes_per_second", "Rate", Unit::kBytesPerSecond, false},
               {"function", "Function", Unit::kText, false},
               {"path", "File", Unit::kText, false},
               {"errors", "Errors", Unit::kCount, true},
               {"place", "Called from", Unit::kText, true}},
              {},
              "Function: the call with the most time. Rate: bytes divided by call time."};
  struct OfFile {
    int64_t total_ns = 0, calls = 0, bytes = 0, errors = 0;
    std::map<NameId, int64_t> functions;
    PlaceSums places;
  };
  std::map<OsCallKind, OfFile> files;
  for (const OsCall& call : trace.os_calls) {
    if (!IsInOut(call.object_kind)) continue;
    OfFile& file = files[ThingOf(KindOf(call))];
    ++file.calls;
    file.total_ns += call.DurationNs();
    file.bytes += static_cast<int64_t>(call.size_bytes);
    file.errors += call.error != 0;
    file.functions[call.function] += call.DurationNs();
    file.places.Add((*places)(call.stack), call.DurationNs());
  }
  for (const auto& [kind, file] : files) {
    const double seconds = static_cast<double>(file.total_ns) / 1e9;
    table.rows.push_back({file.total_ns, file.calls, file.bytes,
                          static_cast<double>(file.bytes) / static_cast<double>(file.calls),
                          seconds > 0 && file.bytes > 0 ? Cell(static_cast<double>(file.bytes) / seconds) : Cell(),
                          std::string(trace.Text(LargestOf(file.functions, NameId{}))), ObjectName(trace, kind),
                          file.errors, file.places.Main()});
  }
  SortAndCut(&table, 0, 6, max_rows);
  return table;
}

// Of threads that make CUDA calls: those of others may wait for work all day long.
void AddMetrics(const AnalysisInput& input, AnalysisResult* result) {
  const Trace& trace = input.trace();
  if (trace.os_calls.empty()) return;
  struct Sum {
    int64_t calls = 0, blocked_ns = 0;
  };
  const auto makes_cuda_calls = [&](uint32_t thread) {
    return thread != kNone && trace.thread_api_calls[thread].first != trace.thread_api_calls[thread].last;
  };
  std::map<std::string, Sum> sums;
  Sum all;
  for (const OsCall& call : trace.os_calls) {
    if (!makes_cuda_calls(call.thread)) continue;
    ++all.calls;
    ++sums[std::string(trace.Text(call.function))].calls;
  }
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    if (!makes_cuda_calls(thread)) continue;
    for (const ThreadWait& wait : input.shared().host().waits.Of(thread)) {
      if (!wait.IsOsCall()) continue;
      all.blocked_ns += wait.end_ns - wait.start_ns;
      sums[std::string(trace.Text(trace.os_calls[wait.call].function))].blocked_ns += wait.end_ns - wait.start_ns;
    }
  }
  AddMetric(result, "os.calls", all.calls);
  AddMetric(result, "os.blocked_ns", all.blocked_ns);
  for (const auto& [function, sum] : sums) {
    AddMetric(result, "os.calls", sum.calls, "os:" + function);
    AddMetric(result, "os.blocked_ns", sum.blocked_ns, "os:" + function);
  }
}

// As the tracer says it (src/tracer/capture/capture_mode.cpp).
bool HasAllFileCalls(const Trace& trace) {
  return std::all_of(trace.os_calls.begin(), trace.os_calls.end(), [&](const OsCall& call) {
    return call.process != kNone &&
           trace.Text(trace.processes[call.process].capture_mode).find("all calls on files") != std::string_view::npos;
  });
}

// Of all threads: where every call on a file is recorded, their number is that of the program. What had no name when it
// was looked up may be a pipe.
void AddFileMetrics(const Trace& trace, AnalysisResult* result) {
  if (trace.os_calls.empty() || !HasAllFileCalls(trace)) return;
  std::map<std::string, int64_t> calls;
  int64_t all = 0, bytes = 0;
  for (const OsCall& call : trace.os_calls) {
    if (call.object_kind != trace::OsObject::kFile || call.path == NameId{}) continue;
    ++all;
    bytes += static_cast<int64_t>(call.size_bytes);
    ++calls[std::string(trace.Text(call.function))];
  }
  AddMetric(result, "os.file_calls", all);
  AddMetric(result, "os.file_bytes", bytes);
  for (const auto& [function, count] : calls) AddMetric(result, "os.file_calls", count, "os:" + function);
}

// Idle time in waits of one thread for one thing.
struct WaitSum {
  int64_t idle_ns = 0, calls = 0, bytes = 0;
  std::map<NameId, int64_t> functions;  // idle time by function
  std::map<uint32_t, int64_t> holders;
  std::string place;      // that made those calls, in the most time
  std::string meanwhile;  // what the thread did that was waited for most
  std::string workers;    // what the processes did that this one started
  OsCallKind main;        // the thing and the call with the most idle time
  int64_t main_ns = 0;    // of that
  int64_t more_things = 0;
  void Add(const WaitSum& more) {
    idle_ns += more.idle_ns, calls += more.calls, bytes += more.bytes, more_things += 1 + more.more_things;
    for (const auto& [function, ns] : more.functions) functions[function] += ns;
  }
};
using WaitSums = std::map<std::pair<OsCallKind, uint32_t>, WaitSum>;

// A semaphore tells that something is there; who holds it, if anybody, is not known. Who calls futex directly is a
// thread pool more often than a lock: its threads wait for work.
bool IsHandover(trace::OsObject kind) {
  using enum trace::OsObject;
  return kind == kCondition || kind == kSemaphore || kind == kFutex || kind == kBarrier || kind == kThread ||
         kind == kProcess || kind == kPipe || kind == kSocket || kind == kPoll;
}

// Whatever it came through: workers of a data loader have a pipe, and for each batch a socket.
OsCallKind SubjectOf(const OsCallKind& kind) {
  if (!IsHandover(kind.object_kind)) return ThingOf(kind);
  OsCallKind handover;
  handover.object_kind = trace::OsObject::kPoll;
  return handover;
}

void SetPlaces(const Trace& trace, CallPlaces* places, WaitSums* sums) {
  std::map<WaitSums::key_type, PlaceSums> of_sums;
  for (const OsCall& call : trace.os_calls) {
    if (call.stack == kNone) continue;
    of_sums[{SubjectOf(KindOf(call)), call.thread}].Add(places->OfProgram(call.stack), call.DurationNs());
  }
  for (auto& [key, sum] : *sums) {
    const auto found = of_sums.find(key);
    if (found != of_sums.end()) sum.place = found->second.Main();
  }
}

// Of the waits of one thread for one thing, `holder` alone or, with kNone, whoever had it.
std::vector<Interval> TimesOf(const Trace& trace, const WaitSums::key_type& key, uint32_t holder) {
  std::vector<Interval> times;
  for (const OsCall& call : trace.os_calls) {
    if (call.thread != key.second || (holder != kNone && call.other_thread != holder)) continue;
    const OsCallKind subject = SubjectOf(KindOf(call));
    if (!(subject < key.first) && !(key.first < subject)) times.push_back({call.start_ns, call.end_ns});
  }
  return times;
}

// Of the thread that was waited for most. Where it waits, too, is not known or is one of several workers, the processes
// that this one started may be what all of them wait for.
void SetActivities(const Trace& trace, CallPlaces* places, WaitSums* sums) {
  for (auto& [key, sum] : *sums) {
    const uint32_t holder = LargestOf(sum.holders, kNone);
    const uint32_t process = key.second == kNone ? kNone : trace.threads[key.second].process;
    const bool is_of_us = holder != kNone && trace.threads[holder].process == process;
    if (is_of_us) sum.meanwhile = MainActivity(trace, holder, TimesOf(trace, key, holder), places);
    const bool is_busy = !sum.meanwhile.empty() && !sum.meanwhile.starts_with("in ");
    if (!is_busy && process != kNone && IsHandover(key.first.object_kind))
      sum.workers = WorkerActivity(trace, process, TimesOf(trace, key, kNone), places);
    if (holder == kNone || is_of_us || !sum.workers.empty()) continue;
    sum.meanwhile = MainActivity(trace, holder, TimesOf(trace, key, holder), places);
  }
}

// One after the other, as where each step writes a file of its own: they are told as one.
void JoinFiles(WaitSums* sums) {
  constexpr int64_t kManyFiles = 4;
  std::map<uint32_t, std::vector<WaitSums::iterator>> files_of;  // by thread
  for (auto at = sums->begin(); at != sums->end(); ++at) {
    if (at->first.first.object_kind == trace::OsObject::kFile) files_of[at->first.second].push_back(at);
  }
  for (auto& [thread, files] : files_of) {
    int64_t idle_ns = 0;
    for (const auto& file : files) idle_ns += file->second.idle_ns;
    const auto most = *std::max_element(
        files.begin(), files.end(), [](const auto& a, const auto& b) { return a->second.idle_ns < b->second.idle_ns; });
    if (std::ssize(files) < kManyFiles || 2 * most->second.idle_ns > idle_ns) continue;
    for (const auto& file : files) {
      if (file == most) continue;
      most->second.Add(file->second);
      sums->erase(file);
    }
  }
}

WaitSums SumsOfThings(const HostGaps& host) {
  WaitSums sums;
  for (const IdleInWait& wait : host.judged_waits) {
    WaitSum& sum = sums[{SubjectOf(wait.kind), wait.thread}];
    if (sum.idle_ns == 0) sum.main = wait.kind, sum.main_ns = wait.idle_ns;  // they come with the longest first
    sum.idle_ns += wait.idle_ns;
    sum.calls += wait.calls;
    sum.bytes += wait.bytes;
    sum.functions[wait.kind.function] += wait.idle_ns;
    if (wait.kind.other_thread != kNone) sum.holders[wait.kind.other_thread] += wait.idle_ns;
  }
  JoinFiles(&sums);
  return sums;
}

// The one with the most, where it is known of most of the time who was waited for.
uint32_t HolderOfMost(const WaitSum& sum) {
  int64_t known_ns = 0;
  for (const auto& [holder, idle_ns] : sum.holders) known_ns += idle_ns;
  return known_ns * 2 < sum.idle_ns ? kNone : LargestOf(sum.holders, kNone);
}

bool IsInSmallPieces(const WaitSum& sum) {
  return sum.calls >= kPiecesOfAFile && sum.bytes > 0 && sum.bytes <= sum.calls * kSmallPieceBytes;
}

// What is told of waits of one thread for one thing.
class WaitWords {
 public:
  WaitWords(const Trace& trace, const OsCallKind& kind, uint32_t thread, const WaitSum& sum)
      : trace_(trace),
        kind_(kind),
        sum_(sum),
        thread_(ThreadName(trace, thread)),
        function_(trace.Text(LargestOf(sum.functions, NameId{}))),
        name_(ObjectName(trace, kind) + AndMore(sum)),
        idle_(FormatNs(static_cast<double>(sum.idle_ns))) {
    if (const uint32_t holder = HolderOfMost(sum); holder != kNone) holder_ = ThreadName(trace, holder);
    if (!sum.place.empty()) from_ = ", called from " + sum.place;
  }

  std::optional<Finding> FindingOf(double percent) const {
    if (kind_.object_kind == trace::OsObject::kGil) return Make(NewFinding("os.gil", percent), Lock("the GIL"));
    if (IsHandover(kind_.object_kind)) {
      Finding finding = Make(NewFinding("os.handover", percent), Handover());
      if (IsDataLoader()) {
        finding.advice =
            "Give the DataLoader more workers (num_workers), let each work further ahead (prefetch_factor), keep them "
            "from one epoch to the next (persistent_workers=True), or do less for each sample.";
      }
      return finding;
    }
    if (IsLock(kind_.object_kind)) return Make(NewFinding("os.lock", percent), Lock(name_.empty() ? "a lock" : name_));
    if (kind_.object_kind == trace::OsObject::kTimer) return Make(NewFinding("os.sleep", percent), Sleep());
    if (!IsInOut(kind_.object_kind)) return std::nullopt;
    return IsInSmallPieces(sum_) ? Make(NewFinding("os.small_pieces", percent), Pieces())
                                 : Make(NewFinding("os.file", percent), File());
  }

 private:
  static std::string AndMore(const WaitSum& sum) {
    return sum.more_things == 0 ? "" : " and " + CountOf(sum.more_things, "more file");
  }
  Finding Make(Finding finding, std::string message) const {
    finding.message = std::move(message);
    finding.subject.thread = thread_;
    finding.subject.function = function_;
    finding.gain_ns = sum_.idle_ns;
    finding.basis = "GPU idle time in those calls";
    return finding;
  }
  std::string Meanwhile() const { return sum_.meanwhile.empty() ? "" : ", most of the time " + sum_.meanwhile; }
  std::string HeldBy() const { return holder_.empty() ? "" : "; held by " + holder_ + Meanwhile(); }
  std::string WokenBy() const { return holder_.empty() ? "" : "; woken by " + holder_ + Meanwhile(); }
  std::string Workers() const { return sum_.workers.empty() ? "" : "; " + sum_.workers; }
  std::string Lock(const std::string& what) const {
    return thread_ + " waited " + CountOf(sum_.calls, "time") + " for " + what + " while the GPU was idle: " + idle_ +
           " in " + function_ + from_ + HeldBy();
  }
  bool IsDataLoader() const { return holder_.starts_with("pt_data"); }  // as PyTorch calls its threads
  // One of many semaphores is not worth its number.
  std::string MainCall() const { return 2 * sum_.main_ns >= sum_.idle_ns ? CallName(trace_, sum_.main) : function_; }
  std::string Handover() const {
    const std::string_view whom = holder_.starts_with("pt_data")                       ? "PyTorch's DataLoader"
                                  : sum_.main.object_kind == trace::OsObject::kProcess ? "another process"
                                  : sum_.main.object_kind == trace::OsObject::kSocket  ? "another process or machine"
                                                                                       : "another thread or process";
    return thread_ + " waited " + CountOf(sum_.calls, "time") + " for " + std::string(whom) +
           " while the GPU was idle: " + idle_ + ", most of it in " + MainCall() + from_ + WokenBy() + Workers();
  }
  std::string Sleep() const {
    return thread_ + " slept " + CountOf(sum_.calls, "time") + " while the GPU was idle: " + idle_ + " in " +
           function_ + from_;
  }
  std::string Verb() const { return function_.find("write") != std::string::npos ? " writes " : " reads "; }
  std::string Pieces() const {
    return thread_ + Verb() + name_ + " in pieces of " +
           FormatBytes(static_cast<double>(sum_.bytes) / static_cast<double>(sum_.calls)) + ": " +
           CountOf(sum_.calls, "call") + " to " + function_ + from_ + ", " + idle_ + " of GPU idle time";
  }
  std::string File() const {
    std::string text = thread_ + " waited " + CountOf(sum_.calls, "time") + " for " +
                       (name_.empty() ? "a file" : name_) + " while the GPU was idle: " + idle_ + " in " + function_ +
                       from_;
    if (sum_.bytes > 0) text += ", " + FormatBytes(static_cast<double>(sum_.bytes));
    return text;
  }

  const Trace& trace_;
  const OsCallKind& kind_;
  const WaitSum& sum_;
  const std::string thread_, function_, name_, idle_;
  std::string holder_, from_;
};

std::vector<Finding> Findings(const AnalysisInput& input, CallPlaces* places) {
  const int64_t window_ns = input.shared().window_ns();
  std::vector<Finding> findings;
  WaitSums sums = SumsOfThings(input.shared().host_gaps(input));
  std::erase_if(sums, [&](const auto& entry) {
    return entry.second.calls == 0 || PercentOf(entry.second.idle_ns, window_ns) < kPercentInWaits;
  });
  SetPlaces(input.trace(), places, &sums);
  SetActivities(input.trace(), places, &sums);
  for (const auto& [key, sum] : sums) {
    const double percent = PercentOf(sum.idle_ns, window_ns);
    std::optional<Finding> finding = WaitWords(input.trace(), key.first, key.second, sum).FindingOf(percent);
    if (finding) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace

AnalysisResult RunOsCalls(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  AddMetrics(input, &result);
  AddFileMetrics(trace, &result);
  result.tables.push_back(SumTable(trace, options.max_rows));
  CallPlaces places(trace, input.shared().python_lines());
  result.tables.push_back(LockTable(trace, &places, options.max_rows));
  result.tables.push_back(FileTable(trace, &places, options.max_rows));
  result.tables.push_back(SlowestTable(trace, &places, options.max_rows));
  if (!trace.os_calls.empty()) result.findings = Findings(input, &places);
  return result;
}

}  // namespace gprof
