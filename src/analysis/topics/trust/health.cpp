// What is missing from the trace or doubtful in it: every other result rests on this.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

struct Problem {
  std::string_view metric;  // also the id of the finding
  uint64_t TraceHealth::*count;
  std::string_view what;  // followed by the count: "<what>: 12"
};

constexpr Problem kProblems[] = {
    {"health.damaged_chunks", &TraceHealth::damaged_chunks, "Damaged chunks"},
    {"health.missing_chunks", &TraceHealth::missing_chunks, "Chunks missing from the file"},
    {"health.skipped_bytes", &TraceHealth::skipped_bytes, "File bytes outside any chunk"},
    {"health.duplicate_chunks", &TraceHealth::duplicate_chunks, "Duplicate chunks (used once)"},
    {"health.unknown_chunks", &TraceHealth::unknown_chunks, "Chunks of an unknown kind or version"},
    {"health.unknown_records", &TraceHealth::unknown_records, "Records of an unknown kind"},
    {"health.lost_records", &TraceHealth::lost_records, "Records lost during recording"},
    {"health.bad_times", &TraceHealth::bad_times, "Operations without usable times (excluded from all figures)"},
    {"health.unmatched_launches", &TraceHealth::unmatched_launches, "Launch calls without a GPU operation"},
    {"health.unmatched_ops", &TraceHealth::unmatched_ops, "GPU operations without a CUDA call"},
    {"health.early_ops", &TraceHealth::early_ops, "Operations that appear to start before their call"},
    {"health.unfinished_processes", &TraceHealth::unfinished_processes, "Processes that did not exit cleanly"},
    {"health.salvaged_processes", &TraceHealth::salvaged_processes,
     "Processes that died and whose buffers were recovered"},
    {"health.unfinished_gpu_work", &TraceHealth::unfinished_gpu_work, "Processes whose last GPU work may be missing"},
    {"health.gpu_pauses", &TraceHealth::gpu_pauses, "GPU work was not recorded"},
    {"health.ops_from_before", &TraceHealth::ops_from_before,
     "GPU operations launched before the capture in which they ran"},
    {"health.unmatched_nvtx_ends", &TraceHealth::unmatched_nvtx_ends, "NVTX range ends without a start"},
    {"health.open_ranges", &TraceHealth::open_ranges, "NVTX ranges never closed"},
    {"health.missing_strings", &TraceHealth::missing_strings, "Missing names"},
};

class Report {
 public:
  explicit Report(AnalysisResult* result) : result_(result) {
    table_ = {"health",
              "Trace health",
              {{"problem", "Problem", Unit::kText, false},
               {"count", "Count", Unit::kCount, false},
               {"meaning", "Meaning", Unit::kText, false, ColumnRole::kCommon},
               {"advice", "Advice", Unit::kText, true, ColumnRole::kCommon}},
              {},
              "",
              RowsOfRanks::kAddUp};
  }
  void Add(std::string_view id, int64_t count, std::string message, double percent = 0) {
    AddWithAdvice(id, count, std::move(message), {}, percent);
  }
  // An empty advice is that of the catalogue.
  void AddWithAdvice(std::string_view id, int64_t count, std::string message, std::string advice, double percent = 0) {
    Finding finding = NewFinding(id, percent);
    finding.message = std::move(message);
    if (!advice.empty()) finding.advice = std::move(advice);
    table_.rows.push_back({finding.id, count, finding.message, finding.advice});
    result_->findings.push_back(std::move(finding));
  }
  void Finish(bool is_complete) {
    table_.note = is_complete ? "No known losses." : "The trace is incomplete.";
    result_->tables.push_back(std::move(table_));
  }

 private:
  AnalysisResult* result_;
  Table table_;
};

std::string_view ReasonName(trace::LossReason reason) {
  switch (reason) {
    case trace::LossReason::kNoMemory:
      return "out of memory";
    case trace::LossReason::kWriteFailed:
      return "not written to the file";
    case trace::LossReason::kCuptiDropped:
      return "dropped by CUPTI";
    case trace::LossReason::kNoTime:
      return "without usable times";
    case trace::LossReason::kUnknownRecord:
      return "unknown to the tracer";
    case trace::LossReason::kFork:
      return "from a forked child";
    case trace::LossReason::kSignalHandler:
      return "from signal handlers";
    case trace::LossReason::kNoAccess:
      return "that the process could not write";
  }
  return "for other reasons";
}

std::string LossText(const Trace& trace) {
  constexpr int kReasons = 9;  // 0 is for reasons of a later version
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

bool HasLoss(const Trace& trace, bool is_write_failed) {
  return std::ranges::any_of(trace.losses, [&](const Loss& loss) {
    return (loss.reason == trace::LossReason::kWriteFailed) == is_write_failed;
  });
}

// Losses that could not be written are in a trace once there is room again, so the disk was full: what the file lacks
// needs no other explanation. Empty where the advice of the catalogue is right.
std::string AdviceOnFullDisk(const Trace& trace, std::string_view metric) {
  if (!HasLoss(trace, true)) return {};
  std::string advice =
      "The disk or quota was full while recording: record again with more disk space, or write to another disk "
      "(--output).";
  if (metric == "health.damaged_chunks") return advice + " Figures cover only the readable data.";
  if (metric != "health.lost_records") return {};
  advice += " Counts and sums do not include the lost records.";
  if (!HasLoss(trace, false)) return advice;
  return advice + " For the other losses, record a shorter part of the program, or fewer event types (--trace).";
}

std::string UnfinishedText(const Trace& trace) {
  int64_t from_ns = 0;
  for (const Process& process : trace.processes) {
    const int64_t until_ns = process.gpu_complete_until_ns;
    if (process.has_end && until_ns != 0) from_ns = from_ns == 0 ? until_ns : std::min(from_ns, until_ns);
  }
  if (from_ns <= trace.start_ns) return "";
  return ", from " + FormatNs(from_ns - trace.start_ns) + " into the trace";
}

// "GPU work was not recorded from 1.20 s to 4.50 s, while the program's own profiler (torch.profiler) recorded it".
std::string PausesText(const Trace& trace) {
  constexpr size_t kMostTimes = 3;
  std::set<std::string> profilers;
  std::string times;
  for (size_t i = 0; i < trace.gpu_pauses.size(); ++i) {
    const GpuPause& pause = trace.gpu_pauses[i];
    if (const std::string_view name = trace.Text(pause.profiler); !name.empty()) profilers.emplace(name);
    if (i >= kMostTimes) continue;
    times += (i == 0 ? " from " : ", from ") + FormatNs(pause.start_ns - trace.start_ns) + " to " +
             (pause.is_open ? "the end" : FormatNs(pause.end_ns - trace.start_ns));
  }
  if (trace.gpu_pauses.size() > kMostTimes) {
    times += " and " + CountOf(static_cast<int64_t>(trace.gpu_pauses.size() - kMostTimes), "more time", "more times");
  }
  std::string names;
  for (const std::string& name : profilers) names += (names.empty() ? " (" : ", ") + name;
  return "GPU work was not recorded" + times + ", while the program's own profiler" + names +
         (names.empty() ? "" : ")") + " recorded it";
}

std::string MessageOf(const Trace& trace, const Problem& problem, uint64_t count) {
  if (problem.count == &TraceHealth::gpu_pauses && !trace.gpu_pauses.empty()) return PausesText(trace);
  std::string message = std::string(problem.what) + ": " + FormatCount(static_cast<int64_t>(count));
  if (problem.count == &TraceHealth::lost_records) message += LossText(trace);
  if (problem.count == &TraceHealth::unfinished_gpu_work) message += UnfinishedText(trace);
  if (problem.count == &TraceHealth::early_ops) {
    message += ", by up to " + FormatNs(trace.health.worst_early_ns);
  }
  return message;
}

// "(process 4711)", "(8 processes)"; empty where there is but one.
std::string ProcessesText(const Trace& trace, const std::set<uint32_t>& processes) {
  if (trace.processes.size() < 2 || processes.empty()) return "";
  if (processes.size() > 1) return " (" + CountOf(static_cast<int64_t>(processes.size()), "process", "processes") + ")";
  return " (process " + std::to_string(trace.processes[*processes.begin()].pid) + ")";
}

// "…: from here on, one sample every 10.00 ms", and later of the same process every 20 ms.
bool IsOutdated(const Trace& trace, const Notice& notice) {
  const std::string_view text = trace.Text(notice.message);
  const size_t end = text.find(": from here on");
  if (end == std::string_view::npos) return false;
  return std::ranges::any_of(trace.notices, [&](const Notice& later) {
    return later.process == notice.process && later.time_ns > notice.time_ns &&
           trace.Text(later.message).starts_with(text.substr(0, end + 1));
  });
}

// What all ranks of a run say is said once.
void AddNotices(const Trace& trace, Report* report) {
  std::vector<std::pair<const Notice*, std::set<uint32_t>>> notices;
  for (const Notice& notice : trace.notices) {
    if (notice.level == trace::NoticeLevel::kReason) continue;
    const auto is_same = [&](const auto& other) {
      return other.first->message == notice.message && other.first->level == notice.level;
    };
    if (IsOutdated(trace, notice)) continue;
    auto at = std::ranges::find_if(notices, is_same);
    if (at == notices.end()) at = notices.insert(at, {&notice, {}});
    if (notice.process != kNone) at->second.insert(notice.process);
  }
  for (const auto& [notice, processes] : notices) {
    const bool is_information = notice->level == trace::NoticeLevel::kInfo;
    report->Add("health.notice", 1, std::string(trace.Text(notice->message)) + ProcessesText(trace, processes),
                is_information ? 0 : 100);
  }
}

std::string_view ReasonName(trace::MetricLossReason reason) {
  switch (reason) {
    case trace::MetricLossReason::kOverflow:
      return "buffer full";
    case trace::MetricLossReason::kTooSlow:
      return "reading too slow";
    case trace::MetricLossReason::kTaken:
      return "counters in use by another program";
    case trace::MetricLossReason::kNotAllowed:
      return "not permitted";
    case trace::MetricLossReason::kUnknown:
      return "read error";
    case trace::MetricLossReason::kStepDown:
    case trace::MetricLossReason::kPaused:
      break;
  }
  return {};
}

// Tracks of one collector are lost at the same time, which counts once.
void AddMetricLosses(const Trace& trace, Report* report) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> losses;  // how often, and for how long at most
  for (const MetricLoss& loss : trace.metric_losses) {
    const std::string_view reason = ReasonName(loss.reason);
    if (reason.empty()) continue;
    auto& [count, longest_ns] = losses[reason];
    ++count;
    longest_ns = std::max(longest_ns, loss.end_ns - loss.start_ns);
  }
  for (const auto& [reason, loss] : losses) {
    const auto& [count, longest_ns] = loss;
    report->Add("health.metric_losses", count,
                "Gaps in sampled data (" + std::string(reason) + "): " + FormatCount(count) + ", up to " +
                    FormatNs(longest_ns));
  }
}

int64_t CountWarnings(const Trace& trace) {
  int64_t warnings = 0;
  for (const Notice& notice : trace.notices) {
    warnings += notice.level == trace::NoticeLevel::kWarning || notice.level == trace::NoticeLevel::kError;
  }
  return warnings;
}

constexpr double kMuchPercent = 10;      // from here on the figures of short calls say more about the recording
constexpr int64_t kLeastCostNs = 5'000;  // of less the trace is too short to say anything

Table CostTable(const Trace& trace, const RecordingCost& cost, uint32_t max_rows) {
  Table table{
      "recording_cost",
      "Profiling overhead by thread",
      {{"percent", "% of thread time", Unit::kPercent, false},
       {"total_ns", "Total", Unit::kNs, false},
       {"cupti_ns", "CUPTI", Unit::kNs, false},
       {"calls_ns", "CUDA calls", Unit::kNs, false},
       {"nvtx_ns", "NVTX", Unit::kNs, false},
       {"gpu_percent", "% of GPU window", Unit::kPercent, true, "overhead between the first and the last operation"},
       {"calls", "Calls", Unit::kCount, true},
       {"nvtx", "NVTX events", Unit::kCount, true},
       {"active_ns", "Thread time", Unit::kNs, true, "from the first to the last event of the thread"},
       {"thread", "Thread", Unit::kText, false}},
      {},
      "Estimate: the measured cost of each record (" + WhereCostsWereMeasured(cost) +
          "), plus the overhead that CUPTI reports."};
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
  AddMetric(result, "health.overhead_ns", cost.TotalNs());
  AddMetric(result, "health.overhead_percent", cost.Percent());
  AddMetric(result, "health.overhead_gpu_percent", cost.GpuPercent());
  AddMetric(result, "health.slow_down_least_percent", cost.slow_down.least_percent);
  AddMetric(result, "health.slow_down_most_percent", cost.slow_down.most_percent);
  AddMetric(result, "health.slow_down_percent", cost.measured.percent);
  AddMetric(result, "health.slow_down_low_percent", cost.measured.low_percent);
  AddMetric(result, "health.slow_down_high_percent", cost.measured.high_percent);
  if (!cost.threads.empty()) result->tables.push_back(CostTable(input.trace(), cost, max_rows));
  const double percent = std::max(cost.RecordsPercent(), cost.GpuPercent());
  if (percent <= kMuchPercent || cost.LargestNs() < kLeastCostNs) return;
  report->Add("health.overhead", 1,
              "Profiling overhead: about " + FormatPercent(percent) +
                  (cost.GpuPercent() >= percent ? " of the GPU window" : " of the thread time") + " (estimate)");
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
    report.AddWithAdvice(problem.metric, static_cast<int64_t>(count), MessageOf(trace, problem, count),
                         AdviceOnFullDisk(trace, problem.metric));
  }
  AddMetric(&result, "health.truncated", trace.health.is_truncated ? 1 : 0);
  if (trace.health.is_truncated) {
    report.Add("health.truncated", 1, "The file ends in the middle of a chunk");
  }
  AddMetric(&result, "health.warnings", CountWarnings(trace));
  AddNotices(trace, &report);
  AddMetricLosses(trace, &report);
  AddMetric(&result, "health.clocks_ns", QualityOfClocks(trace).AgreeNs());
  AddCost(input, options.max_rows, &report, &result);
  if (trace.ops.empty()) {
    report.Add("health.no_gpu", 0, "The trace has no GPU operations");
  }
  report.Finish(trace.health.IsComplete());
  RankFindings(&result.findings);
  return result;
}

}  // namespace gprof
