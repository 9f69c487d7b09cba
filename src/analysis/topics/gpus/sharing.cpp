// Processes of the run that share a GPU: whether their work runs at the same time, and what it costs to switch between
// them. Without MPS a GPU runs the work of one process at a time, and is idle while it switches to another's.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int64_t kShortestSwitchNs = 20'000;  // in the median: a GPU starts what is queued in less as a rule
constexpr size_t kFewestSwitches = 8;
constexpr double kSwitchPercentWorthAFinding = 1;  // of the window

// What one process did on a GPU.
struct Share {
  BusyTime busy;
  int64_t operations = 0;
  std::vector<int64_t> switches;  // idle time before its queued work, after work of another process
};

struct SharedGpu {
  uint32_t device = kNone;
  std::map<uint32_t, Share> shares;  // by process
  int64_t together_ns = 0;           // work of one process while that of another ran
  int64_t small_ns = 0;              // kernels so small that one of each process fits on the GPU
};

bool IsShared(const AnalysisInput& input, uint32_t device) {
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  uint32_t first = kNone;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const auto& kind = input.trace().ops.TraitsAt(i);
    if (sums[i].count == 0 || kind.device != device || kind.process == kNone) continue;
    if (first != kNone && kind.process != first) return true;
    first = kind.process;
  }
  return false;
}

SharedGpu FindShares(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  SharedGpu gpu{device, {}, 0};
  int64_t latest_end_ns = INT64_MIN;
  uint32_t latest = kNone;  // the process whose operation ends last so far
  for (const Operation op : OperationsOf(trace, trace.device_ops[device])) {
    const uint32_t process = op.shared().process;
    if (process == kNone) continue;
    Share& share = gpu.shares[process];
    share.busy.Add(op.start_ns(), op.end_ns());
    ++share.operations;
    if (latest != kNone && latest != process) {
      gpu.together_ns += std::max<int64_t>(std::min(latest_end_ns, op.end_ns()) - op.start_ns(), 0);
    }
    if (op.end_ns() < latest_end_ns) continue;
    latest_end_ns = op.end_ns();
    latest = process;
  }
  return gpu;
}

bool IsSmall(const Trace& trace, const GpuOp& op, size_t processes) {
  if (op.kind != OpKind::kKernel || op.shape == kNone) return false;
  const trace::KernelShapeRecord& shape = trace.shapes[op.shape];
  const double blocks = static_cast<double>(shape.grid_x) * shape.grid_y * shape.grid_z;
  return blocks * static_cast<double>(processes) <= trace.devices[op.device].properties.sm_count;
}

void FindSmallKernels(const AnalysisInput& input, SharedGpu* gpu) {
  const Trace& trace = input.trace();
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count == 0 || trace.ops[sum.first].device != gpu->device) continue;
    if (IsSmall(trace, trace.ops[sum.first], gpu->shares.size())) gpu->small_ns += sum.time_ns;
  }
}

// What would run beside other work if the processes did not take turns: at best, the longest of them is all that is
// left.
int64_t SavedSideBySide(const SharedGpu& gpu) {
  int64_t busy_ns = 0, longest_ns = 0;
  for (const auto& [process, share] : gpu.shares) {
    busy_ns += share.busy.busy_ns();
    longest_ns = std::max(longest_ns, share.busy.busy_ns());
  }
  return std::min(gpu.small_ns, busy_ns - longest_ns);
}

// Idle time in which work of the next process was queued already, after that of another.
void FindSwitches(const AnalysisInput& input, SharedGpu* gpu) {
  const Trace& trace = input.trace();
  const GapList& gaps = input.shared().gaps(gpu->device);
  ForEachExplainedGap(input, gpu->device, [&](const Gap& gap, std::span<const Part> parts) {
    const uint32_t before = gaps.OpBefore(gap);
    if (before == kNone || gap.after == kNone || gap.is_cut_before || gap.is_cut_after) return;
    const uint32_t next = Operation(trace.ops, gap.after).shared().process;
    if (next == kNone || next == Operation(trace.ops, before).shared().process) return;
    int64_t queued_ns = 0;
    for (const Part& part : parts) queued_ns += part.cause == Cause::kQueue ? part.duration_ns : 0;
    if (queued_ns > 0) gpu->shares[next].switches.push_back(queued_ns);
  });
}

std::vector<SharedGpu> FindSharedGpus(const AnalysisInput& input) {
  std::vector<SharedGpu> gpus;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    if (!IsShared(input, device)) continue;
    SharedGpu gpu = FindShares(input, device);
    FindSmallKernels(input, &gpu);
    FindSwitches(input, &gpu);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

int64_t Sum(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  return sum;
}

int64_t MedianNs(std::vector<int64_t> values) { return values.empty() ? 0 : static_cast<int64_t>(Median(values)); }

std::vector<int64_t> AllSwitches(const SharedGpu& gpu) {
  std::vector<int64_t> all;
  for (const auto& [process, share] : gpu.shares) all.insert(all.end(), share.switches.begin(), share.switches.end());
  return all;
}

Table ShareTable(const Trace& trace, const std::vector<SharedGpu>& gpus, uint32_t max_rows) {
  Table table{"sharing",
              "Processes that share a GPU",
              {{"busy_ns", "GPU time", Unit::kNs, false},
               {"count", "Operations", Unit::kCount, false},
               {"switches", "Switches", Unit::kCount, false,
                "the GPU was idle before queued work of this process, after work of another process"},
               {"switch_ns", "Idle in switches", Unit::kNs, false},
               {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"process", "Process", Unit::kText, false}},
              {},
              ""};
  for (const SharedGpu& gpu : gpus) {
    for (const auto& [number, share] : gpu.shares) {
      const Process& process = trace.processes[number];
      table.rows.push_back({share.busy.busy_ns(), share.operations, static_cast<int64_t>(share.switches.size()),
                            Sum(share.switches), MedianNs(share.switches), DeviceScope(trace, gpu.device),
                            std::string(trace.Text(process.name)) + " (" + std::to_string(process.pid) + ")"});
    }
  }
  SortAndCut(&table, 0, 6, max_rows);
  return table;
}

// Where the work of two processes ever ran at the same time, the GPU does not switch between them.
void AddFinding(const AnalysisInput& input, const SharedGpu& gpu, AnalysisResult* result) {
  const std::vector<int64_t> switches = AllSwitches(gpu);
  const int64_t idle_ns = Sum(switches), window_ns = input.shared().gaps(gpu.device).window_ns();
  if (gpu.together_ns > 0 || switches.size() < kFewestSwitches) return;
  if (PercentOf(idle_ns, window_ns) < kSwitchPercentWorthAFinding || MedianNs(switches) < kShortestSwitchNs) return;
  const int64_t saved_ns = SavedSideBySide(gpu);
  Finding finding = NewFinding("gpu.time_slicing", PercentOf(idle_ns + saved_ns, window_ns));
  finding.subject.device = DeviceScope(input.trace(), gpu.device);
  finding.message = CountOf(static_cast<int64_t>(gpu.shares.size()), "process", "processes") + " take turns on " +
                    finding.subject.device + ", which is idle for " + ShareOfTime(idle_ns, window_ns, "") +
                    " while it switches between them";
  finding.evidence.push_back(
      "Their work never ran at the same time: " + CountOf(static_cast<int64_t>(switches.size()), "switch", "switches") +
      ", median " + FormatNs(MedianNs(switches)));
  if (saved_ns > 0) {
    finding.evidence.push_back(FormatNs(gpu.small_ns) + " in kernels that would fit on it side by side");
  }
  finding.gain_ns = idle_ns + saved_ns;
  finding.basis =
      saved_ns > 0 ? "idle time in switches, and small kernels running side by side" : "idle time in switches";
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunSharing(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  int64_t switches = 0, switch_ns = 0;
  const std::vector<SharedGpu> gpus = FindSharedGpus(input);
  for (const SharedGpu& gpu : gpus) {
    const std::vector<int64_t> of_gpu = AllSwitches(gpu);
    switches += static_cast<int64_t>(of_gpu.size());
    switch_ns += Sum(of_gpu);
    AddFinding(input, gpu, &result);
  }
  if (gpus.empty()) return result;
  AddMetric(&result, "sharing.switches", switches);
  AddMetric(&result, "sharing.switch_ns", switch_ns);
  result.tables.push_back(ShareTable(input.trace(), gpus, options.max_rows));
  return result;
}

}  // namespace gprof
