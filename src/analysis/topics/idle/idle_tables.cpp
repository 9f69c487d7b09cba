// Idle time by cause and by call, and the longest gaps.
#include "analysis/topics/idle/idle_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr size_t kTimeColumn = 1;

std::string WhyUnknown(const IdleSummary& summary) {
  constexpr std::pair<UnknownReason, const char*> kReasons[] = {
      {UnknownReason::kNoCalls, "no CUDA calls were recorded"},
      {UnknownReason::kIncomplete, "the trace is incomplete"},
      {UnknownReason::kNoCall, "the call was made before recording started or by an untraced component"},
      {UnknownReason::kBeforeProcess, "the process that launched next had not started yet"},
      {UnknownReason::kBeforeCapture, "the call was made before the capture"},
      {UnknownReason::kNotRecorded, "the process that launched next was not being recorded"},
      {UnknownReason::kCaptureEnded, "the capture ended before the next operation"},
      {UnknownReason::kNotSelected, "the next operation is outside the selection"}};
  std::string text;
  for (const auto& [reason, words] : kReasons) {
    const int64_t idle_ns = summary.UnknownNs(reason);
    if (idle_ns == 0) continue;
    text += (text.empty() ? " Unknown: " : "; ") + FormatNs(idle_ns) + " because " + words;
  }
  return text.empty() ? text : text + ".";
}

std::string NameBefore(const Trace& trace, const GapStory& story) {
  if (story.gap.is_cut_before) return "(start of the capture)";
  return story.op_before == kNone ? "(start of the selection)" : OpName(trace, trace.ops[story.op_before]);
}

std::vector<Cell> GapRow(const Trace& trace, const GapStory& story) {
  const GpuOp after = OpAfter(trace, story.gap);
  const std::optional<ApiCall> call = CallAfter(trace, story.gap);
  std::vector<Cell> row = {story.gap.start_ns - trace.start_ns,
                           story.gap.DurationNs(),
                           DeviceScope(trace, story.device),
                           SplitText(story.split),
                           PathName(trace, story.path),
                           NameBefore(trace, story),
                           story.gap.is_cut_after ? "(end of the capture)" : OpName(trace, after),
                           !call ? FunctionName(trace, kNone) : std::string(trace.Text(call->function)),
                           ThreadName(trace, !call ? kNone : call->thread),
                           int64_t{1}};
  ForEachCause([&](Cause cause) { row.emplace_back(story.split[cause]); });
  return row;
}

// What --min-gap keeps from having a row of its own, so that the column still sums to the idle time.
std::vector<Cell> ShorterRow(const ShorterGaps& shorter) {
  const std::string none;
  std::vector<Cell> row = {std::monostate{},
                           shorter.split.Total(),
                           none,
                           SplitText(shorter.split),
                           "(" + CountOf(shorter.gaps, "shorter gap") + ")",
                           none,
                           none,
                           none,
                           none,
                           shorter.gaps};
  ForEachCause([&](Cause cause) { row.emplace_back(shorter.split[cause]); });
  return row;
}

int64_t RecordedNs(const RecordedTime& recorded, uint32_t process, int64_t from_ns, int64_t to_ns) {
  return from_ns < to_ns ? recorded.ForEachOfProcess(process, from_ns, to_ns, [](int64_t, int64_t) {}) : 0;
}

// The processes in the order in which they first use the device, and when it was done.
std::vector<uint32_t> ProcessesOn(const Trace& trace, const OpFacts& ops, uint32_t device, int64_t* end_ns) {
  std::vector<std::pair<uint32_t, uint32_t>> first_ops;  // and their process
  for (uint32_t i = 0; i < ops.sums().size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    const OpFacts::Sum& sum = ops.sums()[i];
    if (traits.device != device || sum.count == 0) continue;
    *end_ns = std::max(*end_ns, sum.window.end_ns);
    if (traits.process != kNone) first_ops.emplace_back(sum.first, traits.process);
  }
  std::ranges::sort(first_ops);
  std::vector<uint32_t> processes;
  std::vector<uint8_t> is_known(trace.processes.size(), 0);
  for (const auto& [op, process] : first_ops) {
    if (std::exchange(is_known[process], uint8_t{1}) == 0) processes.push_back(process);
  }
  return processes;
}

}  // namespace

std::string SplitText(const CauseSplit& split) {
  std::vector<Cause> causes;
  ForEachCause([&](Cause cause) {
    if (PercentOf(split[cause], split.Total()) >= 1) causes.push_back(cause);
  });
  std::ranges::stable_sort(causes, [&](Cause a, Cause b) { return split[a] > split[b]; });
  std::string text;
  for (Cause cause : causes) {
    text += (text.empty() ? "" : ", ") + std::string(InfoOf(cause).name) + " " +
            FormatPercent(PercentOf(split[cause], split.Total()));
  }
  return text;
}

Table IdleCauseTable(const Trace& trace, const IdleSummary& summary) {
  Table table{"idle",
              "Why the GPU was idle",
              {{"percent", "Idle (%)", Unit::kPercent, false},
               {"idle_ns", "Time", Unit::kNs, false},
               {"gaps", "Gaps", Unit::kCount, false},
               {"cause", "Cause", Unit::kText, false},
               {"meaning", "Meaning", Unit::kText, false, ColumnRole::kCommon}},
              {},
              "Percent of the idle time.",
              RowsOfRanks::kAddUp};
  if (!IsRecordedWhole(trace)) table.note += " Time between captures was not recorded and does not count as idle.";
  const DeviceIdle sum = summary.Sum();
  ForEachCause([&](Cause cause) {
    if (sum.split[cause] == 0) return;
    table.rows.push_back({PercentOf(sum.split[cause], sum.split.Total()), sum.split[cause], summary.GapsWith(cause),
                          std::string(InfoOf(cause).name), std::string(InfoOf(cause).meaning)});
  });
  std::ranges::stable_sort(
      table.rows, [](const auto& a, const auto& b) { return std::get<int64_t>(a[1]) > std::get<int64_t>(b[1]); });
  table.note += WhyUnknown(summary);
  return table;
}

Table IdleCallTable(const Trace& trace, const IdleSummary& summary, uint32_t max_rows) {
  Table table{"idle_by_call",
              "Idle by CUDA call",
              {{"percent", "Idle (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"idle_ns", "Time", Unit::kNs, false},
               {"cause", "Cause", Unit::kText, false},
               {"function", "Call", Unit::kText, false}},
              {},
              "Percent of all idle time. For launch and queue: the launch call; otherwise the call the host was in.",
              RowsOfRanks::kAddUp};
  const int64_t idle_ns = summary.Sum().split.Total();
  for (const auto& entry : summary.by_call()) {
    // Not structured bindings: clang 14 does not let a lambda capture them.
    const auto& function = entry.first;
    const auto& split = entry.second;
    ForEachCause([&](Cause cause) {
      if (split[cause] == 0) return;
      table.rows.push_back({PercentOf(split[cause], idle_ns), split[cause], std::string(InfoOf(cause).name),
                            std::string(trace.Text(function))});
    });
  }
  SortAndCut(&table, kTimeColumn, 3, max_rows);
  return table;
}

Table GapTable(const Trace& trace, const IdleSummary& summary, const AnalysisOptions& options) {
  Table table{"gaps",
              "Longest idle gaps",
              {{"start_ns", "Start", Unit::kNs, false, ColumnRole::kOwn, "time since the start of the trace"},
               {"duration_ns", "Length", Unit::kNs, false},
               {"device", "GPU", Unit::kText, true, ColumnRole::kOwn},
               {"split", "Causes", Unit::kText, false, ColumnRole::kCommon},
               {"path", "NVTX range", Unit::kText, false},
               {"before", "Operation before", Unit::kText, true},
               {"after", "Operation after", Unit::kText, true},
               {"call", "Launched by", Unit::kText, true},
               {"thread", "Thread", Unit::kText, true},
               {"gaps", "Gaps", Unit::kCount, true}},
              {},
              ""};
  ForEachCause([&](Cause cause) {
    const std::string name(InfoOf(cause).name);
    table.columns.push_back({name + "_ns", name, Unit::kNs, true});
  });
  int64_t shown_ns = 0;
  for (const GapStory& story : summary.longest()) {
    table.rows.push_back(GapRow(trace, story));
    shown_ns += story.gap.DurationNs();
  }
  const ShorterGaps& shorter = summary.shorter();
  if (shorter.gaps > 0) {
    table.rows.push_back(ShorterRow(shorter));
    AddToNote(&table, "Shorter gaps: below " + FormatNs(options.min_gap_ns) + ".");
  }
  const DeviceIdle sum = summary.Sum();
  const int64_t more = sum.gaps - shorter.gaps - static_cast<int64_t>(summary.longest().size());
  if (more > 0) {
    const int64_t more_ns = sum.split.Total() - shorter.split.Total() - shown_ns;
    AddToNote(&table, CountOf(more, "more gap") + " not shown, " + FormatNs(more_ns) + ".");
  }
  return table;
}

namespace {

// What recording took of a process within a time: no start-up of the program's.
int64_t ProfilerNs(const Trace& trace, const RecordedTime& recorded, uint32_t process, int64_t from_ns, int64_t to_ns) {
  IntervalSet taken;
  for (const Overhead& overhead : trace.overheads) {
    if (overhead.start_ns >= to_ns) break;
    const bool is_its = overhead.process == process;
    if (is_its && IsRecording(overhead.kind))
      taken.Add(std::max(overhead.start_ns, from_ns), std::clamp(overhead.end_ns, from_ns, to_ns));
  }
  int64_t sum_ns = 0;
  for (const Interval& interval : taken.intervals())
    sum_ns += RecordedNs(recorded, process, interval.start_ns, interval.end_ns);
  return sum_ns;
}

}  // namespace

std::vector<StartupTeardown> StartupsAndTeardowns(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const RecordedTime& recorded = input.shared().recorded();
  std::vector<StartupTeardown> all;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    const Trace::Slice slice = trace.device_ops[device];
    if (slice.first == slice.last) continue;
    const bool is_selected = !trace.device_windows.empty();
    const int64_t start_ns = is_selected ? trace.device_windows[device].time.start_ns : trace.ops[slice.first].start_ns;
    int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : start_ns;
    const size_t first = all.size();
    for (const uint32_t process : ProcessesOn(trace, input.shared().ops(), device, &end_ns)) {
      all.push_back({device, process, 0, 0});
    }
    for (size_t i = first; i < all.size(); ++i) {
      const Process& process = trace.processes[all[i].process];
      const int64_t began_ns = std::min(process.end_ns, start_ns);
      all[i].startup_ns = RecordedNs(recorded, all[i].process, process.start_ns, began_ns);
      all[i].startup_ns -= ProfilerNs(trace, recorded, all[i].process, process.start_ns, began_ns);
      all[i].teardown_ns = RecordedNs(recorded, all[i].process, std::max(process.start_ns, end_ns), process.end_ns);
    }
  }
  return all;
}

}  // namespace gprof
