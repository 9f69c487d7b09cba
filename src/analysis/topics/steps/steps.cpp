// The iterations of the range that stands for a step: how long they take, which are slow, and what those wait for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/step_times.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/steps/step_host.h"
#include "base/units.h"

namespace gprof {
namespace {

// GPU time of what was launched in each iteration, whoever launched it.
std::vector<int64_t> LaunchedIn(const AnalysisInput& input, const StepTimes& times) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  std::vector<int64_t> launched_ns(times.iterations.size());
  const Trace::Slice slice = trace.device_ops[times.device];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    if (ops.CallOf(i) == kNone) continue;
    const int64_t launch_ns = ops.LaunchNs(i);
    const auto after = std::ranges::partition_point(times.iterations,
                                                    [&](const Iteration& step) { return step.start_ns <= launch_ns; });
    if (after == times.iterations.begin() || launch_ns >= (after - 1)->EndNs()) continue;
    launched_ns[static_cast<size_t>(after - times.iterations.begin()) - 1] += trace.ops[i].DurationNs();
  }
  return launched_ns;
}

// A host that runs ahead of its GPU is held back once the launch queue is full: its ranges get longer, and none of the
// work launched in them does. `growth_ns`: by which the GPU is busy for longer in later iterations.
bool IsOnlyTheQueue(const AnalysisInput& input, const StepTimes& times, double growth_ns) {
  if (times.device == kNone || growth_ns <= 0) return false;
  const std::vector<int64_t> of_all = LaunchedIn(input, times);
  std::vector<int64_t> launched_ns;
  for (size_t i = static_cast<size_t>(times.warmups); i < of_all.size(); ++i) {
    if (times.iterations[i].is_known) launched_ns.push_back(of_all[i]);
  }
  const std::span<int64_t> all(launched_ns), early = all.first(all.size() / 2), late = all.subspan(all.size() / 2);
  if (std::ranges::all_of(all, [](int64_t ns) { return ns == 0; })) return false;  // nobody knows
  return Summarize(late).median - Summarize(early).median < growth_ns / 2;
}

// Less than that of the time of all iterations is not worth a finding.
constexpr double kPercentWorthAFinding = 2;

double TrendPercent(const StepTimes& times) {
  if (times.steady_median_ns <= 0 || times.count < 2) return 0;
  return 100 * times.slope_ns * static_cast<double>(times.count - 1) / times.steady_median_ns;
}

using Parts = std::array<double, kStepPartCount>;

// What iterations have more of than the median one, per iteration.
template <class IsIn>
Parts ExtraParts(const StepTimes& times, IsIn is_in) {
  Parts extra{};
  int64_t count = 0;
  for (const Iteration& step : times.iterations) {
    if (!is_in(step) || !step.is_known) continue;
    ++count;
    for (size_t part = 0; part < kStepPartCount; ++part) {
      extra[part] += static_cast<double>(step.parts_ns[part]) - times.median_parts_ns[part];
    }
  }
  for (double& ns : extra) ns /= static_cast<double>(std::max<int64_t>(count, 1));
  return extra;
}

Parts ExtraOf(const StepTimes& times, const Iteration& step) {
  Parts extra{};
  for (size_t part = 0; part < kStepPartCount; ++part) {
    extra[part] = static_cast<double>(step.parts_ns[part]) - times.median_parts_ns[part];
  }
  return extra;
}

// "idle: host +28.00 ms, kernels +1.20 ms": what there is more of, largest first; below a tenth of all it is left out.
std::vector<size_t> LargestOf(const Parts& extra) {
  std::vector<size_t> order;
  double sum_ns = 0;
  for (size_t part = 0; part < kStepPartCount; ++part) {
    if (extra[part] > 0) order.push_back(part), sum_ns += extra[part];
  }
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return extra[a] > extra[b]; });
  const auto is_small = [&](size_t part) { return extra[part] < sum_ns / 10; };
  order.erase(std::ranges::find_if(order, is_small), order.end());
  return order;
}

std::string ExtraText(const Parts& extra) {
  std::string text;
  for (const size_t part : LargestOf(extra)) {
    text += (text.empty() ? "" : ", ") + StepPartName(part) + " +" + FormatNs(extra[part]);
  }
  return text;
}

Subject SubjectOf(const std::string& path, const Parts& extra) {
  Subject subject;
  subject.range = path;
  for (const size_t part : LargestOf(extra)) {
    if (part >= kStepIdle && part < kStepOutside)
      subject.causes.emplace_back(InfoOf(static_cast<Cause>(part - kStepIdle)).name);
  }
  return subject;
}

// What the host was in: the line or function by samples, where that is a part of what there is more of, else the range.
std::string SlowHostText(const Trace& trace, const StepTimes& times, const StepHost& host, const Parts& extra) {
  double more_ns = 0;
  for (const double ns : extra) more_ns += std::max(ns, 0.0);
  if (const std::string most = host.MostOfSlow(more_ns / 10); !most.empty()) return "The host was in " + most;
  const auto most = std::ranges::max_element(times.slow_host_ns, {}, [](const auto& x) { return x.second; });
  if (most == times.slow_host_ns.end() || most->first == 0) return "";
  return "The host was mostly in " + std::string(trace.Text(NameId{most->first}));
}

// What the median of the second half has more of than that of the first; outliers do not count.
Parts GrowthOf(const StepTimes& times) {
  const size_t first = static_cast<size_t>(times.warmups), middle = first + (times.iterations.size() - first) / 2;
  Parts growth{};
  for (size_t part = 0; part < kStepPartCount; ++part) {
    std::vector<int64_t> early, late;
    for (size_t i = first; i < times.iterations.size(); ++i) {
      if (!times.iterations[i].is_known) continue;
      (i < middle ? early : late).push_back(times.iterations[i].parts_ns[part]);
    }
    if (early.empty() || late.empty()) continue;
    growth[part] = Summarize(std::span<int64_t>(late)).median - Summarize(std::span<int64_t>(early)).median;
  }
  return growth;
}

// What the GPU would be done earlier by, if this iteration took as long as the median: never more than it has of the
// GPU's window. In the last one the host waits for work that all of them launched, which is not lost.
double WonInWindow(const Iteration& step, const StepTimes& times) {
  const double above_ns = static_cast<double>(step.duration_ns) - times.steady_median_ns;
  if (times.device == kNone || !step.is_known) return above_ns;
  int64_t within_ns = step.duration_ns - step.parts_ns[kStepOutside];
  if (&step == &times.iterations.back()) within_ns -= step.parts_ns[kStepKernels] + step.parts_ns[kStepCopies];
  return std::clamp(above_ns, 0.0, static_cast<double>(within_ns));
}

void AddOutlierFinding(const Trace& trace, const StepTimes& times, const StepHost& host, const std::string& name,
                       AnalysisResult* result) {
  double gain_ns = 0;
  for (const Iteration& step : times.iterations) {
    if (step.is_outlier) gain_ns += WonInWindow(step, times);
  }
  const double percent = 100 * gain_ns / static_cast<double>(std::max<int64_t>(times.total_ns, 1));
  if (times.outliers == 0 || percent < kPercentWorthAFinding) return;
  const Parts extra = ExtraParts(times, [](const Iteration& step) { return step.is_outlier; });
  Finding finding = NewFinding("steps.outliers", percent);
  finding.message = FormatCount(times.outliers) + " of " + CountOf(times.count, "iteration") + " of \"" +
                    InMessage(name) + "\" took longer than " + FormatNs(times.slow_from_ns) + " (median " +
                    FormatNs(times.steady_median_ns) + ", slowest " + FormatNs(times.max_ns) + ")";
  const bool is_known =
      std::ranges::any_of(times.iterations, [](const Iteration& step) { return step.is_outlier && step.is_known; });
  finding.evidence.push_back(is_known ? "Extra time per slow iteration: " + ExtraText(extra)
                                      : "What the GPU did in them is not known: they lie between two windows");
  std::string host_text = SlowHostText(trace, times, host, extra);
  if (!host_text.empty()) finding.evidence.push_back(std::move(host_text));
  finding.gain_ns = std::llround(gain_ns);
  finding.basis = "time above the median in slow iterations";
  finding.subject = SubjectOf(name, extra);
  result->findings.push_back(std::move(finding));
}

void AddTrendFinding(const AnalysisInput& input, const StepTimes& times, const std::string& name,
                     AnalysisResult* result) {
  if (!times.has_trend || times.slope_ns <= 0) return;
  const double n = static_cast<double>(times.count);
  const double gain_ns = times.slope_ns * n * (n - 1) / 2;
  const double percent = 100 * gain_ns / static_cast<double>(std::max<int64_t>(times.total_ns, 1));
  if (percent < kPercentWorthAFinding) return;
  const Parts growth = GrowthOf(times);
  const double busy_ns = growth[kStepKernels] + growth[kStepCopies];
  const bool is_of_gpu = 2 * busy_ns > times.slope_ns * n / 2;  // more than half of what the halves differ by
  if (is_of_gpu && IsOnlyTheQueue(input, times, busy_ns)) return;
  Finding finding = NewFinding("steps.trend", percent);
  finding.message = "\"" + InMessage(name) + "\" slows down by " + FormatNs(times.slope_ns) + " per iteration, " +
                    FormatPercent(TrendPercent(times)) + " over " + CountOf(times.count, "iteration");
  finding.evidence.push_back("Second half compared with the first: " + ExtraText(growth));
  finding.gain_ns = std::llround(gain_ns);
  finding.basis = "assumes all iterations are as fast as the first (robust slope)";
  finding.subject = SubjectOf(name, growth);
  result->findings.push_back(std::move(finding));
}

void AddWarmupFinding(const StepTimes& times, const std::string& name, AnalysisResult* result) {
  double gain_ns = 0, above_ns = 0;
  for (const Iteration& step : times.iterations) {
    if (!step.is_warmup) continue;
    gain_ns += WonInWindow(step, times);
    above_ns += static_cast<double>(step.duration_ns) - times.steady_median_ns;
  }
  const double percent = 100 * gain_ns / static_cast<double>(std::max<int64_t>(times.total_ns, 1));
  if (times.warmups == 0 || percent < kPercentWorthAFinding) return;
  const Parts extra = ExtraParts(times, [](const Iteration& step) { return step.is_warmup; });
  Finding finding = NewFinding("steps.warmup");
  finding.message = CountOf(times.warmups, "warm-up iteration") + " of \"" + InMessage(name) + "\" took " +
                    FormatNs(above_ns) + " longer than the median (" + FormatNs(times.steady_median_ns) + ")";
  finding.evidence.push_back("Extra time: " + ExtraText(extra));
  finding.gain_ns = std::llround(gain_ns);
  finding.basis = "time above the median in warm-up iterations";
  finding.subject = SubjectOf(name, extra);
  result->findings.push_back(std::move(finding));
}

double IdlePercent(const StepTimes& times) {
  double idle_ns = 0;
  for (size_t part = kStepIdle; part < kStepOutside; ++part) idle_ns += static_cast<double>(times.total_parts_ns[part]);
  return times.known_ns == 0 ? 0 : 100 * idle_ns / static_cast<double>(times.known_ns);
}

// What lies within windows and times of the base level, where ranges were recorded.
int64_t RangesRecordedNs(const Trace& trace, uint32_t process, const Interval& time) {
  if (trace.base_times.empty()) return time.DurationNs();
  int64_t sum_ns = 0;
  for (const Capture& c : trace.captures) sum_ns += c.process == process ? OverlapNs(c, time) : 0;
  for (const BaseTime& base : trace.base_times) sum_ns += base.process == process ? OverlapNs(base, time) : 0;
  return sum_ns;
}

// How often one began after the warm-up: with what lies between them, such as a wait for the next batch.
std::string PerSecond(const Trace& trace, const StepChoice& choice, const StepTimes& times) {
  if (times.count < 2) return "";
  const Interval all{(times.iterations.begin() + times.warmups)->start_ns, times.iterations.back().start_ns};
  const int64_t all_ns = RangesRecordedNs(trace, trace.threads[choice.thread].process, all);
  if (all_ns <= 0) return "";
  const double rate = 1e9 * static_cast<double>(times.count - 1) / static_cast<double>(all_ns);
  return " (" + (rate < 10 ? fmt::format("{:.2f}", rate) : FormatCount(std::llround(rate))) + "/s)";
}

// "39 "step" iterations, median 813.05 us (1,230/s), GPU idle 94.1% of step time (most: host)"
std::string Headline(const Trace& trace, const StepChoice& choice, const StepTimes& times, const std::string& name) {
  std::string text = FormatCount(static_cast<int64_t>(times.iterations.size())) + " \"" + name +
                     "\" iterations, median " + FormatNs(times.steady_median_ns) + PerSecond(trace, choice, times);
  if (times.device == kNone || times.known_count == 0) return text;
  text += ", GPU idle " + FormatPercent(IdlePercent(times)) + " of step time";
  if (times.known_count < times.count) text += " (" + FormatCount(times.known_count) + " in windows)";
  const auto first = times.total_parts_ns.begin() + kStepIdle, last = times.total_parts_ns.begin() + kStepOutside;
  const auto most = std::max_element(first, last);
  if (*most > 0) text += " (most: " + std::string(InfoOf(static_cast<Cause>(most - first)).name) + ")";
  return text;
}

void AddMetrics(const StepTimes& times, AnalysisResult* result) {
  AddMetric(result, "step.count", times.iterations.size());
  AddMetric(result, "step.warmup_count", times.warmups);
  AddMetric(result, "step.outliers", times.outliers);
  AddMetric(result, "step.mean_ns", times.mean_ns);
  AddMetric(result, "step.median_ns", times.steady_median_ns);
  AddMetric(result, "step.p95_ns", times.p95_ns);
  AddMetric(result, "step.p99_ns", times.p99_ns);
  AddMetric(result, "step.max_ns", times.max_ns);
  AddMetric(result, "step.trend_percent", TrendPercent(times));
  if (times.known_count > 0) AddMetric(result, "step.idle_percent", IdlePercent(times));
}

std::string WhyThisStep(const Trace& trace, const StepChoice& choice, bool is_asked_for) {
  const std::string thread = ThreadName(trace, choice.thread);
  if (choice.work_ns > 0) {
    return "Step: the outermost range that one thread (" + thread +
           ") repeats at least 5 times and that launches at least half of the kernel time of its process (" +
           FormatPercent(PercentOf(choice.work_ns, choice.all_work_ns)) + "). Use --step NAME to choose another.";
  }
  const std::string covers = FormatPercent(PercentOf(choice.covered_ns, choice.window_ns)) +
                             (trace.ops.empty() ? " of the time with ranges" : " of the GPU window");
  if (is_asked_for) return "Step: the range chosen with --step, on " + thread + "; it covers " + covers + ".";
  if (choice.is_named) {
    return "Step: the range of that name on " + thread + "; it covers " + covers +
           ". Use --step NAME to choose another.";
  }
  return "Step: the outermost range that one thread (" + thread +
         ") repeats at least 5 times and that covers at least half of the " +
         (trace.ops.empty() ? "time with ranges" : "GPU window") + " (" + covers +
         "). Use --step NAME to choose another.";
}

Table SummaryTable(const Trace& trace, const StepChoice& choice, const StepTimes& times, bool is_asked_for) {
  Table table{
      "steps",
      "Steps",
      {{"count", "Steps", Unit::kCount, false},
       {"mean_ns", "Mean", Unit::kNs, false, ColumnRole::kMean},
       {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
       {"p95_ns", "p95", Unit::kNs, false},
       {"p99_ns", "p99", Unit::kNs, true},
       {"max_ns", "Slowest", Unit::kNs, false, ColumnRole::kMost},
       {"min_ns", "Fastest", Unit::kNs, true, ColumnRole::kLeast},
       {"trend_percent", "Trend", Unit::kPercent, false, ColumnRole::kOwn},
       {"outliers", "Slow", Unit::kCount, false, "more than 5 median deviations above the median"},
       {"warmups", "Warm-up", Unit::kCount, false, "slow iterations at the beginning, excluded from the other figures"},
       {"path", "NVTX range", Unit::kText, false},
       {"thread", "Thread", Unit::kText, true}},
      {},
      WhyThisStep(trace, choice, is_asked_for)};
  table.rows.push_back({times.count, times.mean_ns, times.steady_median_ns, times.p95_ns, times.p99_ns, times.max_ns,
                        times.min_ns, TrendPercent(times), times.outliers, times.warmups, PathName(trace, choice.path),
                        ThreadName(trace, choice.thread)});
  return table;
}

Table PartTable(const Trace& trace, const StepTimes& times) {
  Table table{"step_parts",
              "Step time breakdown",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"mean_ns", "Mean", Unit::kNs, false, ColumnRole::kMean},
               {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"total_ns", "Total", Unit::kNs, true},
               {"part", "GPU activity", Unit::kText, false}},
              {},
              "Percent of the time of all steps, warm-up excluded."};
  if (times.device == kNone) return table;
  table.note += " For " + DeviceScope(trace, times.device) + ", the GPU that the thread uses most.";
  if (times.known_count < times.count) {
    table.note += " Only the " + CountOf(times.known_count, "step") +
                  " within windows count: between them the GPU's work "
                  "was not recorded.";
  }
  for (size_t part = 0; part < kStepPartCount; ++part) {
    const int64_t total_ns = times.total_parts_ns[part];
    if (total_ns == 0) continue;
    table.rows.push_back({PercentOf(total_ns, times.known_ns),
                          static_cast<double>(total_ns) / static_cast<double>(times.known_count),
                          times.median_parts_ns[part], total_ns, StepPartName(part)});
  }
  std::ranges::stable_sort(
      table.rows, [](const auto& a, const auto& b) { return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]); });
  return table;
}

// Those that are told one by one, the longest first.
std::vector<uint32_t> SlowSteps(const StepTimes& times) {
  std::vector<uint32_t> slow;
  for (uint32_t i = 0; i < times.iterations.size(); ++i) {
    if (times.iterations[i].is_outlier || times.iterations[i].is_warmup) slow.push_back(i);
  }
  std::ranges::stable_sort(
      slow, [&](uint32_t a, uint32_t b) { return times.iterations[a].duration_ns > times.iterations[b].duration_ns; });
  return slow;
}

Table SlowTable(const Trace& trace, const StepTimes& times, uint32_t max_rows) {
  Table table{"step_outliers",
              "Slow steps",
              {{"number", "Step", Unit::kCount, false},
               {"start_ns", "Start", Unit::kNs, true, ColumnRole::kOwn, "time since the start of the trace"},
               {"duration_ns", "Length", Unit::kNs, false},
               {"above_median_ns", "Above median", Unit::kNs, false},
               {"kind", "Kind", Unit::kText, false},
               {"extra", "Extra over the median step", Unit::kText, false}},
              {},
              "Steps are numbered from 1."};
  const std::vector<uint32_t> slow = SlowSteps(times);
  for (const uint32_t i : std::span(slow).first(RowsShown(slow.size(), max_rows))) {
    const Iteration& step = times.iterations[i];
    table.rows.push_back({static_cast<int64_t>(i + 1), step.start_ns - trace.start_ns, step.duration_ns,
                          static_cast<double>(step.duration_ns) - times.steady_median_ns,
                          std::string(step.is_warmup ? "warm-up" : "slow"),
                          step.is_known ? ExtraText(ExtraOf(times, step)) : "not known: between two windows"});
  }
  CountLeftOut(&table, slow.size());
  return table;
}

Table IterationTable(const Trace& trace, const StepTimes& times, uint32_t max_rows) {
  Table table{"step_iterations", "All steps", {}, {}, ""};
  table.is_detail = true;
  table.columns = {{"number", "Step", Unit::kCount, false},
                   {"start_ns", "Start", Unit::kNs, false, ColumnRole::kOwn, "time since the start of the trace"},
                   {"duration_ns", "Length", Unit::kNs, false},
                   {"kind", "Kind", Unit::kText, false}};
  for (size_t part = 0; part < kStepPartCount; ++part) {
    table.columns.push_back({StepPartKey(part), StepPartName(part), Unit::kNs, part >= kStepIdle});
  }
  for (size_t i = 0; i < RowsShown(times.iterations.size(), max_rows); ++i) {
    const Iteration& step = times.iterations[i];
    table.rows.push_back({static_cast<int64_t>(i + 1), step.start_ns - trace.start_ns, step.duration_ns,
                          std::string(step.is_warmup    ? "warm-up"
                                      : step.is_outlier ? "slow"
                                                        : "")});
    for (const int64_t ns : step.parts_ns) table.rows.back().push_back(step.is_known ? Cell(ns) : Cell());
  }
  CountLeftOut(&table, times.iterations.size());
  return table;
}

}  // namespace

AnalysisResult RunSteps(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const std::optional<StepChoice> choice = FindStep(input, options.step);
  if (!choice || choice->ranges.empty()) return result;
  const StepTimes times = TimeSteps(input, *choice);
  const std::string name = PathName(trace, choice->path);
  AddMetrics(times, &result);
  result.headline = Headline(trace, *choice, times, name);
  result.tables.push_back(SummaryTable(trace, *choice, times, !options.step.empty()));
  result.tables.push_back(PartTable(trace, times));
  result.tables.push_back(SlowTable(trace, times, options.max_rows));
  const StepHost host(input, *choice, times);
  if (Table by_place = host.MakeTable(options.max_rows); !by_place.rows.empty()) {
    result.tables.push_back(std::move(by_place));
  }
  result.tables.push_back(IterationTable(trace, times, options.max_rows));
  AddOutlierFinding(trace, times, host, name, &result);
  AddTrendFinding(input, times, name, &result);
  AddWarmupFinding(times, name, &result);
  RankFindings(&result.findings);
  return result;
}

}  // namespace gprof
