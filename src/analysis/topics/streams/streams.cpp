// Streams asked for and used, and what really ran at the same time.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/operations/stream_use.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/streams/concurrency.h"
#include "analysis/topics/streams/stream_findings.h"
#include "analysis/topics/streams/stream_waits.h"
#include "base/saturate.h"

namespace gprof {
namespace {

Table ConcurrencyTable(const Trace& trace, const std::vector<Concurrency>& devices) {
  Table table{"concurrency",
              "Stream concurrency",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"streams", "Streams", Unit::kCount, false},
               {"percent", "Time (%)", Unit::kPercent, false},
               {"time_ns", "Total", Unit::kNs, false}},
              {},
              "Percent of the GPU window. 0 streams: idle time."};
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const int64_t window_ns = devices[device].WindowNs();
    for (size_t level = 0; level < devices[device].level_ns.size(); ++level) {
      const int64_t time_ns = devices[device].level_ns[level];
      if (time_ns == 0) continue;
      table.rows.push_back(
          {DeviceScope(trace, device), static_cast<int64_t>(level), PercentOf(time_ns, window_ns), time_ns});
    }
  }
  return table;
}

// In percent: below it the table says no more than the time at each level.
constexpr double kOverlapWorthATable = 1;

// What could overlap, how much of it did, and of what that is a share.
struct OverlapKind {
  const char* name;
  int64_t Concurrency::*time_ns;
  int64_t Concurrency::*base_ns;
  const char* base;
};

constexpr OverlapKind kOverlapKinds[] = {
    {"kernels of several streams", &Concurrency::kernel_overlap_ns, &Concurrency::kernel_ns, "kernel time"},
    {"copies with kernels", &Concurrency::copy_compute_ns, &Concurrency::copy_ns, "copy time"},
    {"copies of both directions", &Concurrency::two_way_ns, &Concurrency::copy_ns, "copy time"}};

Table OverlapTable(const Trace& trace, const std::vector<Concurrency>& devices) {
  Table table{"overlap",
              "Overlap of kernels and copies",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"percent", "Share", Unit::kPercent, false},
               {"base", "Of", Unit::kText, false},
               {"time_ns", "Time", Unit::kNs, false},
               {"base_ns", "Base", Unit::kNs, true},
               {"kind", "Overlap", Unit::kText, false}},
              {},
              "Kernel time, copy time: time with at least one running."};
  double largest_percent = 0;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    for (const OverlapKind& kind : kOverlapKinds) {
      const int64_t time_ns = devices[device].*kind.time_ns, base_ns = devices[device].*kind.base_ns;
      if (base_ns == 0) continue;
      table.rows.push_back({DeviceScope(trace, device), PercentOf(time_ns, base_ns), std::string(kind.base), time_ns,
                            base_ns, std::string(kind.name)});
      largest_percent = std::max(largest_percent, PercentOf(time_ns, base_ns));
    }
  }
  table.is_detail = largest_percent < kOverlapWorthATable;
  return table;
}

// By stream: the kernel, or the copies of one direction, that took most of its time.
std::vector<std::string> MainWorkOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  struct Work {
    SaturatingSum time_ns;
    uint32_t op = kNone;  // one of it
  };
  std::map<std::tuple<uint32_t, OpKind, uint32_t>, Work> works;  // by stream, kind, and name or direction
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (sums[i].count == 0 || traits.stream == kNone) continue;
    const bool is_kernel = traits.kind == OpKind::kKernel;
    const uint32_t what = is_kernel ? traits.name.value : static_cast<uint32_t>(DirectionOf(trace.ops[sums[i].first]));
    Work& work = works[{traits.stream, traits.kind, what}];
    work.time_ns += sums[i].time_ns;
    work.op = sums[i].first;
  }
  std::vector<Work> most(trace.streams.size());
  for (const auto& [key, work] : works) {
    Work& of_stream = most[std::get<0>(key)];
    if (of_stream.op == kNone || work.time_ns > of_stream.time_ns) of_stream = work;
  }
  std::vector<std::string> names;
  for (const Work& work : most) names.push_back(work.op == kNone ? "" : OpName(trace, trace.ops[work.op]));
  return names;
}

Table StreamTable(const AnalysisInput& input, const std::vector<StreamUse>& uses,
                  const std::vector<Concurrency>& devices, const std::vector<int64_t>& shared_ns, uint32_t max_rows) {
  const Trace& trace = input.trace();
  Table table{"streams",
              "Streams",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"busy_ns", "Busy", Unit::kNs, false},
               {"percent", "Busy (%)", Unit::kPercent, false},
               {"kernels", "Kernels", Unit::kCount, false},
               {"copies", "Copies", Unit::kCount, false},
               {"shared_ns", "Overlapped", Unit::kNs, true},
               {"names_given", "Names given", Unit::kCount, true},
               {"priority", "Priority", Unit::kCount, true},
               {"pid", "Process", Unit::kCount, true, ColumnRole::kName},
               {"operations", "Operations", Unit::kCount, true},
               {"name", "Stream", Unit::kText, false},
               {"kernel", "Mostly", Unit::kText, false, "the kernel or the copies with the most time in the stream"}},
              {},
              "Percent of the GPU window."};
  const std::vector<std::string> main_work = MainWorkOf(input);
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const Stream& stream = trace.streams[i];
    const StreamUse& use = uses[i];
    if (!use.IsUsed() && !stream.is_created) continue;
    const int64_t window_ns = stream.device < devices.size() ? devices[stream.device].WindowNs() : 0;
    const int64_t pid = stream.process == kNone ? 0 : trace.processes[stream.process].pid;
    table.rows.push_back({stream.device == kNone ? std::string() : DeviceScope(trace, stream.device), use.busy_ns,
                          PercentOf(use.busy_ns, window_ns), use.kernels, use.copies, shared_ns[i],
                          static_cast<int64_t>(stream.names_given), static_cast<int64_t>(stream.priority), pid,
                          use.operations, StreamName(trace, i), main_work[i]});
  }
  SortAndCut(&table, 1, table.columns.size() - 2, max_rows);
  return table;
}

// What kept work apart that could have run side by side. Several of these may keep the same work apart.
Table SerialisedTable(const AnalysisInput& input, const std::vector<StreamUse>& uses, const DefaultSplits& splits,
                      const StreamWaits& waits, const Concurrency& all) {
  const Trace& trace = input.trace();
  Table table{"serialised",
              "Stream serialisation",
              {{"time_ns", "Time", Unit::kNs, false},
               {"percent", "% of busy time", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"count", "Count", Unit::kCount, false},
               {"reason", "Reason", Unit::kText, false}},
              {},
              "Reasons may overlap in time. Events: work was ready but its event was not. Default stream: its work ran "
              "between work of other streams. One handle: work of streams with several names. Pageable copies: they "
              "kept the host from launching.",
              RowsOfRanks::kAddUp};
  const auto add = [&](std::string reason, int64_t time_ns, int64_t count) {
    if (count > 0) table.rows.push_back({time_ns, PercentOf(time_ns, all.BusyNs()), count, std::move(reason)});
  };
  int64_t renamed = 0, renamed_ns = 0, pageable = 0;
  SaturatingSum pageable_ns;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (trace.streams[i].names_given < 2 || !uses[i].IsUsed()) continue;
    ++renamed;
    renamed_ns += uses[i].busy_ns;
  }
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (const OpFacts::Sum& sum : sums) {
    if (sum.count == 0 || !trace.ops[sum.first].IsPageable()) continue;
    pageable += sum.count;
    pageable_ns += sum.time_ns;
  }
  add("events of other streams", waits.held_ns, waits.held);
  add("legacy default stream", splits.time_ns, splits.runs);
  add("one handle with several names", renamed_ns, renamed);
  add("pageable copies", pageable_ns, pageable);
  SortAndCut(&table, 0, 3, 0);
  table.is_detail = true;
  return table;
}

void AddConcurrency(AnalysisResult* result, const Concurrency& concurrency, const std::string& scope) {
  AddMetric(result, "streams.max_concurrency", concurrency.MaxLevel(), scope);
  AddMetric(result, "streams.overlap_ns", concurrency.OverlapNs(), scope);
  AddMetric(result, "streams.overlap_percent", PercentOf(concurrency.OverlapNs(), concurrency.BusyNs()), scope);
  AddMetric(result, "streams.kernel_overlap_ns", concurrency.kernel_overlap_ns, scope);
  AddMetric(result, "streams.copy_compute_ns", concurrency.copy_compute_ns, scope);
  AddMetric(result, "streams.two_way_ns", concurrency.two_way_ns, scope);
}

// What the program asked for, and what it used of that.
void AddCounts(AnalysisResult* result, const Trace& trace, const std::vector<StreamUse>& uses,
               const std::vector<int64_t>& shared_ns) {
  int64_t created = 0, named = 0, used = 0, unused = 0, renamed = 0, alone = 0;
  std::set<int32_t> priorities;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Stream& stream = trace.streams[i];
    created += stream.is_created;
    named += stream.names_given;
    renamed += stream.names_given >= 2;
    unused += stream.is_created && !uses[i].IsUsed();
    if (!uses[i].IsUsed()) continue;
    ++used;
    alone += shared_ns[i] == 0;
    priorities.insert(stream.priority);
  }
  AddMetric(result, "streams.created", created);
  AddMetric(result, "streams.named", named);
  AddMetric(result, "streams.renamed", renamed);
  AddMetric(result, "streams.used", used);
  AddMetric(result, "streams.unused", unused);
  AddMetric(result, "streams.never_overlapped", alone);
  AddMetric(result, "streams.priorities", priorities.size());
}

}  // namespace

AnalysisResult RunStreams(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  std::vector<Concurrency> devices;
  ConcurrencySweep sweep(input);
  std::vector<StreamUse> uses;
  DefaultSplits splits;
  StreamWaits waits;
  RunSideBySide(input.shared().threads(), {[&] {
                                             for (uint32_t i = 0; i < trace.device_ops.size(); ++i)
                                               devices.push_back(sweep.Run(i));
                                             uses = UseOfStreams(input.trace(), input.shared().ops(),
                                                                 input.shared().stream_ops(), sweep.busy_ns());
                                             splits = DefaultSplitsOf(trace, uses);
                                           },
                                           [&] { waits = StreamWaitsOf(input); }});
  Concurrency all;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    all.Add(devices[device]);
    if (devices[device].WindowNs() > 0) AddConcurrency(&result, devices[device], DeviceScope(trace, device));
  }
  AddCounts(&result, trace, uses, sweep.shared_ns());
  if (all.WindowNs() > 0) AddConcurrency(&result, all, "");
  AddMetric(&result, "streams.default_splits", splits.runs);
  AddMetric(&result, "streams.default_split_ns", splits.time_ns);
  AddStreamWaitMetrics(waits, &result);
  result.tables.push_back(StreamTable(input, uses, devices, sweep.shared_ns(), options.max_rows));
  result.tables.push_back(ConcurrencyTable(trace, devices));
  result.tables.push_back(OverlapTable(trace, devices));
  result.tables.push_back(StreamWaitTable(trace, waits, all.WindowNs(), options.max_rows));
  result.tables.push_back(SerialisedTable(input, uses, splits, waits, all));
  result.findings = StreamFindings(input, uses, all, splits, waits);
  return result;
}

}  // namespace gprof
