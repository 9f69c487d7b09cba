#include "report/trace_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "analysis/facts/time/recorded_time.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/short_names.h"
#include "base/text.h"
#include "base/units.h"
#include "gprof/trace/seen_process.h"

namespace gprof {
namespace {

constexpr std::size_t kLabelColumns = 11;
constexpr std::size_t kMaxRankRuns = 4;  // "0-3, 8-11, …": more would fill the line

// From the first to the last moment of which something is known. A snapshot begins later than its program.
int64_t KnownSpanNs(const TraceHead& trace) {
  int64_t first_ns = trace.end_ns, last_ns = trace.start_ns;
  const auto add = [&](const auto& times) {
    for (const auto& time : times) {
      first_ns = std::min(first_ns, time.start_ns);
      last_ns = std::max(last_ns, time.end_ns);
    }
  };
  add(trace.captures), add(trace.base_times);
  return std::max<int64_t>(last_ns - first_ns, 0);
}

bool IsInWindows(const TraceHead& trace) { return trace.lacks.Has(Fact::kWholeRun); }

}  // namespace

std::string RenderHealth(const TraceHead& trace, const std::vector<Finding>& findings, const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string out = style.Red("INCOMPLETE") + ": figures below cover only the data that was recovered\n";
  if (trace.health.IsComplete()) {
    out = LabeledLine("Complete", findings.empty() ? "yes" : "yes, with notes:", terminal);
  }
  for (const Finding& finding : findings) {
    const char* mark = "  - ";
    for (const std::string& line : Wrap(Printable(finding.message), terminal.columns - 4)) {
      out += mark + (finding.severity == Severity::kWarning ? style.Yellow(line) : line) + "\n";
      mark = "    ";
    }
    if (finding.advice.empty()) continue;
    for (const std::string& line : Wrap(Printable(finding.advice), terminal.columns - 4))
      out += "    " + style.Dim(line) + "\n";
  }
  return out;
}

std::string ReasonText(trace::LossReason reason) {
  switch (reason) {
    case trace::LossReason::kNoMemory:
      return "no memory";
    case trace::LossReason::kWriteFailed:
      return "write failed";
    case trace::LossReason::kCuptiDropped:
      return "dropped by CUPTI";
    case trace::LossReason::kNoTime:
      return "no time stamps";
    case trace::LossReason::kUnknownRecord:
      return "unknown record";
    case trace::LossReason::kFork:
      return "fork";
    case trace::LossReason::kSignalHandler:
      return "signal handler";
    case trace::LossReason::kNoAccess:
      return "no access";
  }
  return "reason " + std::to_string(static_cast<unsigned>(reason));
}

std::string LevelText(trace::NoticeLevel level) {
  switch (level) {
    case trace::NoticeLevel::kInfo:
      return "info";
    case trace::NoticeLevel::kWarning:
      return "warning";
    case trace::NoticeLevel::kError:
      return "error";
    case trace::NoticeLevel::kReason:
      return "reason";
  }
  return "level " + std::to_string(static_cast<unsigned>(level));
}

std::string EndText(const Process& process) {
  if (process.IsSalvaged()) return "salvaged";
  if (process.has_end && process.end_reason == trace::EndReason::kStopped && !IsSeen(process)) return "stopped";
  return process.has_end ? "clean" : "not clean";
}

std::string EndReasonText(const Process& process) {
  if (!process.has_end) return "";
  switch (process.end_reason) {
    case trace::EndReason::kExit:
      return "exit";
    case trace::EndReason::kExec:
      return "exec";
    case trace::EndReason::kStopped:
      return "stopped";
    case trace::EndReason::kSalvaged:
      return "salvaged";
  }
  return "";
}

std::string TriggerText(trace::CaptureTrigger trigger) {
  switch (trigger) {
    case trace::CaptureTrigger::kBegin:
      return "begin";
    case trace::CaptureTrigger::kDelay:
      return "time";
    case trace::CaptureTrigger::kProfilerApi:
      return "cudaProfilerApi";
    case trace::CaptureTrigger::kNvtx:
      return "nvtx";
    case trace::CaptureTrigger::kSteps:
      return "steps";
    case trace::CaptureTrigger::kCommand:
      return "command";
    case trace::CaptureTrigger::kSignal:
      return "signal";
    case trace::CaptureTrigger::kEnd:
      return "end";
    case trace::CaptureTrigger::kWindow:
      return "window";
    case trace::CaptureTrigger::kProfiler:
      return "own profiler";
  }
  return "";
}

std::string RanksText(const TraceHead& trace) {
  std::set<int32_t> ranks;
  std::set<std::string_view> sources;
  uint32_t world_size = 0;
  for (const Process& process : trace.processes) {
    if (process.rank < 0) continue;
    ranks.insert(process.rank);
    world_size = std::max(world_size, process.world_size);
    if (process.rank_source != NameId{}) sources.insert(trace.Text(process.rank_source));
  }
  if (ranks.empty()) return "";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t runs = 0;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const int32_t first = *at;
    int32_t last = first;
    while (++at != ranks.end() && *at == last + 1) ++last;
    if (++runs > kMaxRankRuns) {
      text += ", …";
      break;
    }
    text += (runs > 1 ? ", " : "") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
  }
  if (world_size != 0) text += " of " + std::to_string(world_size);
  const std::string from = Joined({sources.begin(), sources.end()});
  return from.empty() ? text : text + " (" + from + ")";
}

std::string CaptureModeText(const TraceHead& trace) {
  std::set<NameId> modes;
  std::string text;
  for (const Process& process : trace.processes) {
    if (process.capture_mode == NameId{} || !modes.insert(process.capture_mode).second) continue;
    text += (text.empty() ? "" : " | ") + std::string(trace.Text(process.capture_mode));
  }
  return text;
}

std::string SnapshotReason(const TraceHead& trace) {
  const auto reason = std::find_if(trace.notices.begin(), trace.notices.end(),
                                   [](const Notice& notice) { return notice.level == trace::NoticeLevel::kReason; });
  return reason == trace.notices.end() ? "" : std::string(trace.Text(reason->message));
}

std::string RecordedText(const TraceHead& trace) {
  std::string mode = CaptureModeText(trace), captures = CapturesText(trace);
  if (!captures.empty() && !SnapshotReason(trace).empty()) {
    // When recording was to begin stands behind the semicolon.
    mode.resize(std::min(mode.find(';'), mode.size()));
    captures = "the last " + FormatNs(IsInWindows(trace) ? KnownSpanNs(trace) : CapturedNs(trace));
  }
  return captures + (captures.empty() || mode.empty() ? "" : ": ") + mode;
}

int64_t BaseNs(const TraceHead& trace) {
  int64_t sum_ns = 0, until_ns = 0;
  for (const BaseTime& time : trace.base_times) {  // of several processes at a time
    sum_ns += std::max<int64_t>(time.end_ns - std::max(time.start_ns, until_ns), 0);
    until_ns = std::max(until_ns, time.end_ns);
  }
  return sum_ns;
}

std::string KernelTimeText(const TraceHead& trace) {
  constexpr std::size_t kMostShown = 6;
  const bool has_more = !trace.base_times.empty() || !SnapshotReason(trace).empty();  // than RecordedText says
  if (!IsInWindows(trace) || !has_more) return "";
  const int64_t base_ns = BaseNs(trace);
  std::vector<Capture> windows = trace.captures;
  std::erase_if(windows, [](const Capture& c) { return c.DurationNs() <= 0; });
  std::ranges::sort(windows, {}, &Capture::start_ns);
  std::string text = windows.empty()
                         ? "in no window"
                         : "in " + CountOf(static_cast<int64_t>(windows.size()), "window") + ", " +
                               FormatNs(CapturedNs(trace)) + " of " + FormatNs(KnownSpanNs(trace)) + ": at ";
  for (std::size_t i = 0; i < std::min(windows.size(), kMostShown); ++i) {
    text += (i == 0 ? "" : ", ") + FormatNs(windows[i].start_ns - trace.start_ns) + " to " +
            FormatNs(windows[i].end_ns - trace.start_ns);
  }
  if (windows.size() > kMostShown) text += " and " + std::to_string(windows.size() - kMostShown) + " more";
  if (base_ns > 0) return text + "; ranges, waits and graph launches for another " + FormatNs(base_ns);
  return text + "; nothing is known of the rest";
}

std::string CapturesText(const TraceHead& trace) {
  if (HasOnlyWaited(trace)) return "no capture started";
  if (IsRecordedWhole(trace)) return "";
  const bool is_in_windows = IsInWindows(trace);
  const double percent = PercentOf(CapturedNs(trace), trace.end_ns - trace.start_ns);
  return (is_in_windows ? FormatPercent(percent) + " of the run in " : "") +
         CountOf(static_cast<int64_t>(trace.captures.size()), is_in_windows ? "window" : "capture") + ", " +
         FormatNs(CapturedNs(trace)) + " of " + FormatNs(trace.end_ns - trace.start_ns);
}

bool IsSeen(const Process& process) { return process.image == trace::kSeenImage; }

bool SaysSomething(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [column](const std::vector<Cell>& row) {
    if (column >= row.size() || std::holds_alternative<std::monostate>(row[column])) return false;
    if (const auto* whole = std::get_if<int64_t>(&row[column])) return *whole != 0;
    if (const auto* text = std::get_if<std::string>(&row[column])) return !text->empty();
    return std::get<double>(row[column]) != 0;
  });
}

std::string FormatCell(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* whole = std::get_if<int64_t>(&cell);
  const auto* real = std::get_if<double>(&cell);
  if (whole == nullptr && real == nullptr) return "-";
  // Exact beyond what a double holds.
  if (whole != nullptr && (unit == Unit::kText || unit == Unit::kCount)) return FormatCount(*whole);
  return FormatFigure(whole != nullptr ? static_cast<double>(*whole) : *real, unit);
}

namespace {

// Signatures of kernels, among other things that have no brackets in them.
bool HoldsKernels(const Table& table, const Column& column) {
  const std::string& key = column.key;
  return key == "kernel" || key == "before" || key == "after" ||
         (key == "name" && (table.id == "kernels" || table.id == "nccl"));
}

// Numbers that name something, which nobody writes with commas.
bool HoldsIds(const Column& column) { return column.key == "pid" || column.key == "tid"; }

std::string FormatId(const Cell& cell) {
  const auto* id = std::get_if<int64_t>(&cell);
  return id == nullptr ? FormatCell(cell, Unit::kText) : std::to_string(*id);
}

}  // namespace

std::vector<std::vector<std::string>> FormatRows(const Table& table, std::size_t longest_name) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i)
      rows.back().push_back(HoldsIds(table.columns[i]) ? FormatId(row[i]) : FormatCell(row[i], table.columns[i].unit));
  }
  if (longest_name == 0) return rows;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!HoldsKernels(table, table.columns[i])) continue;
    std::vector<std::string> names;
    for (const auto& row : rows) names.push_back(i < row.size() ? row[i] : std::string());
    const std::vector<std::string> shortened = ShortNames(names);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      // A signature that would be cut to its ends says less than the name in it.
      if (names[row].size() > longest_name) rows[row][i] = shortened[row];
    }
  }
  return rows;
}

std::string LabeledLine(const std::string& label, const std::string& text, const Terminal& terminal) {
  std::string out = Style(terminal.has_color).Bold(label);
  std::size_t used = DisplayWidth(label);
  for (const std::string& line : Wrap(Printable(text), terminal.columns - kLabelColumns)) {
    out += std::string(kLabelColumns - std::min(used, kLabelColumns), ' ') + line + "\n";
    used = 0;
  }
  return out;
}

}  // namespace gprof
