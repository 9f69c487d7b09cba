// Constructs of OpenMP and OpenACC: how long threads were in them, how much of that they waited for each other, and the
// GPU work that was launched from them.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/saturate.h"

namespace gprof {
namespace {

// The innermost construct that a thread was in at a time.
class DirectiveAt {
 public:
  explicit DirectiveAt(const Trace& trace) : trace_(trace), of_thread_(trace.threads.size()) {
    for (uint32_t i = 0; i < trace.directives.size(); ++i) {
      if (trace.directives[i].thread < of_thread_.size()) of_thread_[trace.directives[i].thread].push_back(i);
    }
  }

  uint32_t Find(uint32_t thread, int64_t time_ns) const {
    if (thread >= of_thread_.size()) return kNone;
    const std::vector<uint32_t>& all = of_thread_[thread];
    auto at = std::upper_bound(all.begin(), all.end(), time_ns, [&](int64_t time, uint32_t directive) {
      return time < trace_.directives[directive].start_ns;
    });
    for (size_t tried = 0; at != all.begin() && tried < kMostDepth; ++tried) {
      if (trace_.directives[*--at].end_ns > time_ns) return *at;
    }
    return kNone;
  }

 private:
  static constexpr size_t kMostDepth = 64;  // constructs that began in between and have ended
  const Trace& trace_;
  std::vector<std::vector<uint32_t>> of_thread_;
};

std::vector<int64_t> GpuTimes(const Trace& trace) {
  std::vector<int64_t> times_ns(trace.directives.size());
  const DirectiveAt directive_at(trace);
  for (const Operation op : OperationsOf(trace)) {
    if (op.call() == kNone) continue;
    const Call call(trace.api_calls, op.call());
    const uint32_t directive = directive_at.Find(call.thread(), call.start_ns());
    if (directive != kNone) times_ns[directive] += op.duration_ns();
  }
  return times_ns;
}

std::string PlaceOf(const Trace& trace, const Directive& d) {
  std::string place(trace.Text(d.name));
  if (d.line > 0) place += fmt::format(":{}", d.line);
  if (place.empty() && d.code != 0) place = fmt::format("0x{:x}", d.code);
  return place;
}

struct DirectiveSum {
  std::vector<int64_t> durations_ns;
  SaturatingSum gpu_ns, bytes;
  uint32_t threads = 0;
};
using DirectiveKey = std::tuple<NameId, NameId, std::string>;  // model, construct, place

Table DirectiveTable(const Trace& trace, uint32_t max_rows) {
  Table table{
      "directives",
      "OpenMP and OpenACC",
      {{"total_ns", "Total", Unit::kNs, false},
       {"count", "Count", Unit::kCount, false},
       {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
       {"max_ns", "Max", Unit::kNs, false, ColumnRole::kMost},
       {"gpu_ns", "GPU time", Unit::kNs, false, "work launched by the construct itself"},
       {"bytes", "Bytes", Unit::kBytes, true},
       {"threads", "Threads", Unit::kCount, true},
       {"model", "Model", Unit::kText, false},
       {"construct", "Construct", Unit::kText, false},
       {"place", "Place", Unit::kText, false,
        "source line, kernel or variable if the runtime reports it, otherwise the return address of the construct"}},
      {},
      "Thread time within constructs, including nested ones."};
  std::map<DirectiveKey, DirectiveSum> sums;
  const std::vector<int64_t> gpu_times_ns = GpuTimes(trace);
  for (size_t i = 0; i < trace.directives.size(); ++i) {
    const Directive& d = trace.directives[i];
    DirectiveSum& sum = sums[{d.model, d.construct, PlaceOf(trace, d)}];
    sum.durations_ns.push_back(d.DurationNs());
    sum.gpu_ns += gpu_times_ns[i];
    sum.bytes += static_cast<int64_t>(std::min<uint64_t>(d.size_bytes, INT64_MAX));
    sum.threads = std::max(sum.threads, d.threads);
  }
  for (auto& [key, sum] : sums) {
    const auto& [model, construct, place] = key;
    const Statistics times = Summarize(sum.durations_ns);
    table.rows.push_back(
        {times.total, times.count, times.median, times.max, sum.gpu_ns > 0 ? Cell(int64_t{sum.gpu_ns}) : Cell(),
         sum.bytes > 0 ? Cell(int64_t{sum.bytes}) : Cell(), sum.threads > 0 ? Cell(int64_t{sum.threads}) : Cell(),
         std::string(trace.Text(model)), std::string(trace.Text(construct)), place});
  }
  SortAndCut(&table, 0, 9, max_rows);
  return table;
}

// Parallel regions of OpenMP. Runtimes keep a thread that has come to the end of a region in its barrier until it has
// something new to do, so a wait counts until the end of the region.
struct RegionSum {
  int64_t count = 0;
  SaturatingSum region_ns, thread_ns, waiting_ns;
};

class Regions {
 public:
  explicit Regions(const Trace& trace) : trace_(trace) {
    for (uint32_t i = 0; i < trace.directives.size(); ++i) {
      const Directive& d = trace.directives[i];
      if (d.region == 0 || d.is_wait || trace.Text(d.construct) != "parallel") continue;
      regions_[{d.process, d.region}] = i;
      RegionSum& sum = sums_[PlaceOf(trace, d)];
      ++sum.count;
      sum.region_ns += d.DurationNs();
      sum.thread_ns += d.DurationNs() * std::clamp<int64_t>(d.threads, 1, kMostThreads);
    }
    for (const Directive& d : trace.directives) AddWait(d);
  }

  const std::map<std::string, RegionSum>& sums() const { return sums_; }

 private:
  static constexpr int64_t kMostThreads = 1 << 16;

  void AddWait(const Directive& wait) {
    if (!wait.is_wait || wait.region == 0) return;
    const auto found = regions_.find({wait.process, wait.region});
    if (found == regions_.end()) return;
    const Directive& region = trace_.directives[found->second];
    const int64_t end_ns = std::min(wait.end_ns, region.end_ns);
    if (end_ns > wait.start_ns) sums_[PlaceOf(trace_, region)].waiting_ns += end_ns - wait.start_ns;
  }

  const Trace& trace_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> regions_;  // by process and number
  std::map<std::string, RegionSum> sums_;                      // by place
};

Table RegionTable(const Regions& regions, uint32_t max_rows) {
  Table table{"openmp_regions",
              "OpenMP parallel regions",
              {{"region_ns", "Time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"thread_ns", "Thread time", Unit::kNs, false, "duration of the region times its threads"},
               {"waiting_ns", "Waiting", Unit::kNs, false,
                "time these threads spent at barriers, taskwait and taskgroup until the region ended, in percent of "
                "the thread time"},
               {"waiting_percent", "Waiting (%)", Unit::kPercent, false, ColumnRole::kOwn},
               {"place", "Place", Unit::kText, false}},
              {},
              ""};
  for (const auto& [place, sum] : regions.sums()) {
    table.rows.push_back({int64_t{sum.region_ns}, sum.count, int64_t{sum.thread_ns}, int64_t{sum.waiting_ns},
                          PercentOf(sum.waiting_ns, sum.thread_ns), place});
  }
  SortAndCut(&table, 0, 5, max_rows);
  return table;
}

void AddOpenMpMetrics(const Regions& regions, AnalysisResult* result) {
  RegionSum all;
  for (const auto& [place, sum] : regions.sums()) {
    all.count += sum.count;
    all.region_ns += sum.region_ns;
    all.thread_ns += sum.thread_ns;
    all.waiting_ns += sum.waiting_ns;
  }
  AddMetric(result, "openmp.regions", all.count);
  AddMetric(result, "openmp.region_ns", all.region_ns);
  AddMetric(result, "openmp.waiting_percent", PercentOf(all.waiting_ns, all.thread_ns));
}

}  // namespace

AnalysisResult RunDirectives(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  if (trace.directives.empty()) return result;
  result.tables.push_back(DirectiveTable(trace, options.max_rows));
  const Regions regions(trace);
  if (!regions.sums().empty()) {
    result.tables.push_back(RegionTable(regions, options.max_rows));
    AddOpenMpMetrics(regions, &result);
  }
  const auto of_openacc =
      std::ranges::count_if(trace.directives, [&](const Directive& d) { return trace.Text(d.model) == "OpenACC"; });
  if (of_openacc > 0) AddMetric(&result, "openacc.constructs", static_cast<int64_t>(of_openacc));
  return result;
}

}  // namespace gprof
