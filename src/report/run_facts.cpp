#include "report/run_facts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/facts/shared_facts.h"
#include "report/trace_words.h"

namespace gprof {
namespace {

// How CPU samples were taken, and what was refused with what would change that; empty where none were to be taken.
std::string SampledText(const std::vector<CpuSample>& samples, const TraceHead& trace) {
  std::string text;
  std::set<trace::SampleKind> kinds;
  for (const CpuSample& sample : samples) kinds.insert(sample.sample_kind);
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

// Why there is no GPU work has a place of its own.
std::vector<Finding> WithoutReasons(std::vector<Finding> findings, const TraceHead& trace, bool has_gpu_work) {
  std::set<std::string_view> reasons;
  for (const Notice& notice : trace.notices) {
    if (!has_gpu_work && IsReasonForNoGpuWork(trace, notice)) reasons.insert(trace.Text(notice.message));
  }
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.id == "health.no_gpu" ||
           (finding.id == "health.notice" &&
            std::ranges::any_of(reasons, [&](std::string_view reason) { return finding.message.starts_with(reason); }));
  });
  return findings;
}

}  // namespace

RunFacts FactsOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  return {.head = &trace,
          .unknown = UnknownFacts(trace),
          .used_devices = UsedDevices(trace),
          .why_no_gpu_work = WhyNoGpuWork(trace),
          .health = HealthOf(input),
          .cost = input.shared().recording_cost(),
          .clocks = QualityOfClocks(trace),
          .sampled = SampledText(trace.cpu_samples, trace)};
}

RunFacts FactsOf(const Results& results) {
  std::vector<uint32_t> used = UsedDevices(results);
  std::vector<Finding> health =
      WithoutReasons(ResultOf(*FindAnalysis("health"), results, {}).findings, results.head, !used.empty());
  return {.head = &results.head,
          .unknown = results.unknown,
          .used_devices = std::move(used),
          .why_no_gpu_work = results.why_no_gpu_work,
          .health = std::move(health),
          .cost = results.cost,
          .clocks = results.clocks,
          .sampled = SampledText({}, results.head),
          .stands_for = results.traces};
}

std::vector<Finding> HealthOf(const AnalysisInput& input) {
  return WithoutReasons(FindAnalysis("health")->run(input, {}).findings, input.trace(), !input.trace().ops.empty());
}

}  // namespace gprof
