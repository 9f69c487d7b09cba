// Calls of the operating system that took long: by function, by lock, by file, and the slowest.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/places/call_places.h"
#include "analysis/facts/places/python_waits.h"
#include "analysis/facts/places/stack_names.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/host/os_findings.h"
#include "base/units.h"

namespace gprof {
namespace {

// Of all threads.
Table SumTable(const Trace& trace, const AnalysisOptions& options) {
  Table table{
      "os_sum",
      "Operating system calls",
      TimeColumns(),
      {},
      "Percent of the time in all operating system calls, summed over all threads. Only long calls are recorded.",
      RowsOfRanks::kAddUp};
  table.columns.push_back({"function", "Function", Unit::kText, false});
  table.columns.push_back({"errors", "Errors", Unit::kCount, true});
  AddHistogramColumn(options, "median_ns", &table);
  struct OfFunction {
    std::vector<int64_t> durations_ns;
    int64_t errors = 0;
  };
  std::map<NameId, OfFunction> functions;
  int64_t total_ns = 0;
  for (const OsCall& call : trace.os_calls) {
    OfFunction& function = functions[call.function];
    function.durations_ns.push_back(call.DurationNs());
    function.errors += HasFailed(call);
    total_ns += call.DurationNs();
  }
  for (auto& [name, function] : functions) {
    const Statistics times = Summarize(function.durations_ns, SpreadFor(options));
    table.rows.push_back(TimeCells(times, total_ns));
    table.rows.back().emplace_back(std::string(trace.Text(name)));
    table.rows.back().emplace_back(function.errors);
    AddHistogramCell(options, times, &table.rows.back());
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  return table;
}

Table SlowestTable(const Trace& trace, CallPlaces* places, uint32_t max_rows) {
  Table table{"os_slowest",
              "Slowest operating system calls",
              {{"start_ns", "Start", Unit::kNs, false, ColumnRole::kOwn, "time since the start of the trace"},
               {"duration_ns", "Time", Unit::kNs, false},
               {"function", "Function", Unit::kText, false},
               {"object", "Object", Unit::kText, false},
               {"thread", "Thread", Unit::kText, false},
               {"holder", "Waited for", Unit::kText, false, ColumnRole::kCommon},
               {"bytes", "Bytes", Unit::kBytes, true},
               {"error", "Error", Unit::kCount, true},
               {"place", "Called from", Unit::kText, true},
               {"waker_place", "Woken from", Unit::kText, true, ColumnRole::kCommon,
                "where the thread that was waited for released the lock or ended the wait"},
               {"stack", "Stack", Unit::kText, true}},
              {},
              "",
              RowsOfRanks::kApart,
              true};
  std::vector<const OsCall*> calls;
  for (const OsCall& call : trace.os_calls) calls.push_back(&call);
  const size_t shown = RowsShown(calls.size(), max_rows);
  std::partial_sort(calls.begin(), calls.begin() + static_cast<ptrdiff_t>(shown), calls.end(),
                    [](const OsCall* a, const OsCall* b) {
                      return std::pair(-a->DurationNs(), a->start_ns) < std::pair(-b->DurationNs(), b->start_ns);
                    });
  StackNames stacks(trace);
  PythonWaits waits(trace);
  for (size_t i = 0; i < shown; ++i) {
    const OsCall& call = *calls[i];
    const OsCallKind kind = KindOf(call);
    table.rows.push_back({call.start_ns - trace.start_ns, call.DurationNs(), std::string(trace.Text(call.function)),
                          ObjectName(trace, kind, waits.WordFor(call)), ThreadName(trace, call.thread),
                          HolderName(trace, kind), static_cast<int64_t>(call.size_bytes),
                          static_cast<int64_t>(call.error), (*places)(call.stack), (*places)(call.waker_stack),
                          stacks(call.stack)});
  }
  CountLeftOut(&table, calls.size());
  return table;
}

// " at loader.py:41" of "loader.py:41 (load)".
std::string At(const std::string& place) { return place.empty() ? "" : " at " + place.substr(0, place.find(" (")); }

Table LockTable(const AnalysisInput& input, CallPlaces* places, uint32_t max_rows) {
  const Trace& trace = input.trace();
  Table table{"os_locks",
              "Lock contention",
              {{"total_ns", "Total", Unit::kNs, false},
               {"waits", "Waits", Unit::kCount, false},
               {"max_ns", "Longest", Unit::kNs, false, ColumnRole::kMost},
               {"waiters", "Threads", Unit::kCount, false, "number of threads that waited"},
               {"lock", "Lock", Unit::kText, false},
               {"waiter", "Main waiter", Unit::kText, false},
               {"holder", "Main holder", Unit::kText, false, ColumnRole::kCommon,
                "held the lock for most of the waiting time, where recorded"},
               {"place", "Waited in", Unit::kText, true},
               {"released", "Released in", Unit::kText, true, "the place that ended most of it, where recorded"}},
              {},
              ""};
  struct OfLock {
    int64_t total_ns = 0, waits = 0, max_ns = 0;
    std::map<uint32_t, int64_t> waiters, holders;
    PlaceSums places, released;
  };
  const OsCallKinds& kinds = input.shared().os_call_kinds();
  // Python makes a semaphore for each wait: what it waits for is told by its own word and the line.
  std::map<std::pair<OsCallKind, std::string>, OfLock> locks;
  PythonWaits waits(trace);
  for (const OsCall& call : trace.os_calls) {
    if (!IsLock(call.object_kind)) continue;
    const std::string& word = waits.WordFor(call);
    OfLock& lock = word.empty() ? locks[{ThingOf(kinds.KindOf(call)), ""}]
                                : locks[{OsCallKind{}, word + At((*places)(call.stack))}];
    ++lock.waits;
    lock.total_ns += call.DurationNs();
    lock.max_ns = std::max(lock.max_ns, call.DurationNs());
    lock.waiters[call.thread] += call.DurationNs();
    lock.places.Add((*places)(call.stack), call.DurationNs());
    lock.released.Add((*places)(call.waker_stack), call.DurationNs());
    if (call.other_thread != kNone) lock.holders[call.other_thread] += call.DurationNs();
  }
  const auto name = [&](uint32_t thread) { return thread == kNone ? std::string() : ThreadName(trace, thread); };
  for (const auto& [thing, lock] : locks) {
    const auto& [kind, word] = thing;
    const std::string object = ObjectName(trace, kind, word);
    table.rows.push_back({lock.total_ns, lock.waits, lock.max_ns, static_cast<int64_t>(lock.waiters.size()),
                          object.empty() ? ObjectWord(kind.object_kind) : object, name(LargestOf(lock.waiters, kNone)),
                          name(LargestOf(lock.holders, kNone)), lock.places.Main(), lock.released.Main()});
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
               {"mean_bytes", "Mean size", Unit::kBytes, false, ColumnRole::kMean},
               {"bytes_per_second", "Rate", Unit::kBytesPerSecond, false, "bytes divided by call time"},
               {"function", "Function", Unit::kText, false, "the call with the most time"},
               {"path", "File", Unit::kText, false},
               {"errors", "Errors", Unit::kCount, true},
               {"place", "Called from", Unit::kText, true}},
              {},
              "",
              RowsOfRanks::kAddUp};
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
    file.errors += HasFailed(call);
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
    for (const ThreadWait& wait : input.shared().host().waits.WaitsOf(thread)) {
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
  return std::ranges::all_of(trace.os_calls, [&](const OsCall& call) {
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

}  // namespace

AnalysisResult RunOsCalls(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  AddMetrics(input, &result);
  AddFileMetrics(trace, &result);
  result.tables.push_back(SumTable(trace, options));
  CallPlaces places(trace, input.shared().python_lines());
  result.tables.push_back(LockTable(input, &places, options.max_rows));
  result.tables.push_back(FileTable(trace, &places, options.max_rows));
  result.tables.push_back(SlowestTable(trace, &places, options.max_rows));
  if (!trace.os_calls.empty()) result.findings = OsFindings(input, &places);
  return result;
}

}  // namespace gprof
