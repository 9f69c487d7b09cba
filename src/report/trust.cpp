#include "report/trust.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/recording/measured_slow_down.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/facts/time/recorded_time.h"
#include "analysis/result/display_names.h"
#include "base/text.h"
#include "base/units.h"
#include "gprof/version.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

std::string Count(uint64_t count) { return FormatCount(static_cast<int64_t>(count)); }

// Of all processes, each text once, in order.
template <class F>
std::set<std::string> Each(const TraceHead& trace, F&& text_of) {
  std::set<std::string> texts;
  for (const Process& process : trace.processes) {
    const std::string text(text_of(process));
    if (!text.empty()) texts.insert(text);
  }
  return texts;
}

struct Versions {
  std::set<std::string> tracer, cupti, driver, runtime;
};

Versions VersionsOf(const TraceHead& trace) {
  const auto number = [](uint32_t version) { return version == 0 ? std::string() : std::to_string(version); };
  return {Each(trace, [&](const Process& p) { return trace.Text(p.tracer_version); }),
          Each(trace, [&](const Process& p) { return number(p.cupti_version); }),
          Each(trace, [](const Process& p) { return FormatCudaVersion(p.driver_version); }),
          Each(trace, [](const Process& p) { return FormatCudaVersion(p.runtime_version); })};
}

std::string VersionsText(const TraceHead& trace) {
  const Versions versions = VersionsOf(trace);
  std::string text = std::string("gprof-cli ") + kVersion;
  const auto add = [&](const char* what, const std::set<std::string>& found) {
    if (!found.empty()) text += std::string(", ") + what + " " + Joined({found.begin(), found.end()}, " and ");
  };
  add("tracer", versions.tracer);
  add("CUPTI", versions.cupti);
  add("CUDA driver", versions.driver);
  add("CUDA runtime", versions.runtime);
  return text;
}

std::string CompleteText(const RunFacts& run) {
  if (run.head->health.IsComplete()) return "yes";
  std::string text;
  for (const Finding& finding : run.health) {
    if (finding.severity == Severity::kWarning) text += (text.empty() ? "" : "; ") + finding.message;
  }
  return "NO: " + text;
}

std::string MatchedText(const RunFacts& run) {
  const TraceHealth& health = run.head->health;
  if (health.unmatched_launches + health.unmatched_ops + health.unmatched_nvtx_ends == 0) {
    std::vector<std::string> matched, unchecked;
    const auto add = [&](FactSet needs, const char* what) {
      std::string why;
      ForEachFact(needs & run.unknown, [&](Fact fact) { why = why.empty() ? WhyUnknown(*run.head, fact) : why; });
      (why.empty() ? matched : unchecked).push_back(why.empty() ? what : why);
    };
    add(Fact::kOperations | Fact::kApiCalls, "all launch calls to GPU operations");
    add(Fact::kNvtx, "all NVTX range starts to ends");
    if (matched.empty()) return "nothing to match: " + Joined(unchecked);
    return "yes, " + Joined(matched, " and ") + (unchecked.empty() ? "" : "; " + Joined(unchecked));
  }
  return Count(health.unmatched_launches) + " launch calls without a GPU operation, " + Count(health.unmatched_ops) +
         " GPU operations without a launch call, " + Count(health.unmatched_nvtx_ends) +
         " NVTX range ends without a start";
}

std::string ClocksText(const RunFacts& run) {
  const ClockQuality& clocks = run.clocks;
  if (!clocks.IsKnown()) return "unknown: the trace has no clock readings";
  const bool is_of_import = clocks.host_readings + clocks.cupti_readings == 1 && clocks.read_within_ns == 0;
  if (is_of_import && run.head->health.early_ops == 0) return "not checked: the trace has one clock reading";
  std::string text = "synchronised to " + FormatNs(clocks.AgreeNs()) + ": read " +
                     CountOf(clocks.host_readings + clocks.cupti_readings, "time") + ", within " +
                     FormatNs(clocks.read_within_ns);
  if (clocks.tsc_residual_ns > 0) text += ", TSC residual " + FormatNs(clocks.tsc_residual_ns);
  if (clocks.cupti_readings > 0) {
    text += ", CUPTI residual " + FormatNs(clocks.cupti_residual_ns) +
            fmt::format(" at a drift of {:.2f} ppm", std::round(100 * clocks.cupti_drift_ppm) / 100 + 0.0);
  }
  const auto early = static_cast<int64_t>(run.head->health.early_ops);
  if (early > 0) {
    text +=
        ", " + CountOf(early, "operation") + " starting up to " + FormatNs(clocks.early_ns) + " before the launch call";
  }
  return text;
}

std::string CostText(const RunFacts& run) {
  const RecordingCost& cost = run.cost;
  if (!cost.is_known) return "unknown: no process was traced by gprof-cli";
  std::string text = OverheadText(run);
  if (cost.measured.IsKnown())
    return text + "; from the time between calls of " + std::string(run.head->Text(cost.measured.function)) +
           ", with and without recording; not subtracted";
  if (!cost.threads.empty()) {
    text += "; " + FormatNs(cost.TotalNs()) + " on " + CountOf(static_cast<int64_t>(cost.threads.size()), "thread") +
            ", most of it on " + ThreadName(*run.head, cost.threads.front().thread) + ": " +
            FormatNs(cost.LargestNs()) + " of " + FormatNs(cost.threads.front().active_ns);
  }
  return text + (text.empty() ? "none recorded" : "") + "; from the record counts and their cost on " +
         WhereCostsWereMeasured(cost) + "; not subtracted";
}

// An interval that is wide tells less than its middle, and how to do better.
std::string EstimateText(const SlowDown& slow_down) {
  constexpr double kLittlePercent = 1;
  const std::string least = FormatPercent(slow_down.least_percent), most = FormatPercent(slow_down.most_percent);
  if (least == most) return most + " of the run";
  if (slow_down.most_percent < kLittlePercent) return "at most " + most + " of the run";
  const double middle = (slow_down.least_percent + slow_down.most_percent) / 2;
  if (slow_down.most_percent - slow_down.least_percent <= middle / 2) return least + " to " + most + " of the run";
  return "about " + FormatPercent(middle) + " of the run (profile --measure-overhead measures it)";
}

Json ThreadsJson(const RunFacts& run) {
  const TraceHead& trace = *run.head;
  constexpr std::size_t kMost = 16;  // of a program with thousands
  Json threads = Json::array();
  for (const ThreadCost& c : run.cost.threads) {
    if (threads.size() == kMost) break;
    const Thread& thread = trace.threads[c.thread];
    threads.push_back({{"pid", trace.processes[thread.process].pid},
                       {"tid", thread.tid},
                       {"name", trace.Text(thread.name)},
                       {"calls", c.calls},
                       {"nvtx_events", c.nvtx},
                       {"calls_ns", c.calls_ns},
                       {"nvtx_ns", c.nvtx_ns},
                       {"cupti_ns", c.cupti_ns},
                       {"active_ns", c.active_ns},
                       {"percent", NumberJson(c.ActivePercent())},
                       {"gpu_percent", NumberJson(c.GpuPercent())}});
  }
  return threads;
}

Json MeasuredJson(const RunFacts& run) {
  const MeasuredSlowDown& measured = run.cost.measured;
  if (!measured.IsKnown()) return nullptr;
  Json json = {{"slow_down_percent", NumberJson(measured.percent)}, {"low_percent", NumberJson(measured.low_percent)},
               {"high_percent", NumberJson(measured.high_percent)}, {"windows", measured.windows},
               {"pid", run.head->processes[measured.process].pid},  {"function", run.head->Text(measured.function)}};
  if (measured.IsOfShares()) {
    const PercentInterval average = OnAverage(measured);
    json["base"] = {{"slow_down_percent", NumberJson(measured.base.middle)},
                    {"low_percent", NumberJson(measured.base.low)},
                    {"high_percent", NumberJson(measured.base.high)},
                    {"windows", measured.base_windows}};
    json["average"] = {{"slow_down_percent", NumberJson(average.middle)},
                       {"low_percent", NumberJson(average.low)},
                       {"high_percent", NumberJson(average.high)},
                       {"window_share_percent", NumberJson(100 * measured.window_share)},
                       {"base_share_percent", NumberJson(100 * measured.base_share)}};
  }
  return json;
}

Json OverheadJson(const RunFacts& run) {
  const RecordingCost& cost = run.cost;
  if (!cost.is_known) return nullptr;
  return {{"total_ns", cost.TotalNs()},
          {"largest_thread_ns", cost.LargestNs()},
          {"percent", NumberJson(cost.Percent())},
          {"gpu_percent", NumberJson(cost.GpuPercent())},
          {"text", OverheadText(run)},
          {"slow_down_least_percent", NumberJson(cost.slow_down.least_percent)},
          {"slow_down_most_percent", NumberJson(cost.slow_down.most_percent)},
          {"measured", MeasuredJson(run)},
          {"basis", "estimated from the record counts and their cost on " + WhereCostsWereMeasured(cost)},
          {"threads", ThreadsJson(run)}};
}

Json ClocksJson(const RunFacts& run) {
  const ClockQuality& clocks = run.clocks;
  return {{"agree_ns", clocks.IsKnown() ? Json(clocks.AgreeNs()) : Json()},
          {"host_readings", clocks.host_readings},
          {"cupti_readings", clocks.cupti_readings},
          {"read_within_ns", clocks.read_within_ns},
          {"tsc_residual_ns", clocks.tsc_residual_ns},
          {"cupti_residual_ns", clocks.cupti_residual_ns},
          {"cupti_drift_ppm", NumberJson(clocks.cupti_drift_ppm)},
          {"early_ops", run.head->health.early_ops},
          {"early_ns", clocks.early_ns}};
}

}  // namespace

std::string OverheadText(const RunFacts& run) {
  const RecordingCost& cost = run.cost;
  if (!cost.is_known || cost.threads.empty()) return "";
  if (cost.measured.IsKnown()) return SlowDownWords(cost.measured);
  if (cost.slow_down.most_percent == 0) return "slow-down unknown, as the time of the process is";
  return "estimated slow-down " + EstimateText(cost.slow_down) +
         (cost.calibrated_unix_s != 0 ? " (calibrated on the machine of the run)" : "");
}

Table TrustTable(const RunFacts& run) {
  const TraceHead& trace = *run.head;
  Table table{"trust",
              "Data quality",
              {{"question", "Question", Unit::kText, false}, {"answer", "Answer", Unit::kText, false}},
              {},
              ""};
  const auto add = [&](const char* question, std::string answer) {
    table.rows.push_back({std::string(question), std::move(answer)});
  };
  add("Complete", CompleteText(run));
  add("Lost", CountOf(static_cast<int64_t>(trace.health.lost_records), "record"));
  add("Matched", MatchedText(run));
  add("Clocks", ClocksText(run));
  add("Overhead", CostText(run));
  const std::string recorded = RecordedText(trace);
  add("Recorded", recorded.empty() ? "the whole run" : recorded);
  if (const std::string kernels = KernelTimeText(trace); !kernels.empty()) add("Kernels", kernels);
  if (!run.sampled.empty()) add("Sampled", run.sampled);
  add("Versions", VersionsText(trace));
  return table;
}

Json TrustJson(const RunFacts& run) {
  const TraceHead& trace = *run.head;
  const TraceHealth& health = trace.health;
  Json reasons = Json::array();
  for (const Finding& finding : run.health) reasons.push_back(finding.message);
  const Versions versions = VersionsOf(trace);
  const bool is_whole = IsRecordedWhole(trace) && !HasOnlyWaited(trace);
  Json json = {{"complete", health.IsComplete()},
               {"remarks", std::move(reasons)},
               {"lost_records", health.lost_records},
               {"unmatched_launches", health.unmatched_launches},
               {"unmatched_ops", health.unmatched_ops},
               {"unmatched_nvtx_ends", health.unmatched_nvtx_ends},
               {"matched", MatchedText(run)},
               {"clocks", ClocksJson(run)},
               {"overhead", OverheadJson(run)},
               {"capture_modes", Each(trace, [&](const Process& p) { return trace.Text(p.capture_mode); })},
               {"captures", trace.captures.size()},
               {"cpu_samples", run.sampled},
               {"captured_ns", is_whole ? trace.end_ns - trace.start_ns : CapturedNs(trace)},
               {"versions",
                {{"gprof_cli", kVersion},
                 {"tracer", versions.tracer},
                 {"cupti", versions.cupti},
                 {"driver", versions.driver},
                 {"runtime", versions.runtime}}}};
  if (const std::string kernels = KernelTimeText(trace); !kernels.empty()) {
    json["kernels"] = kernels;
    json["base_ns"] = BaseNs(trace);
  }
  return json;
}

}  // namespace gprof
