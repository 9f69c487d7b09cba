// How busy each GPU was between its first and its last operation.
#include "analysis/causes/bound.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/topics/analyses.h"

namespace gprof {
namespace {

struct Usage {
  int64_t window_ns = 0, busy_ns = 0, kernel_ns = 0;
  int64_t operations = 0, kernels = 0, copies = 0, fills = 0;
  int64_t CopyOnlyNs() const { return busy_ns - kernel_ns; }
  int64_t IdleNs() const { return window_ns - busy_ns; }
  void Add(const Usage& other) {
    window_ns += other.window_ns;
    busy_ns += other.busy_ns;
    kernel_ns += other.kernel_ns;
    operations += other.operations;
  }
};

Usage UsageOf(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  Usage usage;
  const Trace::Slice slice = trace.device_ops[device];
  if (!HasWindow(trace, device)) return usage;
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.device != device) continue;
    usage.kernels += traits.kind == OpKind::kKernel ? sums[i].count : 0;
    usage.copies += traits.kind == OpKind::kMemcpy || traits.kind == OpKind::kPeerCopy ? sums[i].count : 0;
    usage.fills += traits.kind == OpKind::kMemset ? sums[i].count : 0;
  }
  usage.window_ns = input.shared().window_ns(device);
  usage.busy_ns = input.shared().busy(device).any.busy_ns();
  usage.kernel_ns = input.shared().busy(device).kernels.busy_ns();
  usage.operations = slice.last - slice.first;
  return usage;
}

void AddMetrics(AnalysisResult* result, const Usage& usage, const std::string& scope) {
  AddMetric(result, "gpu.window_ns", usage.window_ns, scope);
  AddMetric(result, "gpu.busy_ns", usage.busy_ns, scope);
  AddMetric(result, "gpu.busy_percent", PercentOf(usage.busy_ns, usage.window_ns), scope);
  AddMetric(result, "gpu.kernel_ns", usage.kernel_ns, scope);
  AddMetric(result, "gpu.copy_only_ns", usage.CopyOnlyNs(), scope);
  AddMetric(result, "gpu.idle_ns", usage.IdleNs(), scope);
  AddMetric(result, "gpu.idle_percent", PercentOf(usage.IdleNs(), usage.window_ns), scope);
  AddMetric(result, "gpu.operations", usage.operations, scope);
}

std::vector<Column> Columns() {
  return {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
          {"name", "Name", Unit::kText, false},
          {"window_ns", "Window", Unit::kNs, false},
          {"busy_percent", "Busy", Unit::kPercent, false, ColumnRole::kOwn},
          {"kernel_percent", "Kernels", Unit::kPercent, false},
          {"copy_only_percent", "Copy-only", Unit::kPercent, false, ColumnRole::kOwn},
          {"idle_percent", "Idle", Unit::kPercent, false, ColumnRole::kOwn},
          {"busy_ns", "Busy time", Unit::kNs, true},
          {"kernel_ns", "Kernel time", Unit::kNs, true},
          {"copy_only_ns", "Copy-only time", Unit::kNs, true},
          {"idle_ns", "Idle time", Unit::kNs, true},
          {"kernels", "Kernel count", Unit::kCount, true},
          {"copies", "Copy count", Unit::kCount, true},
          {"fills", "Memset count", Unit::kCount, true},
          {"operations", "Operations", Unit::kCount, true}};
}

std::vector<Cell> Row(const Trace& trace, uint32_t device, const Usage& usage) {
  return {DeviceScope(trace, device),
          std::string(trace.Text(trace.devices[device].name)),
          usage.window_ns,
          PercentOf(usage.busy_ns, usage.window_ns),
          PercentOf(usage.kernel_ns, usage.window_ns),
          PercentOf(usage.CopyOnlyNs(), usage.window_ns),
          PercentOf(usage.IdleNs(), usage.window_ns),
          usage.busy_ns,
          usage.kernel_ns,
          usage.CopyOnlyNs(),
          usage.IdleNs(),
          usage.kernels,
          usage.copies,
          usage.fills,
          usage.operations};
}

}  // namespace

AnalysisResult RunDevices(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  Table table{"devices",
              "GPUs",
              Columns(),
              {},
              "Percentages are of the GPU window, from the first to the last operation.",
              RowsOfRanks::kOfGpus};
  if (!trace.device_windows.empty()) table.note = "Percentages are of the GPU window, here the selected time.";
  if (!IsRecordedWhole(trace)) table.note += " Time between captures is excluded.";
  Usage sum;
  size_t unused = 0;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    const Usage usage = UsageOf(input, device);
    if (usage.operations == 0 && usage.window_ns == 0) {
      ++unused;
      continue;
    }
    sum.Add(usage);
    table.rows.push_back(Row(trace, device, usage));
    AddMetrics(&result, usage, DeviceScope(trace, device));
  }
  if (sum.window_ns > 0 || sum.operations > 0) AddMetrics(&result, sum, "");
  if (trace.end_ns > trace.start_ns) AddMetric(&result, "run.wall_ns", trace.end_ns - trace.start_ns);
  if (unused > 0)
    table.note += " Unused: " + std::to_string(unused) + " of " + std::to_string(trace.device_ops.size()) + " GPUs.";
  result.tables.push_back(std::move(table));
  result.findings = BoundFindings(input, options.step);
  return result;
}

}  // namespace gprof
