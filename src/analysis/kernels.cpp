// Time on the GPU by kernel.
#include <map>
#include <string>
#include <utility>

#include "analysis/analyses.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

// Kernels under one name; several mangled names may read alike once they are demangled.
class KernelNames {
 public:
  explicit KernelNames(const Trace& trace) : group_of_name_(trace.strings.size(), kNone) {
    for (const GpuOp& op : trace.ops) {
      if (op.kind != OpKind::kKernel || group_of_name_[op.name.value] != kNone) continue;
      const auto next = static_cast<uint32_t>(group_of_text_.size());
      group_of_name_[op.name.value] = group_of_text_.try_emplace(KernelName(trace, op.name), next).first->second;
    }
  }
  uint32_t GroupOf(const GpuOp& op) const { return group_of_name_[op.name.value]; }
  const std::map<std::string, uint32_t>& groups() const { return group_of_text_; }

 private:
  std::vector<uint32_t> group_of_name_;
  std::map<std::string, uint32_t> group_of_text_;
};

Groups Durations(const Trace& trace, const KernelNames& names) {
  Groups groups(names.groups().size());
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel) groups.Count(names.GroupOf(op));
  }
  groups.Seal();
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel) groups.Add(names.GroupOf(op), op.DurationNs());
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
  const KernelNames names(trace);
  Groups durations = Durations(trace, names);
  int64_t count = 0, total_ns = 0, graphs = 0;
  for (const GpuOp& op : trace.ops) {
    graphs += op.kind == OpKind::kGraph;
    if (op.kind != OpKind::kKernel) continue;
    ++count;
    total_ns += op.DurationNs();
  }

  AnalysisResult result;
  Table table{"kernels", "Kernels", TimeColumns(), {}, "Percent of the time of all kernels."};
  table.columns.push_back({"name", "Name", Unit::kText, false});
  for (const auto& [name, group] : names.groups()) {
    table.rows.push_back(TimeCells(Summarize(durations.Of(group)), total_ns));
    table.rows.back().emplace_back(name);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  if (graphs > 0) {
    table.note += " Not in it: " + CountOf(graphs, "graph launch", "graph launches") + " recorded as a whole.";
  }
  result.tables.push_back(std::move(table));
  AddMetric(&result, "kernels.count", count);
  AddMetric(&result, "kernels.total_ns", total_ns);
  AddMetric(&result, "kernels.distinct", names.groups().size());
  AddMetric(&result, "launches.count", CountLaunches(trace));
  AddMetric(&result, "graphs.launches", graphs);
  return result;
}

}  // namespace gprof
