// What is missing from the trace or doubtful in it: every other result rests on this.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/findings.h"
#include "analysis/result/metrics.h"
#include "analysis/trust/clock_quality.h"
#include "analysis/trust/recording_cost.h"
#include "base/units.h"

namespace gprof {
namespace {

struct Problem {
  std::string_view metric;  // also the id of the finding
  uint64_t TraceHealth::*count;
  Severity severity;
  std::string_view what;  // followed by the count: "<what>: 12"
  std::string_view advice;
};

constexpr Problem kProblems[] = {
    {"health.damaged_chunks", &TraceHealth::damaged_chunks, Severity::kWarning, "Damaged parts of the file",
     "The file was cut or changed after it was written; copy it again or record again. What is reported is right for "
     "what is there."},
    {"health.missing_chunks", &TraceHealth::missing_chunks, Severity::kWarning,
     "Parts that were written and are not in the file",
     "The disk was full, or a process was killed while it wrote. Record again with more space."},
    {"health.skipped_bytes", &TraceHealth::skipped_bytes, Severity::kWarning,
     "Bytes of the file that belong to no part",
     "Something else wrote into the file, or it was damaged; copy it again or record again."},
    {"health.duplicate_chunks", &TraceHealth::duplicate_chunks, Severity::kNote,
     "Parts that are in the file twice (used once)", "Nothing to do: this happens when a process dies."},
    {"health.unknown_chunks", &TraceHealth::unknown_chunks, Severity::kWarning,
     "Parts of a kind or version that this version does not know", "Read the trace with the version that recorded it."},
    {"health.unknown_records", &TraceHealth::unknown_records, Severity::kWarning,
     "Records of a kind that this version does not know", "Read the trace with the version that recorded it."},
    {"health.lost_records", &TraceHealth::lost_records, Severity::kWarning, "Records lost while recording",
     "Counts and sums are too low by these. Record a shorter part of the program, or less of it (--trace)."},
    {"health.bad_times", &TraceHealth::bad_times, Severity::kWarning,
     "Operations without usable times, left out of every figure",
     "CUPTI could not time them; record again, with a newer driver if it happens again."},
    {"health.unmatched_launches", &TraceHealth::unmatched_launches, Severity::kNote,
     "Launching calls without their GPU operation",
     "Their operations had not been delivered when the recording ended, or were lost: idle time may be too high."},
    {"health.unmatched_ops", &TraceHealth::unmatched_ops, Severity::kNote, "GPU operations without their CUDA call",
     "Idle time before them has the cause `unknown`. Record CUDA calls from the start of the program."},
    {"health.early_ops", &TraceHealth::early_ops, Severity::kNote, "Operations that seem to start before their call",
     "The clocks of GPU and host differ by a little; idle causes are uncertain by as much."},
    {"health.unfinished_processes", &TraceHealth::unfinished_processes, Severity::kWarning,
     "Processes that did not end cleanly",
     "They were killed, crashed or are still running: what they had not written by then is missing."},
    {"health.salvaged_processes", &TraceHealth::salvaged_processes, Severity::kNote,
     "Processes that died, and what they left in memory was recovered",
     "They were killed or crashed. Everything that had been recorded by then is in the trace."},
    {"health.unfinished_gpu_work", &TraceHealth::unfinished_gpu_work, Severity::kWarning,
     "Processes whose last GPU work may be missing",
     "The GPU was still busy, or its records had not been delivered, when they ended."},
    {"health.ops_from_before", &TraceHealth::ops_from_before, Severity::kInfo,
     "GPU operations launched before the capture that they ran in",
     "Idle time before them has the cause `unknown`. Nothing to do: a capture may begin while the GPU is busy."},
    {"health.unmatched_nvtx_ends", &TraceHealth::unmatched_nvtx_ends, Severity::kNote,
     "Ends of NVTX ranges without their start",
     "The recording began within them, or the program pops more than it pushes."},
    {"health.open_ranges", &TraceHealth::open_ranges, Severity::kNote, "NVTX ranges that were never ended",
     "They count until the end of their process. The program pushes more than it pops, or ended within them."},
    {"health.missing_strings", &TraceHealth::missing_strings, Severity::kNote, "Names that are missing",
     "They were in parts of the file that could not be read; they show as <name #12>."},
};

class Report {
 public:
  explicit Report(AnalysisResult* result) : result_(result) {
    table_ = {"health",
              "Trace health",
              {{"problem", "Problem", Unit::kText, false},
               {"count", "Count", Unit::kCount, false},
               {"meaning", "Meaning", Unit::kText, false},
               {"advice", "Advice", Unit::kText, true}},
              {},
              ""};
  }
  void Add(std::string_view id, Severity severity, int64_t count, std::string message, std::string_view advice) {
    table_.rows.push_back({std::string(id), count, message, std::string(advice)});
    result_->findings.push_back({std::string(id), severity, std::move(message), std::string(advice), 0, ""});
  }
  void Finish(bool is_complete) {
    table_.note = is_complete ? "Nothing is known to be missing." : "The trace is not complete.";
    result_->tables.push_back(std::move(table_));
  }

 private:
  AnalysisResult* result_;
  Table table_;
};

std::string_view ReasonName(trace::LossReason reason) {
  switch (reason) {
    case trace::LossReason::kNoMemory:
      return "no memory for them";
    case trace::LossReason::kWriteFailed:
      return "the file could not be written";
    case trace::LossReason::kCuptiDropped:
      return "dropped by CUPTI";
    case trace::LossReason::kNoTime:
      return "no usable times";
    case trace::LossReason::kUnknownRecord:
      return "not known to the tracer";
    case trace::LossReason::kFork:
      return "made in a forked child";
  }
  return "other reasons";
}

std::string LossText(const Trace& trace) {
  constexpr int kReasons = 7;  // 0 is for reasons of a later version
  uint64_t counts[kReasons] = {};
  for (const Loss& loss : trace.losses) {
    const auto reason = static_cast<size_t>(loss.reason);
    counts[reason < kReasons ? reason : 0] += loss.count;
  }
  std::string text;
  for (int i = 0; i < kReasons; ++i) {
    if (counts[i] == 0) continue;
    text += (text.empty() ? " (" : ", ") + FormatCount(static_cast<int64_t>(counts[i])) + " " +
            std::string(ReasonName(static_cast<trace::LossReason>(i)));
  }
  return text.empty() ? text : text + ")";
}

std::string UnfinishedText(const Trace& trace) {
  int64_t from_ns = 0;
  for (const Process& process : trace.processes) {
    const int64_t until_ns = process.gpu_complete_until_ns;
    if (process.has_end && until_ns != 0) from_ns = from_ns == 0 ? until_ns : std::min(from_ns, until_ns);
  }
  if (from_ns <= trace.start_ns) return "";
  return ", what ended after " + FormatNs(static_cast<double>(from_ns - trace.start_ns)) + " of the trace";
}

std::string MessageOf(const Trace& trace, const Problem& problem, uint64_t count) {
  std::string message = std::string(problem.what) + ": " + FormatCount(static_cast<int64_t>(count));
  if (problem.count == &TraceHealth::lost_records) message += LossText(trace);
  if (problem.count == &TraceHealth::unfinished_gpu_work) message += UnfinishedText(trace);
  if (problem.count == &TraceHealth::early_ops) {
    message += ", by up to " + FormatNs(static_cast<double>(trace.health.worst_early_ns));
  }
  return message;
}

void AddNotices(const Trace& trace, Report* report) {
  for (const Notice& notice : trace.notices) {
    const Severity severity = notice.level == trace::NoticeLevel::kInfo ? Severity::kInfo : Severity::kWarning;
    const std::string process = notice.process == kNone || trace.processes.size() < 2
                                    ? ""
                                    : " (process " + std::to_string(trace.processes[notice.process].pid) + ")";
    report->Add("health.notice", severity, 1, std::string(trace.Text(notice.message)) + process, "");
  }
}

int64_t CountWarnings(const Trace& trace) {
  int64_t warnings = 0;
  for (const Notice& notice : trace.notices) warnings += notice.level != trace::NoticeLevel::kInfo;
  return warnings;
}

constexpr double kMuchPercent = 10;      // from here on the figures of short calls say more about the recording
constexpr int64_t kLeastCostNs = 5'000;  // of less the trace is too short to say anything

Table CostTable(const Trace& trace, const RecordingCost& cost, uint32_t max_rows) {
  Table table{"recording_cost",
              "What recording cost, by thread",
              {{"percent", "Of its time", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"cupti_ns", "CUPTI", Unit::kNs, false},
               {"calls_ns", "In calls", Unit::kNs, false},
               {"nvtx_ns", "NVTX", Unit::kNs, false},
               {"gpu_percent", "GPU at work", Unit::kPercent, true},
               {"calls", "Calls", Unit::kCount, true},
               {"nvtx", "NVTX events", Unit::kCount, true},
               {"active_ns", "Its time", Unit::kNs, true},
               {"thread", "Thread", Unit::kText, false}},
              {},
              "Estimated: each record at what it was measured to cost (" + std::string(kCostsMeasuredOn) +
                  "), and what CUPTI recorded about itself. Its time: from the first to the last event of the thread. "
                  "GPU at work: of the time from the first to the last operation."};
  table.is_detail = true;
  for (const ThreadCost& c : cost.threads) {
    if (max_rows != 0 && table.rows.size() == max_rows) break;
    table.rows.push_back({c.ActivePercent(), c.TotalNs(), c.cupti_ns, c.calls_ns, c.nvtx_ns, c.GpuPercent(), c.calls,
                          c.nvtx, c.active_ns, ThreadName(trace, c.thread)});
  }
  return table;
}

void AddCost(const AnalysisInput& input, uint32_t max_rows, Report* report, AnalysisResult* result) {
  const RecordingCost& cost = input.shared().recording_cost();
  if (!cost.is_known) return;
  AddMetric(result, "health.overhead_ns", cost.TotalNs());
  AddMetric(result, "health.overhead_percent", cost.Percent());
  AddMetric(result, "health.overhead_gpu_percent", cost.GpuPercent());
  if (!cost.threads.empty()) result->tables.push_back(CostTable(input.trace(), cost, max_rows));
  const double percent = std::max(cost.RecordsPercent(), cost.GpuPercent());
  if (percent <= kMuchPercent || cost.LargestNs() < kLeastCostNs) return;
  report->Add("health.overhead", Severity::kNote, 1,
              "Recording took about " + FormatPercent(percent) + " of the time" +
                  (cost.GpuPercent() >= percent ? " in which the GPU was at work" : "") + ", an estimate",
              "Figures of short calls and the gaps between them are too high by as much: the program alone is faster. "
              "Nothing was taken off. Record less (--trace, -c), or compare with runs that were recorded alike.");
}

void AddClocks(const Trace& trace, AnalysisResult* result) {
  const ClockQuality clocks = QualityOfClocks(trace);
  if (clocks.IsKnown()) AddMetric(result, "health.clocks_ns", clocks.AgreeNs());
}

}  // namespace

AnalysisResult RunHealth(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  Report report(&result);
  AddMetric(&result, "health.complete", trace.health.IsComplete() ? 1 : 0);
  for (const Problem& problem : kProblems) {
    const uint64_t count = trace.health.*problem.count;
    AddMetric(&result, problem.metric, count);
    if (count == 0) continue;
    report.Add(problem.metric, problem.severity, static_cast<int64_t>(count), MessageOf(trace, problem, count),
               problem.advice);
  }
  AddMetric(&result, "health.truncated", trace.health.is_truncated ? 1 : 0);
  if (trace.health.is_truncated) {
    report.Add("health.truncated", Severity::kWarning, 1, "The file ends in the middle of a part",
               "It was cut, or is still being written; copy it again, or read it when the program has ended.");
  }
  AddMetric(&result, "health.warnings", CountWarnings(trace));
  AddNotices(trace, &report);
  AddClocks(trace, &result);
  AddCost(input, options.max_rows, &report, &result);
  if (trace.ops.empty()) {
    report.Add("health.no_gpu", Severity::kNote, 0, "The trace has no GPU operations",
               "If the program should have used a GPU, see the notices of the tracer and docs/troubleshooting.md.");
  }
  report.Finish(trace.health.IsComplete());
  RankFindings(&result.findings);
  return result;
}

}  // namespace gprof
