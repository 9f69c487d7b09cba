// The tables of a verdict.
#include <algorithm>
#include <map>
#include <utility>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/result/histogram.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"
#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"
#include "fleet/verdict/rank_groups.h"

namespace gprof {
namespace {

std::string Key(const RankVerdict& rank) { return NameInTables(rank); }

Cause LargestCause(const RankSummary& rank) {
  const auto most = std::ranges::max_element(rank.idle_ns);
  return static_cast<Cause>(most - rank.idle_ns.begin());
}

// Ranks without GPU work are judged by their hosts: columns of the GPU have nothing to say of them.
void NameHostColumns(const FleetVerdict& verdict, Table* table) {
  if (verdict.HasGpuWork()) return;
  for (Column& column : table->columns) {
    if (column.key == "busy_percent") column.is_extra = true;
    if (column.key == "mpi_ns") column.is_extra = false;
    if (column.key == "idle_cause") column.title = "Mostly";
  }
}

Table RankTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"ranks",
              "Ranks",
              {{"rank", "Rank", Unit::kText, false},
               {"own_ns", "Own time", Unit::kNs, false, "all time except exposed collectives and MPI calls"},
               {"above_median_ns", "Above median", Unit::kNs, false},
               {"wall_ns", "Wall time", Unit::kNs, false},
               {"busy_percent", "GPU busy", Unit::kPercent, false, ColumnRole::kOwn},
               {"idle_cause", "Main idle cause", Unit::kText, false},
               {"last", "Last", Unit::kCount, false, "collectives in which the rank arrived last"},
               {"late_ns", "Late by", Unit::kNs, false, "delay after the median rank, summed over collectives"},
               {"waited_ns", "Waited", Unit::kNs, false, "for the last rank, in collectives"},
               {"complete", "Complete", Unit::kText, true},
               {"host", "Host", Unit::kText, true},
               {"busy_ns", "Busy", Unit::kNs, true},
               {"kernel_ns", "Kernels", Unit::kNs, true},
               {"exposed_ns", "Exposed NCCL", Unit::kNs, true},
               {"mpi_ns", "MPI", Unit::kNs, true},
               {"cpu_ns", "CPU time", Unit::kNs, true},
               {"idle_ns", "Idle", Unit::kNs, true},
               {"clock_mhz", "SM clock (MHz)", Unit::kCount, true},
               {"gpu", "GPU", Unit::kText, true},
               {"trace", "Trace", Unit::kText, true}},
              {},
              ""};
  std::vector<const RankVerdict*> order;
  for (const RankVerdict& rank : verdict.ranks) order.push_back(&rank);
  std::ranges::stable_sort(order, [](const auto* a, const auto* b) { return a->above_median_ns > b->above_median_ns; });
  for (const RankVerdict* rank : order) {
    const RankSummary& r = *rank->rank;
    const bool has_idle = r.IdleNs() > 0;
    table.rows.push_back({Key(*rank),
                          rank->own_ns,
                          rank->above_median_ns,
                          r.wall_ns,
                          r.HasGpuWork() ? Cell(PercentOf(r.busy_ns, r.window_ns)) : Cell(),
                          has_idle ? Cell(std::string(InfoOf(LargestCause(r)).name)) : Cell(),
                          rank->arrivals.last,
                          rank->arrivals.late_ns,
                          rank->arrivals.waited_ns,
                          std::string(r.is_complete ? "yes" : "NO"),
                          r.host,
                          r.busy_ns,
                          r.kernel_ns,
                          r.exposed_ns,
                          r.mpi_ns,
                          r.cpu_ns < 0 ? Cell() : Cell(r.cpu_ns),
                          r.HasGpuWork() ? Cell(r.IdleNs()) : Cell(),
                          r.clock_mhz > 0 ? Cell(r.clock_mhz) : Cell(),
                          r.gpus.empty() ? "" : r.gpus.front(),
                          r.source});
  }
  CutRows(&table, max_rows);
  NameHostColumns(verdict, &table);
  return table;
}

// A figure of all ranks: its sum, and who has the least, the median and the most.
std::vector<Cell> SpreadRow(const FleetVerdict& verdict, std::string name, const std::vector<int64_t>& values) {
  SaturatingSum sum;
  for (const int64_t value : values) sum += value;
  const auto [min, max] = std::ranges::minmax_element(values);
  return {std::move(name),
          static_cast<int64_t>(sum),
          *min,
          MedianOf(values),
          *max,
          Key(verdict.ranks[static_cast<size_t>(min - values.begin())]),
          Key(verdict.ranks[static_cast<size_t>(max - values.begin())])};
}

std::vector<Column> SpreadColumns(const char* key, const char* title, Unit unit) {
  const std::string suffix = unit == Unit::kNs ? "_ns" : unit == Unit::kBytes ? "_bytes" : "";
  return {{key, title, Unit::kText, false},          {"total" + suffix, "All ranks", unit, false},
          {"min" + suffix, "Min", unit, false},      {"median" + suffix, "Median", unit, false},
          {"max" + suffix, "Max", unit, false},      {"min_rank", "Min in", Unit::kText, true},
          {"max_rank", "Max in", Unit::kText, false}};
}

template <class F>
std::vector<int64_t> ValuesOf(const FleetVerdict& verdict, F of) {
  std::vector<int64_t> values;
  for (const RankVerdict& rank : verdict.ranks) values.push_back(of(rank));
  return values;
}

Table SpreadTable(const FleetVerdict& verdict) {
  Table table{"spread", "Time by rank", SpreadColumns("what", "Time", Unit::kNs), {}, ""};
  const auto add = [&](const char* name, auto of) {
    table.rows.push_back(SpreadRow(verdict, name, ValuesOf(verdict, of)));
  };
  add("wall time", [](const RankVerdict& r) { return r.rank->wall_ns; });
  add("own time", [](const RankVerdict& r) { return r.own_ns; });
  const bool has_gpu_work = verdict.HasGpuWork();
  add(has_gpu_work ? "GPU window" : "compared", [](const RankVerdict& r) { return r.rank->window_ns; });
  add("GPU busy", [](const RankVerdict& r) { return r.rank->busy_ns; });
  add("kernels", [](const RankVerdict& r) { return r.rank->kernel_ns; });
  add("copies (no kernel)", [](const RankVerdict& r) { return r.rank->CopyNs(); });
  add("NCCL", [](const RankVerdict& r) { return r.rank->nccl_ns; });
  add("NCCL, exposed", [](const RankVerdict& r) { return r.rank->exposed_ns; });
  add("MPI calls", [](const RankVerdict& r) { return r.rank->mpi_ns; });
  add("CUDA calls", [](const RankVerdict& r) { return r.rank->api_ns; });
  add("CPU time, sampled", [](const RankVerdict& r) { return std::max<int64_t>(r.rank->cpu_ns, 0); });
  if (has_gpu_work) add("GPU idle", [](const RankVerdict& r) { return r.rank->HasGpuWork() ? r.rank->IdleNs() : 0; });
  ForEachCause([&](Cause cause) {
    const auto of = [cause](const RankVerdict& r) { return r.rank->idle_ns[static_cast<size_t>(cause)]; };
    table.rows.push_back(
        SpreadRow(verdict, (has_gpu_work ? "idle: " : "") + std::string(InfoOf(cause).name), ValuesOf(verdict, of)));
  });
  std::erase_if(table.rows, [](const std::vector<Cell>& row) { return row[1] == Cell(int64_t{0}); });
  return table;
}

struct OfKernel {
  SaturatingSum count, total_ns;
  int64_t min_ns = INT64_MAX, max_ns = 0, ranks = 0;
  std::map<int64_t, int64_t> buckets;
  int64_t slowest_mean_ns = -1;
  std::string slowest;
};

// The duration that `percent` of the kernels do not exceed.
int64_t PercentileOf(const OfKernel& kernel, int64_t percent) {
  int64_t all = 0, seen = 0;
  for (const auto& [bucket, count] : kernel.buckets) all += count;
  for (const auto& [bucket, count] : kernel.buckets) {
    seen += count;
    if (static_cast<double>(seen) * 100 >= static_cast<double>(all) * static_cast<double>(percent)) {
      return std::clamp(MiddleOf(bucket), kernel.min_ns, kernel.max_ns);
    }
  }
  return 0;
}

std::map<std::string, OfKernel> SumsOfKernels(const FleetVerdict& verdict) {
  std::map<std::string, OfKernel> kernels;
  for (const RankVerdict& rank : verdict.ranks) {
    for (const RankKernel& kernel : rank.rank->kernel_times) {
      OfKernel& sum = kernels[kernel.name];
      sum.count += kernel.count;
      sum.total_ns += kernel.total_ns;
      sum.min_ns = std::min(sum.min_ns, kernel.min_ns);
      sum.max_ns = std::max(sum.max_ns, kernel.max_ns);
      ++sum.ranks;
      for (size_t i = 0; i < kernel.buckets.size(); i += 2) sum.buckets[kernel.buckets[i]] += kernel.buckets[i + 1];
      const int64_t mean_ns = kernel.count == 0 ? 0 : kernel.total_ns / kernel.count;
      if (mean_ns <= sum.slowest_mean_ns) continue;
      sum.slowest_mean_ns = mean_ns;
      sum.slowest = Key(rank);
    }
  }
  return kernels;
}

Table KernelTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"kernels",
              "Kernels of all ranks",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"p99_ns", "p99", Unit::kNs, false},
               {"slowest_rank", "Slowest in", Unit::kText, false},
               {"name", "Kernel", Unit::kText, false},
               {"p95_ns", "p95", Unit::kNs, true},
               {"min_ns", "Min", Unit::kNs, true, ColumnRole::kLeast},
               {"max_ns", "Max", Unit::kNs, true, ColumnRole::kMost},
               {"ranks", "Ranks", Unit::kCount, true},
               {"slowest_mean_ns", "Slowest mean", Unit::kNs, true}},
              {},
              "Percent of the time of all kernels. Percentiles are accurate to " + FormatPercent(kBucketErrorPercent) +
                  ". Slowest in: the rank with the longest mean."};
  const std::map<std::string, OfKernel> kernels = SumsOfKernels(verdict);
  SaturatingSum all_ns;
  for (const auto& [name, kernel] : kernels) all_ns += kernel.total_ns;
  const bool is_exact = std::ranges::all_of(
      kernels, [&](const auto& kernel) { return kernel.first.empty() || verdict.exact.contains(kernel.first); });
  if (is_exact) {
    table.note =
        "Percent of the time of all kernels. Percentiles are exact. Slowest in: the rank with the longest mean.";
  }
  for (const auto& [name, kernel] : kernels) {
    const bool has_times = !kernel.buckets.empty();
    const auto exact = verdict.exact.find(name);
    const auto percentile = [&](int64_t percent, int64_t KernelPercentiles::*known) {
      if (exact != verdict.exact.end()) return Cell(exact->second.*known);
      return has_times ? Cell(PercentileOf(kernel, percent)) : Cell();
    };
    table.rows.push_back({PercentOf(kernel.total_ns, all_ns), static_cast<int64_t>(kernel.total_ns),
                          static_cast<int64_t>(kernel.count), percentile(50, &KernelPercentiles::p50_ns),
                          percentile(99, &KernelPercentiles::p99_ns), kernel.slowest, name.empty() ? "(others)" : name,
                          percentile(95, &KernelPercentiles::p95_ns), kernel.min_ns, kernel.max_ns, kernel.ranks,
                          kernel.slowest_mean_ns});
  }
  SortAndCut(&table, 1, 6, max_rows);
  return table;
}

Table CopyTable(const FleetVerdict& verdict) {
  Table table{"copies", "Copies of all ranks", SpreadColumns("what", "Copies", Unit::kBytes), {}, ""};
  std::map<std::string, std::vector<int64_t>> bytes;
  for (size_t i = 0; i < verdict.ranks.size(); ++i) {
    for (const RankCopies& copy : verdict.ranks[i].rank->copies) {
      std::vector<int64_t>& of = bytes[copy.direction + ", " + copy.memory];
      of.resize(verdict.ranks.size());
      of[i] += copy.bytes;
    }
  }
  for (auto& [name, values] : bytes) table.rows.push_back(SpreadRow(verdict, name, values));
  return table;
}

// What all ranks have under one name, and the rank that has the most of it.
struct OfName {
  SaturatingSum count, total_ns, gpu_busy_ns, kernels;
  int64_t ranks = 0, most_ns = -1;
  std::string most_rank;

  void Add(const RankVerdict& rank, int64_t more, int64_t more_ns, int64_t compared_ns) {
    count += more, total_ns += more_ns;
    ++ranks;
    if (compared_ns <= most_ns) return;
    most_ns = compared_ns;
    most_rank = Key(rank);
  }
};

Table RangeTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{
      "ranges",
      "NVTX ranges of all ranks",
      {{"gpu_busy_ns", "GPU busy", Unit::kNs, false, "operations launched by the range's thread inside the range"},
       {"total_ns", "Total", Unit::kNs, false},
       {"count", "Count", Unit::kCount, false},
       {"kernels", "Kernels", Unit::kCount, true},
       {"ranks", "Ranks", Unit::kCount, false},
       {"most_ns", "Most GPU busy", Unit::kNs, true},
       {"most_rank", "Most in", Unit::kText, false, "the rank with the most GPU time of the range"},
       {"path", "NVTX range", Unit::kText, false}},
      {},
      ""};
  std::map<std::string, OfName> ranges;
  for (const RankVerdict& rank : verdict.ranks) {
    for (const RankRange& range : rank.rank->ranges) {
      OfName& sum = ranges[range.path];
      sum.Add(rank, range.count, range.total_ns, range.gpu_busy_ns);
      sum.gpu_busy_ns += range.gpu_busy_ns, sum.kernels += range.kernels;
    }
  }
  for (const auto& [path, sum] : ranges) {
    table.rows.push_back({static_cast<int64_t>(sum.gpu_busy_ns), static_cast<int64_t>(sum.total_ns),
                          static_cast<int64_t>(sum.count), static_cast<int64_t>(sum.kernels), sum.ranks, sum.most_ns,
                          sum.most_rank, path});
  }
  SortAndCut(&table, 0, 7, max_rows);
  return table;
}

Table CallTable(const FleetVerdict& verdict, uint32_t max_rows, const char* id, const char* title,
                std::vector<RankCalls> RankSummary::*calls) {
  Table table{id,
              title,
              {{"total_ns", "Total", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"mean_ns", "Mean", Unit::kNs, false, ColumnRole::kMean},
               {"ranks", "Ranks", Unit::kCount, true},
               {"most_ns", "Most", Unit::kNs, false},
               {"most_rank", "Most in", Unit::kText, false, "the rank with the most time in the function"},
               {"name", "Function", Unit::kText, false}},
              {},
              "Of each rank the 16 functions with the most time."};
  std::map<std::string, OfName> functions;
  for (const RankVerdict& rank : verdict.ranks) {
    for (const RankCalls& call : (rank.rank->*calls)) {
      functions[call.name].Add(rank, call.count, call.total_ns, call.total_ns);
    }
  }
  for (const auto& [name, sum] : functions) {
    const auto count = static_cast<int64_t>(sum.count), total_ns = static_cast<int64_t>(sum.total_ns);
    table.rows.push_back(
        {total_ns, count, count == 0 ? Cell() : Cell(total_ns / count), sum.ranks, sum.most_ns, sum.most_rank, name});
  }
  SortAndCut(&table, 0, 6, max_rows);
  return table;
}

Table HostTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"hosts",
              "Hosts",
              {{"host", "Host", Unit::kText, false},
               {"ranks", "Ranks", Unit::kText, false},
               {"offset_ns", "Clock ahead by", Unit::kNs, false,
                "compared with the clock of most hosts, from the ends of collectives"},
               {"residual_ns", "Residual", Unit::kNs, false, "median of the rest"},
               {"collectives", "Collectives", Unit::kCount, false}},
              {},
              ""};
  for (const ClockOfHost& host : verdict.alignment.hosts) {
    std::vector<int64_t> ranks;
    for (const size_t i : host.ranks) ranks.push_back(verdict.ranks[i].rank->rank);
    std::ranges::sort(ranks);
    const bool is_known = host.collectives > 0;
    const auto count = static_cast<int64_t>(ranks.size());
    table.rows.push_back({host.host, ranks.front() < 0 ? CountOf(count, "process", "processes") : RangesText(ranks),
                          is_known ? Cell(host.offset_ns) : Cell(), is_known ? Cell(host.residual_ns) : Cell(),
                          host.collectives});
  }
  std::ranges::stable_sort(table.rows, [](const auto& a, const auto& b) {
    const auto size = [](const Cell& cell) {
      const auto* const ns = std::get_if<int64_t>(&cell);
      return ns == nullptr ? int64_t{0} : std::abs(*ns);
    };
    return size(a[2]) > size(b[2]);
  });
  CutRows(&table, max_rows);
  return table;
}

Table CollectiveTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"collectives",
              "Collectives",
              {{"communicator", "Communicator", Unit::kText, false},
               {"ranks", "Ranks", Unit::kCount, false},
               {"count", "Collectives", Unit::kCount, false},
               {"compared", "Compared", Unit::kCount, false},
               {"spread_ns", "Arrivals", Unit::kNs, false, "from the first rank to the last"},
               {"transfer_ns", "After the last", Unit::kNs, false, "from its arrival to the end"}},
              {},
              "Medians."};
  for (const Meeting& meeting : verdict.alignment.meetings) {
    const MeetingTimes times = TimesOf(meeting, verdict.alignment);
    table.rows.push_back({meeting.name, static_cast<int64_t>(meeting.members.size()),
                          meeting.members.front().collectives->count, times.collectives, times.spread_ns,
                          times.transfer_ns});
  }
  SortAndCut(&table, 2, 0, max_rows);
  return table;
}

Cell KnownBytes(int64_t bytes) { return bytes < 0 ? Cell() : Cell(bytes); }

// The largest figure there is: what a rank that is short of memory is short of.
int64_t PeakOf(const RankMemory& memory) {
  return std::max({memory.used_bytes, memory.reserved_bytes, memory.allocated_bytes, memory.tensor_bytes});
}

Table PeakMemoryTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"memory",
              "Peak GPU memory by rank",
              {{"rank", "Rank", Unit::kText, false},
               {"used_bytes", "Used", Unit::kBytes, false, "by all processes, sampled by NVML"},
               {"allocated_bytes", "Allocated", Unit::kBytes, false, "by CUDA calls"},
               {"reserved_bytes", "Reserved", Unit::kBytes, false},
               {"tensor_bytes", "In tensors", Unit::kBytes, false},
               {"percent", "Of GPU memory", Unit::kPercent, false, "the largest of them"},
               {"host", "Host", Unit::kText, false},
               {"gpu_bytes", "GPU memory", Unit::kBytes, true},
               {"gpu", "GPU", Unit::kText, true}},
              {},
              "Reserved, in tensors: by PyTorch."};
  std::vector<const RankVerdict*> order;
  for (const RankVerdict& rank : verdict.ranks) {
    if (PeakOf(rank.rank->memory) >= 0) order.push_back(&rank);
  }
  std::ranges::stable_sort(
      order, [](const auto* a, const auto* b) { return PeakOf(a->rank->memory) > PeakOf(b->rank->memory); });
  for (const RankVerdict* rank : order) {
    const RankMemory& m = rank->rank->memory;
    table.rows.push_back({Key(*rank), KnownBytes(m.used_bytes), KnownBytes(m.allocated_bytes),
                          KnownBytes(m.reserved_bytes), KnownBytes(m.tensor_bytes),
                          m.gpu_bytes > 0 ? Cell(PercentOf(PeakOf(m), m.gpu_bytes)) : Cell(), rank->rank->host,
                          m.gpu_bytes > 0 ? Cell(m.gpu_bytes) : Cell(),
                          rank->rank->gpus.empty() ? "" : rank->rank->gpus.front()});
  }
  CutRows(&table, max_rows);
  return table;
}

}  // namespace

std::string NameInTables(const RankVerdict& rank) {
  return rank.rank->rank >= 0 ? std::to_string(rank.rank->rank) : rank.rank->source;
}

std::vector<Table> FleetTables(const FleetVerdict& verdict, uint32_t max_rows) {
  if (verdict.ranks.empty()) return {};
  std::vector<Table> tables = {RankTable(verdict, max_rows)};
  const auto add = [&tables](Table table) { tables.push_back(std::move(table)); };
  for (Table& table : StepTables(verdict, max_rows)) add(std::move(table));
  add(PeakMemoryTable(verdict, max_rows));
  add(SpreadTable(verdict));
  add(HostTable(verdict, max_rows));
  add(GroupTable(verdict, max_rows));
  add(CollectiveTable(verdict, max_rows));
  add(KernelTable(verdict, max_rows));
  add(CopyTable(verdict));
  add(RangeTable(verdict, max_rows));
  add(CallTable(verdict, max_rows, "api_calls", "CUDA calls of all ranks", &RankSummary::api));
  add(CallTable(verdict, max_rows, "mpi_calls", "MPI calls of all ranks", &RankSummary::mpi));
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace gprof
