#include "fleet/partial/join_results.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/findings/ranked_findings.h"
#include "base/units.h"
#include "fleet/partial/join_tables.h"
#include "trace/reshape/merge.h"
#include "trace/reshape/merge_devices.h"

namespace gprof {
namespace {

constexpr std::string_view kGpu = "gpu";

// Known of all as soon as one rank has any.
constexpr FactSet kOfAny =
    Fact::kOperations | Fact::kApiCalls | Fact::kClocks | Fact::kSlowDown | Fact::kHostLoad | Fact::kGpuMetrics;

const MetricJoin& JoinOf(std::string_view id) { return FindMetric(id)->join; }

double Combined(Join how, double a, double b) {
  return how == Join::kMost ? std::max(a, b) : how == Join::kLeast ? std::min(a, b) : a + b;
}

Results WithoutHistograms(Results kept) {
  for (KeptAnalysis& analysis : kept.analyses) {
    for (Table& table : analysis.result.tables) table = WithoutHistograms(std::move(table));
  }
  for (Table& table : kept.stats) table = WithoutHistograms(std::move(table));
  return kept;
}

// As traces are joined, their heads are.
Trace WithoutRecords(TraceHead head) {
  Trace trace;
  static_cast<TraceHead&>(trace) = std::move(head);
  trace.device_ops.resize(trace.devices.size());
  trace.thread_api_calls.resize(trace.threads.size());
  trace.thread_ranges.resize(trace.threads.size());
  return trace;
}

}  // namespace

class ResultsJoin::State {
 public:
  void Add(const RankSummary& summary, Results results) {
    if (traces_.empty()) unknown_of_any_ = results.unknown & kOfAny;
    const auto index = static_cast<uint32_t>(traces_.size());
    for (const KeptAnalysis& analysis : results.analyses) AddAnalysis(analysis, NameOf(summary), index);
    for (const RankKernel& kernel : summary.kernel_times) AddHistogram(kernel);
    AddRest(results);
    TraceHead head = results.head;
    records_ += std::exchange(head.record_count, 0);  // more of them than one trace can hold
    if (traces_.empty()) first_ = std::move(results);
    traces_.push_back(WithoutRecords(std::move(head)));
  }

  size_t ranks() const { return traces_.size(); }

  Results Finish() {
    if (traces_.size() == 1) return WithoutHistograms(std::move(first_));
    const MergedDevices devices = MergeDevices(traces_);
    kept_.is_used.resize(devices.devices.size());
    for (size_t i = 0; i < used_.size(); ++i) {
      for (size_t d = 0; d < used_[i].size(); ++d) {
        if (used_[i][d]) kept_.is_used[devices.index[i][d]] = true;
      }
    }
    const std::vector<std::vector<uint32_t>> ordinals = OrdinalsOf(devices);
    Trace merged = MergeTraces(std::move(traces_));
    merged.record_count = records_;
    kept_.unknown = merged.lacks | unknown_of_any_ | Fact::kOneTrace;
    for (const auto& [name, of] : analyses_) kept_.analyses.push_back({name, Joined(*of, ordinals, merged)});
    JoinRatios();
    JoinStats();
    kept_.breakdown.wall_ns = merged.end_ns - merged.start_ns;
    for (DeviceTime& device : kept_.breakdown.devices) {
      device.device = Renamed(device.device, ordinals);
      // Its rank was not there from the begin of the first to the end of the last.
      device.unrecorded_ns += std::max<int64_t>(kept_.breakdown.wall_ns - device.WallNs(), 0);
    }
    kept_.head = std::move(static_cast<TraceHead&>(merged));
    return std::move(kept_);
  }

 private:
  struct JoinedFinding {
    Finding largest;
    std::string rank;
    int64_t ranks = 0, gain_ns = 0;
  };

  struct OfAnalysis {
    std::map<std::pair<std::string_view, std::string>, double> metrics;  // by id and scope
    std::vector<std::string> table_order;
    std::map<std::string, TableJoin> tables;
    std::optional<Table> devices;
    std::map<std::string, JoinedFinding> findings;
  };

  void AddAnalysis(const KeptAnalysis& analysis, const std::string& rank, uint32_t index) {
    auto found = std::ranges::find_if(analyses_, [&](const auto& a) { return a.first == analysis.name; });
    if (found == analyses_.end()) {
      analyses_.emplace_back(analysis.name, std::make_unique<OfAnalysis>());
      found = std::prev(analyses_.end());
    }
    OfAnalysis& of = *found->second;
    for (const Metric& metric : analysis.result.metrics) AddMetric(metric, index, &of);
    for (const Table& table : analysis.result.tables) AddTable(table, index, &of);
    for (const Finding& finding : analysis.result.findings) AddFinding(finding, rank, &of);
  }

  // GPUs get their numbers when all ranks are known: until then they have that of their rank, "gpu0#3".
  static std::string Marked(const std::string& scope, uint32_t index) {
    return IsGpu(scope) ? scope + "#" + std::to_string(index) : scope;
  }
  static bool IsGpu(const std::string& scope) {
    return scope.starts_with(kGpu) && scope.find(':') == std::string::npos && scope.size() > kGpu.size();
  }

  static void AddMetric(const Metric& metric, uint32_t index, OfAnalysis* of) {
    const MetricJoin& join = JoinOf(metric.id);
    if (!join.IsKnown()) return;
    const auto [at, is_new] = of->metrics.try_emplace({metric.id, Marked(metric.scope, index)}, metric.value);
    if (!is_new) at->second = Combined(join.how, at->second, metric.value);
  }

  void AddTable(const Table& table, uint32_t index, OfAnalysis* of) {
    if (table.of_ranks == RowsOfRanks::kOfGpus) {
      Table marked = table;
      for (auto& row : marked.rows) {
        if (auto* const name = std::get_if<std::string>(&row.front())) *name = Marked(*name, index);
      }
      if (!of->devices) {
        of->devices = std::move(marked);
      } else {
        of->devices->rows.insert(of->devices->rows.end(), marked.rows.begin(), marked.rows.end());
      }
    } else if (table.of_ranks != RowsOfRanks::kApart) {
      const auto [at, is_new] = of->tables.try_emplace(table.id);
      if (is_new) of->table_order.push_back(table.id);
      at->second.Add(table);
    }
  }

  static void AddFinding(const Finding& finding, const std::string& rank, OfAnalysis* of) {
    JoinedFinding& joined = of->findings[finding.id];
    ++joined.ranks;
    joined.gain_ns += finding.gain_ns;
    if (joined.ranks > 1 && finding.gain_ns <= joined.largest.gain_ns) return;
    joined.largest = finding;
    joined.rank = rank;
  }

  void AddHistogram(const RankKernel& kernel) {
    if (kernel.name.empty()) return;
    Histogram& sum = histograms_[kernel.name];
    for (size_t i = 0; i + 1 < kernel.buckets.size(); i += 2) sum[kernel.buckets[i]] += kernel.buckets[i + 1];
  }

  void AddRest(const Results& kept) {
    for (const Table& table : kept.stats) {
      stats_[table.id].Add(table);
      ++ranks_with_stats_[table.id];
    }
    unknown_of_any_ = unknown_of_any_ & kept.unknown;
    kept_.traces.insert(kept_.traces.end(), kept.traces.begin(), kept.traces.end());
    for (const KeptAmount& amount : kept.amounts) {
      const auto found = std::ranges::find_if(kept_.amounts, [&](const KeptAmount& a) { return a.key == amount.key; });
      if (found == kept_.amounts.end()) {
        kept_.amounts.push_back(amount);
      } else {
        found->count += amount.count;
      }
    }
    used_.push_back(kept.is_used);
    AddCost(kept);
    DeviceTimes& devices = kept_.judged.devices;
    devices.window_ns += kept.judged.devices.window_ns;
    devices.busy_ns += kept.judged.devices.busy_ns;
    devices.kernel_ns += kept.judged.devices.kernel_ns;
    kept_.judged.upload_ns += kept.judged.upload_ns;
    kept_.judged.download_ns += kept.judged.download_ns;
    kept_.judged.are_copies_once = kept.judged.are_copies_once && (traces_.empty() || kept_.judged.are_copies_once);
    if (traces_.empty()) kept_.why_no_gpu_work = kept.why_no_gpu_work;
    if (kept.why_no_gpu_work.empty()) kept_.why_no_gpu_work.clear();
    AddBreakdown(kept.breakdown);
  }

  // Of the rank that recording cost most: ranks run side by side.
  void AddCost(const Results& kept) {
    if (traces_.empty() || kept.cost.slow_down.most_percent > kept_.cost.slow_down.most_percent) {
      kept_.cost = kept.cost;
      kept_.cost.threads.clear();  // they are of its trace
      kept_.cost.measured = {};
    }
    const ClockQuality& c = kept.clocks;
    ClockQuality& sum = kept_.clocks;
    sum.host_readings += c.host_readings, sum.cupti_readings += c.cupti_readings;
    sum.read_within_ns = std::max(sum.read_within_ns, c.read_within_ns);
    sum.tsc_residual_ns = std::max(sum.tsc_residual_ns, c.tsc_residual_ns);
    sum.cupti_residual_ns = std::max(sum.cupti_residual_ns, c.cupti_residual_ns);
    sum.cupti_drift_ppm = std::max(sum.cupti_drift_ppm, c.cupti_drift_ppm);
    sum.early_ns = std::max(sum.early_ns, c.early_ns);
  }

  void AddBreakdown(const Breakdown& breakdown) {
    Breakdown& sum = kept_.breakdown;
    if (traces_.empty()) sum.is_known = true;
    sum.is_known = sum.is_known && breakdown.is_known;
    sum.launches += breakdown.launches;
    for (DeviceTime device : breakdown.devices) {
      device.device = Marked(device.device, static_cast<uint32_t>(traces_.size()));
      sum.devices.push_back(std::move(device));
    }
    for (const RangeTime& range : breakdown.ranges) {
      const auto at = std::lower_bound(sum.ranges.begin(), sum.ranges.end(), range.path,
                                       [](const RangeTime& r, const std::string& path) { return r.path < path; });
      if (at == sum.ranges.end() || at->path != range.path) {
        sum.ranges.insert(at, range);
      } else {
        at->count += range.count, at->host_ns += range.host_ns;
      }
    }
  }

  // By trace and its own ordinal: the one in the run.
  std::vector<std::vector<uint32_t>> OrdinalsOf(const MergedDevices& devices) const {
    std::vector<std::vector<uint32_t>> ordinals(traces_.size());
    for (size_t i = 0; i < traces_.size(); ++i) {
      for (size_t d = 0; d < traces_[i].devices.size(); ++d) {
        const uint32_t own = traces_[i].devices[d].ordinal;
        if (own >= ordinals[i].size()) ordinals[i].resize(std::min<size_t>(own, 4095) + 1, kNone);
        if (own < ordinals[i].size()) ordinals[i][own] = devices.devices[devices.index[i][d]].ordinal;
      }
    }
    return ordinals;
  }

  static std::string Renamed(const std::string& scope, const std::vector<std::vector<uint32_t>>& ordinals) {
    const size_t mark = scope.find('#');
    if (mark == std::string::npos) return scope;
    const auto own = static_cast<size_t>(std::atoll(scope.c_str() + kGpu.size()));
    const auto index = static_cast<size_t>(std::atoll(scope.c_str() + mark + 1));
    if (index >= ordinals.size() || own >= ordinals[index].size()) return scope;
    return "gpu" + std::to_string(ordinals[index][own]);
  }

  AnalysisResult Joined(OfAnalysis& of, const std::vector<std::vector<uint32_t>>& ordinals, const Trace& merged) const {
    AnalysisResult result;
    std::map<std::pair<std::string, std::string_view>, double> values;  // by scope and id
    for (const auto& [key, value] : of.metrics) {
      const auto [at, is_new] = values.try_emplace({Renamed(key.second, ordinals), key.first}, value);
      if (!is_new) at->second = Combined(JoinOf(key.first).how, at->second, value);
    }
    for (auto& [key, value] : values) {
      const MetricJoin& join = JoinOf(key.second);
      double joined = value;
      if (join.how == Join::kSpan) joined = static_cast<double>(merged.end_ns - merged.start_ns);
      result.metrics.push_back({key.second, key.first, joined});
    }
    if (of.devices) {
      for (auto& row : of.devices->rows) {
        if (auto* const name = std::get_if<std::string>(&row.front())) *name = Renamed(*name, ordinals);
      }
      result.tables.push_back(std::move(*of.devices));
    }
    const auto ranks = static_cast<int64_t>(kept_.traces.size());
    for (const std::string& id : of.table_order) result.tables.push_back(of.tables[id].Finish(ranks, histograms_));
    for (const auto& [id, finding] : of.findings) result.findings.push_back(FindingOf(finding, ranks));
    RankFindings(&result.findings);
    return result;
  }

  // Once all sums are there: the two of a ratio may be of other analyses.
  void JoinRatios() {
    std::map<std::pair<std::string_view, std::string_view>, double> sums;  // by id and scope
    for (const KeptAnalysis& analysis : kept_.analyses) {
      for (const Metric& metric : analysis.result.metrics) sums[{metric.id, metric.scope}] = metric.value;
    }
    for (KeptAnalysis& analysis : kept_.analyses) {
      for (Metric& metric : analysis.result.metrics) {
        const MetricJoin& join = JoinOf(metric.id);
        if (join.how != Join::kRatio) continue;
        const auto part = sums.find({join.part, metric.scope}), whole = sums.find({join.whole, metric.scope});
        const bool is_known = part != sums.end() && whole != sums.end() && whole->second != 0;
        metric.value = is_known ? join.scale * part->second / whole->second : 0;
      }
    }
  }

  // Not where a rank has none, as its partial is of an earlier version.
  void JoinStats() {
    const auto ranks = static_cast<int64_t>(kept_.traces.size());
    for (auto& [id, join] : stats_) {
      if (ranks_with_stats_[id] == ranks) kept_.stats.push_back(join.Finish(ranks, histograms_));
    }
  }

  static Finding FindingOf(const JoinedFinding& joined, int64_t ranks) {
    Finding finding = joined.largest;
    finding.gain_ns = joined.gain_ns;
    finding.subject.trace = joined.rank;
    const std::string of =
        joined.ranks == 1 ? joined.rank
                          : CountOf(joined.ranks, "rank") + " of " + FormatCount(ranks) + ", most in " + joined.rank;
    finding.message = of + ": " + finding.message;
    return finding;
  }

  std::vector<Trace> traces_;  // without records
  uint64_t records_ = 0;
  Results first_;
  std::vector<std::pair<std::string, std::unique_ptr<OfAnalysis>>> analyses_;
  std::map<std::string, TableJoin> stats_;
  std::map<std::string, int64_t> ranks_with_stats_;
  std::map<std::string, Histogram> histograms_;  // by kernel
  std::vector<std::vector<bool>> used_;
  FactSet unknown_of_any_ = FactSet::None();
  Results kept_;
};

ResultsJoin::ResultsJoin() : state_(std::make_unique<State>()) {}
ResultsJoin::~ResultsJoin() = default;
void ResultsJoin::Add(const RankSummary& summary, Results results) { state_->Add(summary, std::move(results)); }
size_t ResultsJoin::ranks() const { return state_->ranks(); }
Results ResultsJoin::Finish() { return state_->Finish(); }

}  // namespace gprof
