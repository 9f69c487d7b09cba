#include "fleet/partial/keep_results.h"

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/registry/run_analyses.h"
#include "analysis/topics/analyses.h"
#include "report/nsys/nsys_reports.h"
#include "report/run_facts.h"
#include "report/trace_amounts.h"
#include "report/trace_words.h"
#include "trace/model/name_table.h"

namespace gprof {
namespace {

constexpr size_t kKeptScopes = 100;  // NVTX ranges, kernels, functions that an analysis has metrics of
constexpr size_t kKeptCostlyThreads = 8;
constexpr size_t kKeptNotices = 32;
constexpr size_t kKeptParts = 1000;  // of a breakdown: kernels, copies, ranges

// The same wherever the trace lies.
std::string NameWithoutFolder(const TraceHead& trace) { return trace.path.substr(trace.path.rfind('/') + 1); }

// The head of a trace with the names in it, and nothing that other results do not need.
class SmallHead {
 public:
  explicit SmallHead(const Trace& trace) : from_(trace) {}

  TraceHead Take(RecordingCost* cost) {
    to_.path = NameWithoutFolder(from_), to_.recorder = from_.recorder, to_.lacks = from_.lacks,
    to_.health = from_.health;
    to_.record_count = from_.record_count, to_.start_ns = from_.start_ns, to_.end_ns = from_.end_ns;
    to_.processes = Named(from_.processes), to_.devices = Named(from_.devices);
    to_.captures = from_.captures, to_.process_captures = from_.process_captures;
    to_.base_times = from_.base_times;
    to_.losses = from_.losses;
    to_.notices = Named(from_.notices);
    if (to_.notices.size() > kKeptNotices) to_.notices.resize(kKeptNotices);
    TakeClock();
    TakeThreads(cost);
    to_.strings = names_.Take();
    return std::move(to_);
  }

 private:
  template <class T>
  std::vector<T> Named(const std::vector<T>& list) {
    std::vector<T> named = list;
    for (T& item : named) {
      T::Fields(item, [&](FieldOf, auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, NameId>) Rename(&value);
      });
    }
    return named;
  }

  void Rename(NameId* name) { *name = names_.Intern(from_.Text(*name)); }

  // The one that was read best is enough to tell how the clocks of two hosts differ.
  void TakeClock() {
    const auto best = std::ranges::min_element(
        from_.clocks, [](const Clock& a, const Clock& b) { return a.anchor.uncertainty_ns < b.anchor.uncertainty_ns; });
    if (best != from_.clocks.end()) to_.clocks.push_back(*best);
  }

  void TakeThreads(RecordingCost* cost) {
    if (cost->threads.size() > kKeptCostlyThreads) cost->threads.resize(kKeptCostlyThreads);
    for (ThreadCost& of : cost->threads) {
      Thread thread = from_.threads[of.thread];
      Rename(&thread.name);
      of.thread = static_cast<uint32_t>(to_.threads.size());
      to_.threads.push_back(thread);
    }
    Rename(&cost->measured.function);
  }

  const TraceHead& from_;
  TraceHead to_;
  NameTable names_;
};

// Metrics of the trace and of its GPUs, and of what else has most of them: results come with the most time first.
void CutScopes(AnalysisResult* result) {
  std::map<std::string, size_t> count;  // by kind: "nvtx"
  std::map<std::string, bool> is_kept;  // by scope
  std::erase_if(result->metrics, [&](const Metric& metric) {
    const size_t colon = metric.scope.find(':');
    if (colon == std::string::npos) return false;
    const auto [at, is_new] = is_kept.try_emplace(metric.scope);
    if (is_new) at->second = count[metric.scope.substr(0, colon)]++ < kKeptScopes;
    return !at->second;
  });
}

// One with more rows than anybody reads is left out; a comparison then has the metrics alone.
Breakdown SmallBreakdown(const AnalysisInput& input) {
  Breakdown breakdown = BreakDown(input);
  size_t rows = breakdown.ranges.size();
  for (const DeviceTime& device : breakdown.devices) {
    rows += device.kernels.size() + device.transfers.size() + device.paths.size();
  }
  return rows <= kKeptParts ? breakdown : Breakdown();
}

}  // namespace

std::vector<AnalysisResult> RunToKeep(const AnalysisInput& input) {
  std::vector<const Analysis*> analyses;
  for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
  return RunAll(input, analyses, {.max_rows = kKeptRows, .has_histograms = true});
}

std::vector<AnalysisResult> RunForSummary(const AnalysisInput& input) {
  constexpr std::string_view kOfSummary[] = {"memcpy", "gpu_metrics", "hang"};
  std::vector<const Analysis*> analyses;
  for (const std::string_view name : kOfSummary) analyses.push_back(FindAnalysis(name));
  // A summary has nothing of what a report shows only to those who ask for it.
  std::vector<AnalysisResult> some = RunAll(input, analyses, {.max_rows = kKeptRows, .is_brief = true});
  std::vector<AnalysisResult> results(AllAnalyses().size());
  for (size_t i = 0; i < some.size(); ++i) {
    results[static_cast<size_t>(analyses[i] - AllAnalyses().data())] = std::move(some[i]);
  }
  results[static_cast<size_t>(FindAnalysis("idle") - AllAnalyses().data())] = SumIdle(input, kKeptRows);
  return results;
}

Results KeepResults(const AnalysisInput& input, std::vector<AnalysisResult> found) {
  const Trace& trace = input.trace();
  Results kept;
  for (size_t i = 0; i < found.size(); ++i) {
    CutScopes(&found[i]);
    kept.analyses.push_back({std::string(AllAnalyses()[i].name), std::move(found[i])});
  }
  kept.stats = KeptStats(input, kKeptRows);
  const auto of = [&](std::string_view name) -> const AnalysisResult& {
    return std::ranges::find_if(kept.analyses, [&](const auto& a) { return a.name == name; })->result;
  };
  kept.traces = {SummarizeTrace(trace, of("devices"), of("idle"))};
  kept.traces.front().path = NameWithoutFolder(trace);
  for (const Amount& amount : AmountsOf(trace)) {
    kept.amounts.push_back({amount.key, static_cast<int64_t>(amount.count)});
  }
  kept.unknown = UnknownFacts(trace);
  kept.cost = input.shared().recording_cost();
  kept.clocks = QualityOfClocks(trace);
  kept.judged = JudgedBy(input, "");
  kept.breakdown = SmallBreakdown(input);
  for (size_t device = 0; device < trace.devices.size(); ++device) {
    kept.is_used.push_back(HasGpuWork(trace, device));
  }
  kept.why_no_gpu_work = WhyNoGpuWork(trace);
  kept.head = SmallHead(trace).Take(&kept.cost);
  return kept;
}

}  // namespace gprof
