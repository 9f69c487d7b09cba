#include "report/trust.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/trust/clock_quality.h"
#include "analysis/trust/recorded_time.h"
#include "analysis/trust/recording_cost.h"
#include "base/text.h"
#include "base/units.h"
#include "gprof/version.h"
#include "report/trace_summary.h"

namespace gprof {
namespace {

std::string Count(uint64_t count) { return FormatCount(static_cast<int64_t>(count)); }

// Of all processes, each text once, in order.
template <class F>
std::set<std::string> Each(const Trace& trace, F&& text_of) {
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

Versions VersionsOf(const Trace& trace) {
  const auto number = [](uint32_t version) { return version == 0 ? std::string() : std::to_string(version); };
  return {Each(trace, [&](const Process& p) { return trace.Text(p.tracer_version); }),
          Each(trace, [&](const Process& p) { return number(p.cupti_version); }),
          Each(trace, [](const Process& p) { return FormatCudaVersion(p.driver_version); }),
          Each(trace, [](const Process& p) { return FormatCudaVersion(p.runtime_version); })};
}

std::string VersionsText(const Trace& trace) {
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

std::string CompleteText(const Trust& trust) {
  if (trust.trace.health.IsComplete()) return "yes";
  std::string text;
  for (const Finding& finding : trust.health) {
    if (finding.severity == Severity::kWarning) text += (text.empty() ? "" : "; ") + finding.message;
  }
  return "NO: " + text;
}

std::string MatchedText(const TraceHealth& health) {
  if (health.unmatched_launches + health.unmatched_ops + health.unmatched_nvtx_ends == 0)
    return "yes, all launch calls to GPU operations and all NVTX range starts to ends";
  return Count(health.unmatched_launches) + " launch calls without a GPU operation, " + Count(health.unmatched_ops) +
         " GPU operations without a launch call, " + Count(health.unmatched_nvtx_ends) +
         " NVTX range ends without a start";
}

std::string ClocksText(const Trust& trust) {
  const ClockQuality& clocks = trust.clocks;
  if (!clocks.IsKnown()) return "unknown: the trace has no clock readings";
  const bool is_of_import = clocks.host_readings + clocks.cupti_readings == 1 && clocks.read_within_ns == 0;
  if (is_of_import && trust.trace.health.early_ops == 0) return "not checked: the trace has one clock reading";
  std::string text = "synchronised to " + FormatNs(clocks.AgreeNs()) + ": read " +
                     CountOf(clocks.host_readings + clocks.cupti_readings, "time") + ", within " +
                     FormatNs(clocks.read_within_ns);
  if (clocks.tsc_residual_ns > 0) text += ", TSC residual " + FormatNs(clocks.tsc_residual_ns);
  if (clocks.cupti_readings > 0) {
    text += ", CUPTI residual " + FormatNs(clocks.cupti_residual_ns) +
            fmt::format(" at a drift of {:.2f} ppm", std::round(100 * clocks.cupti_drift_ppm) / 100 + 0.0);
  }
  const auto early = static_cast<int64_t>(trust.trace.health.early_ops);
  if (early > 0) {
    text +=
        ", " + CountOf(early, "operation") + " starting up to " + FormatNs(clocks.early_ns) + " before the launch call";
  }
  return text;
}

std::string CostText(const Trust& trust) {
  const RecordingCost& cost = trust.cost;
  if (!cost.is_known) return "unknown: no process was traced by gprof-cli";
  std::string text = OverheadText(trust);
  if (cost.measured.IsKnown())
    return text + "; from the time between calls of " + std::string(trust.trace.Text(cost.measured.function)) +
           ", with and without recording; not subtracted";
  if (!cost.threads.empty()) {
    text += "; " + FormatNs(cost.TotalNs()) + " on " + CountOf(static_cast<int64_t>(cost.threads.size()), "thread") +
            ", most of it on " + ThreadName(trust.trace, cost.threads.front().thread) + ": " +
            FormatNs(cost.LargestNs()) + " of " + FormatNs(cost.threads.front().active_ns);
  }
  return text + (text.empty() ? "none recorded" : "") + "; from the record counts and their cost on " +
         WhereCostsWereMeasured(cost) + "; not subtracted";
}

std::string RecordedText(const Trace& trace) {
  const std::string mode = CaptureModeText(trace), captures = CapturesText(trace);
  if (captures.empty()) return mode.empty() ? "the whole run" : mode;
  return mode.empty() ? captures : captures + ": " + mode;
}

// How CPU samples were taken, and what was refused with what would change that; empty where none were to be taken.
std::string SampledText(const Trace& trace) {
  std::string text;
  std::set<trace::SampleKind> kinds;
  for (const CpuSample& sample : trace.cpu_samples) kinds.insert(sample.sample_kind);
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (kinds.count(trace::SampleKind::kPerf) != 0) add("by perf events");
  if (kinds.count(trace::SampleKind::kSignal) != 0) add("by a signal");
  if (kinds.count(trace::SampleKind::kPython) + kinds.count(trace::SampleKind::kPythonWaiting) != 0)
    add("of Python, by reading its memory");
  std::set<std::string> refusals;
  for (const Notice& notice : trace.notices) {
    // As all refusals are worded (collect/host).
    const std::string message(trace.Text(notice.message));
    if (message.find("(to change that: ") != std::string::npos && refusals.insert(message).second) add(message);
  }
  return text;
}

Json ThreadsJson(const Trust& trust) {
  const Trace& trace = trust.trace;
  constexpr std::size_t kMost = 16;  // of a program with thousands
  Json threads = Json::array();
  for (const ThreadCost& c : trust.cost.threads) {
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

Json MeasuredJson(const Trust& trust) {
  const MeasuredSlowDown& measured = trust.cost.measured;
  if (!measured.IsKnown()) return nullptr;
  return {{"slow_down_percent", NumberJson(measured.percent)},  {"low_percent", NumberJson(measured.low_percent)},
          {"high_percent", NumberJson(measured.high_percent)},  {"windows", measured.windows},
          {"pid", trust.trace.processes[measured.process].pid}, {"function", trust.trace.Text(measured.function)}};
}

Json OverheadJson(const Trust& trust) {
  const RecordingCost& cost = trust.cost;
  if (!cost.is_known) return nullptr;
  return {{"total_ns", cost.TotalNs()},
          {"largest_thread_ns", cost.LargestNs()},
          {"percent", NumberJson(cost.Percent())},
          {"gpu_percent", NumberJson(cost.GpuPercent())},
          {"slow_down_least_percent", NumberJson(cost.slow_down.least_percent)},
          {"slow_down_most_percent", NumberJson(cost.slow_down.most_percent)},
          {"measured", MeasuredJson(trust)},
          {"basis", "estimated from the record counts and their cost on " + WhereCostsWereMeasured(cost)},
          {"threads", ThreadsJson(trust)}};
}

Json ClocksJson(const Trust& trust) {
  const ClockQuality& clocks = trust.clocks;
  return {{"agree_ns", clocks.IsKnown() ? Json(clocks.AgreeNs()) : Json()},
          {"host_readings", clocks.host_readings},
          {"cupti_readings", clocks.cupti_readings},
          {"read_within_ns", clocks.read_within_ns},
          {"tsc_residual_ns", clocks.tsc_residual_ns},
          {"cupti_residual_ns", clocks.cupti_residual_ns},
          {"cupti_drift_ppm", NumberJson(clocks.cupti_drift_ppm)},
          {"early_ops", trust.trace.health.early_ops},
          {"early_ns", clocks.early_ns}};
}

}  // namespace

Trust TrustOf(const AnalysisInput& input) {
  return {input.trace(), HealthOf(input), input.shared().recording_cost(), QualityOfClocks(input.trace())};
}

std::string OverheadText(const Trust& trust) {
  const RecordingCost& cost = trust.cost;
  if (!cost.is_known || cost.threads.empty()) return "";
  if (const MeasuredSlowDown& measured = cost.measured; measured.IsKnown()) {
    return "measured slow-down " + FormatPercent(measured.percent) + " (95% interval " +
           FormatPercent(measured.low_percent) + " to " + FormatPercent(measured.high_percent) + ", " +
           CountOf(measured.windows, "window") + ")";
  }
  const std::string least = FormatPercent(cost.slow_down.least_percent);
  const std::string most = FormatPercent(cost.slow_down.most_percent);
  return "estimated slow-down " + (least == most ? most : least + " to " + most) + " of the run" +
         (cost.calibrated_unix_s != 0 ? " (calibrated on the machine of the run)" : "");
}

Table TrustTable(const Trust& trust) {
  const Trace& trace = trust.trace;
  Table table{"trust",
              "Data quality",
              {{"question", "Question", Unit::kText, false}, {"answer", "Answer", Unit::kText, false}},
              {},
              ""};
  const auto add = [&](const char* question, std::string answer) {
    table.rows.push_back({std::string(question), std::move(answer)});
  };
  add("Complete", CompleteText(trust));
  add("Lost", CountOf(static_cast<int64_t>(trace.health.lost_records), "record"));
  add("Matched", MatchedText(trace.health));
  add("Clocks", ClocksText(trust));
  add("Overhead", CostText(trust));
  add("Recorded", RecordedText(trace));
  if (std::string sampled = SampledText(trace); !sampled.empty()) add("Sampled", std::move(sampled));
  add("Versions", VersionsText(trace));
  return table;
}

Json TrustJson(const Trust& trust) {
  const Trace& trace = trust.trace;
  const TraceHealth& health = trace.health;
  Json reasons = Json::array();
  for (const Finding& finding : trust.health) reasons.push_back(finding.message);
  const Versions versions = VersionsOf(trace);
  const bool is_whole = IsRecordedWhole(trace) && !HasOnlyWaited(trace);
  return {{"complete", health.IsComplete()},
          {"remarks", std::move(reasons)},
          {"lost_records", health.lost_records},
          {"unmatched_launches", health.unmatched_launches},
          {"unmatched_ops", health.unmatched_ops},
          {"unmatched_nvtx_ends", health.unmatched_nvtx_ends},
          {"clocks", ClocksJson(trust)},
          {"overhead", OverheadJson(trust)},
          {"capture_modes", Each(trace, [&](const Process& p) { return trace.Text(p.capture_mode); })},
          {"captures", trace.captures.size()},
          {"cpu_samples", SampledText(trace)},
          {"captured_ns", is_whole ? trace.end_ns - trace.start_ns : CapturedNs(trace)},
          {"versions",
           {{"gprof_cli", kVersion},
            {"tracer", versions.tracer},
            {"cupti", versions.cupti},
            {"driver", versions.driver},
            {"runtime", versions.runtime}}}};
}

}  // namespace gprof
