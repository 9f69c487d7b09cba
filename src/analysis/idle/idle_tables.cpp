// Idle time by cause and by call, and the longest gaps.
#include "analysis/idle/idle_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/facts/statistics.h"
#include "analysis/idle/gaps/gaps.h"
#include "analysis/result/display_names.h"
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

}  // namespace

std::string SplitText(const CauseSplit& split) {
  std::vector<Cause> causes;
  ForEachCause([&](Cause cause) {
    if (PercentOf(split[cause], split.Total()) >= 1) causes.push_back(cause);
  });
  std::stable_sort(causes.begin(), causes.end(), [&](Cause a, Cause b) { return split[a] > split[b]; });
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
               {"meaning", "Meaning", Unit::kText, false}},
              {},
              "Percent of the idle time."};
  if (!IsRecordedWhole(trace)) table.note += " Time between captures was not recorded and does not count as idle.";
  const DeviceIdle sum = summary.Sum();
  ForEachCause([&](Cause cause) {
    if (sum.split[cause] == 0) return;
    table.rows.push_back({PercentOf(sum.split[cause], sum.split.Total()), sum.split[cause], summary.GapsWith(cause),
                          std::string(InfoOf(cause).name), std::string(InfoOf(cause).meaning)});
  });
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return std::get<int64_t>(a[1]) > std::get<int64_t>(b[1]); });
  table.note += WhyUnknown(summary);
  return table;
}

Table IdleCallTable(const Trace& trace, const IdleSummary& summary, uint32_t max_rows) {
  Table table{"idle_by_call",
              "Idle by CUDA call",
              {{"percent", "Idle (%)", Unit::kPercent, false},
               {"idle_ns", "Time", Unit::kNs, false},
               {"cause", "Cause", Unit::kText, false},
               {"function", "Call", Unit::kText, false}},
              {},
              "Percent of all idle time. For launch and queue: the launch call; otherwise the call the host was in."};
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
              {{"start_ns", "Start", Unit::kNs, false},
               {"duration_ns", "Length", Unit::kNs, false},
               {"device", "GPU", Unit::kText, true},
               {"split", "Causes", Unit::kText, false},
               {"path", "NVTX range", Unit::kText, false},
               {"before", "Operation before", Unit::kText, true},
               {"after", "Operation after", Unit::kText, true},
               {"call", "Launched by", Unit::kText, true},
               {"thread", "Thread", Unit::kText, true},
               {"gaps", "Gaps", Unit::kCount, true}},
              {},
              "Start: time since the start of the trace."};
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
    table.note += " Shorter gaps: below " + FormatNs(options.min_gap_ns) + ".";
  }
  const DeviceIdle sum = summary.Sum();
  const int64_t more = sum.gaps - shorter.gaps - static_cast<int64_t>(summary.longest().size());
  if (more > 0) {
    const int64_t more_ns = sum.split.Total() - shorter.split.Total() - shown_ns;
    table.note += " " + CountOf(more, "more gap") + " not shown, " + FormatNs(more_ns) + ".";
  }
  return table;
}

}  // namespace gprof
