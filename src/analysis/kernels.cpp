// Time on the GPU by kernel.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

// What one pass over the operations finds: how many kernels each name has.
struct KernelCounts {
  std::vector<int64_t> of_name;  // by NameId
  int64_t kernels = 0, graphs = 0;
};

KernelCounts CountKernels(const Trace& trace) {
  KernelCounts counts{std::vector<int64_t>(trace.strings.size()), 0, 0};
  for (const GpuOp& op : trace.ops) {
    counts.graphs += op.kind == OpKind::kGraph;
    if (op.kind != OpKind::kKernel) continue;
    ++counts.kernels;
    ++counts.of_name[op.name.value];
  }
  return counts;
}

// Kernels under one name; several mangled names may read alike once they are demangled.
struct KernelNames {
  KernelNames(const Trace& trace, const KernelCounts& counts) : group_of_name(trace.strings.size(), kNone) {
    for (uint32_t i = 0; i < counts.of_name.size(); ++i) {
      if (counts.of_name[i] == 0) continue;
      const auto next = static_cast<uint32_t>(groups.size());
      group_of_name[i] = groups.try_emplace(KernelName(trace, NameId{i}), next).first->second;
    }
  }
  std::vector<uint32_t> group_of_name;  // by NameId, kNone where no kernel has it
  std::map<std::string, uint32_t> groups;
};

Groups Durations(const Trace& trace, const KernelCounts& counts, const KernelNames& names) {
  Groups groups(names.groups.size());
  for (uint32_t i = 0; i < counts.of_name.size(); ++i) {
    if (counts.of_name[i] > 0) groups.Count(names.group_of_name[i], static_cast<size_t>(counts.of_name[i]));
  }
  groups.Seal();
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel) groups.Add(names.group_of_name[op.name.value], op.DurationNs());
  }
  return groups;
}

int64_t CountLaunches(const Trace& trace) {
  int64_t launches = 0;
  for (const ApiCall& call : trace.api_calls) {
    const bool launches_work = call.api_class == ApiClass::kLaunch || call.api_class == ApiClass::kGraphLaunch;
    launches += launches_work && call.parent == kNone;
  }
  return launches;
}

}  // namespace

AnalysisResult RunKernels(const Trace& trace, const AnalysisOptions& options) {
  const KernelCounts counts = CountKernels(trace);
  const KernelNames names(trace, counts);
  Groups durations = Durations(trace, counts, names);
  std::vector<std::pair<std::string, Statistics>> kernels;
  int64_t total_ns = 0;
  for (const auto& [name, group] : names.groups) {
    kernels.emplace_back(name, Summarize(durations.Of(group)));
    total_ns += kernels.back().second.total;
  }

  AnalysisResult result;
  Table table{"kernels", "Kernels", TimeColumns(), {}, "Percent of the time of all kernels."};
  table.columns.push_back({"name", "Name", Unit::kText, false});
  for (const auto& [name, times] : kernels) {
    table.rows.push_back(TimeCells(times, total_ns));
    table.rows.back().emplace_back(name);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  if (counts.graphs > 0) {
    table.note += " Not in it: " + CountOf(counts.graphs, "graph launch", "graph launches") + " recorded as a whole.";
  }
  result.tables.push_back(std::move(table));
  AddMetric(&result, "kernels.count", counts.kernels);
  AddMetric(&result, "kernels.total_ns", total_ns);
  AddMetric(&result, "kernels.distinct", names.groups.size());
  AddMetric(&result, "launches.count", CountLaunches(trace));
  AddMetric(&result, "graphs.launches", counts.graphs);
  return result;
}

}  // namespace gprof
