// Collectives of NCCL: how long they ran, how much of that no other kernel ran beside them, and their bandwidth.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/gpus/nccl_messages.h"
#include "analysis/topics/gpus/nccl_waits.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

struct Moved {
  int64_t count = 0, steps = 0;
  SaturatingSum time_ns, bytes, gpu_ns, peer_ns, network_ns, flush_ns;
  void Add(const NcclTransfer& t) {
    ++count, steps += t.steps;
    time_ns += t.DurationNs(), bytes += static_cast<int64_t>(t.size_bytes);
    gpu_ns += t.gpu_ns, peer_ns += t.peer_ns, network_ns += t.network_ns, flush_ns += t.flush_ns;
  }
};

Table NcclNetworkTable(const Trace& trace, uint32_t max_rows) {
  Table table{"nccl_network",
              "NCCL on the network",
              {{"time_ns", "Total", Unit::kNs, false},
               {"gpu_ns", "For GPU", Unit::kNs, false, "buffers were not filled yet, or not emptied"},
               {"peer_ns", "For peer", Unit::kNs, true, "it took no more data"},
               {"network_ns", "Network", Unit::kNs, false,
                "data was on its way, or for received data had not arrived yet, sent or not; the rest of Total had no "
                "step under way"},
               {"flush_ns", "Flush", Unit::kNs, true},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"count", "Count", Unit::kCount, true},
               {"steps", "Steps", Unit::kCount, true},
               {"peer", "Peer", Unit::kCount, false},
               {"direction", "Direction", Unit::kText, false},
               {"function", "Function", Unit::kText, false}},
              {},
              "Time of NCCL's proxy threads, summed over channels, so that it may be longer than the run."};
  std::map<std::tuple<NameId, bool, int32_t>, Moved> groups;
  for (const NcclTransfer& t : trace.nccl_transfers) groups[{t.function, t.is_send, t.peer}].Add(t);
  for (const auto& [key, moved] : groups) {
    const auto& [function, is_send, peer] = key;
    table.rows.push_back({int64_t{moved.time_ns}, int64_t{moved.gpu_ns}, int64_t{moved.peer_ns},
                          int64_t{moved.network_ns}, int64_t{moved.flush_ns}, int64_t{moved.bytes}, moved.count,
                          moved.steps, int64_t{peer}, std::string(is_send ? "send" : "receive"),
                          function == NameId{} ? "(of another process)" : std::string(trace.Text(function))});
  }
  SortAndCut(&table, 0, 10, max_rows);
  return table;
}

constexpr double kPercentWorthAFinding = 5;  // of the window

struct OfKernel {
  int64_t count = 0;
  SaturatingSum total_ns, exposed_ns;
};

struct OfDevice {
  uint32_t device = kNone;
  int64_t window_ns = 0, total_ns = 0, exposed_ns = 0;
};

class Collectives {
 public:
  explicit Collectives(const AnalysisInput& input) : input_(input), trace_(input.trace()), of_nccl_(trace_) {
    if (!of_nccl_.HasAny()) return;
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) Add(device);
  }

  bool IsCollective(const GpuOp& op) const { return of_nccl_.Has(op); }
  const std::vector<OfDevice>& devices() const { return devices_; }
  const std::map<NameId, OfKernel>& kernels() const { return kernels_; }

 private:
  void Add(uint32_t device) {
    const Trace::Slice slice = trace_.device_ops[device];
    IntervalSet collectives, others, kernels;
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const GpuOp& op = trace_.ops[i];
      if (!IsKernelLike(op)) continue;
      kernels.Add(op.start_ns, op.end_ns);
      (IsCollective(op) ? collectives : others).Add(op.start_ns, op.end_ns);
    }
    if (collectives.intervals().empty()) return;
    devices_.push_back(
        {device, input_.shared().window_ns(device), collectives.TotalNs(), kernels.TotalNs() - others.TotalNs()});
    IntervalSet::Cursor beside(others);
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const GpuOp& op = trace_.ops[i];
      if (!IsCollective(op)) continue;
      OfKernel& kernel = kernels_[op.name];
      ++kernel.count;
      kernel.total_ns += op.DurationNs();
      kernel.exposed_ns += op.DurationNs() - beside.Covered(op.start_ns, op.end_ns);
    }
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  NcclKernels of_nccl_;
  std::vector<OfDevice> devices_;
  std::map<NameId, OfKernel> kernels_;
};

// Operations that have something in common, and the time of their kernels.
struct Traffic {
  int64_t count = 0, ranks = 0;
  SaturatingSum bytes;
  double kernel_ns = 0, algorithm_bytes = 0, bus_bytes = 0;
  bool has_ranks = true;

  void Add(const NcclMessage& message) {
    ++count;
    bytes += message.bytes;
    ranks = std::max(ranks, message.ranks);
    if (!message.kernels) return;  // captured into a graph, or its kernel is not in the trace
    has_ranks &= message.ranks > 0 || !message.NeedsRanks();
    kernel_ns += message.kernel_ns;
    algorithm_bytes += message.AlgorithmBytes();
    bus_bytes += message.BusBytes();
  }
  int64_t KernelNs() const { return static_cast<int64_t>(std::llround(kernel_ns)); }
  Cell Rate(double moved_bytes) const {
    return has_ranks && kernel_ns > 0 ? Cell(moved_bytes / (kernel_ns / 1e9)) : Cell();
  }
};

Table KernelTable(const Trace& trace, const Collectives& collectives, int64_t total_ns, uint32_t max_rows) {
  Table table{"nccl",
              "NCCL kernels",
              {{"percent", "Time (%)", Unit::kPercent, false, "of all NCCL kernel time"},
               {"total_ns", "Total", Unit::kNs, false},
               {"exposed_ns", "Exposed", Unit::kNs, false, "no other kernel ran on the same GPU; percent of Total"},
               {"exposed_percent", "Exposed (%)", Unit::kPercent, false, ColumnRole::kOwn},
               {"count", "Count", Unit::kCount, false},
               {"name", "Kernel", Unit::kText, false}},
              {},
              "",
              RowsOfRanks::kAddUp};
  for (const auto& [name, kernel] : collectives.kernels()) {
    table.rows.push_back({PercentOf(kernel.total_ns, total_ns), kernel.total_ns, kernel.exposed_ns,
                          PercentOf(kernel.exposed_ns, kernel.total_ns), kernel.count, KernelName(trace, name)});
  }
  SortAndCut(&table, 1, 5, max_rows);
  return table;
}

Table MessageTable(const NcclMessages& messages, uint32_t max_rows) {
  Table table{"nccl_messages",
              "Collective bandwidth",
              {{"kernel_ns", "Kernel time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Message bytes", Unit::kBytes, false},
               {"algorithm_bytes_per_second", "Algorithm BW", Unit::kBytesPerSecond, false},
               {"bus_bytes_per_second", "Bus BW", Unit::kBytesPerSecond, false},
               {"ranks", "Ranks", Unit::kCount, true, ColumnRole::kCommon},
               {"path", "NVTX range", Unit::kText, false}},
              {},
              "Collectives of known size. Algorithm and bus bandwidth as in nccl-tests, from the first start to the "
              "last end of the kernels of a call. Calls inside a group are not included.",
              RowsOfRanks::kAddUp};
  if (messages.AreRecords()) {
    table.note =
        "By the range in which the kernel was launched. Algorithm and bus bandwidth as in nccl-tests, based on kernel "
        "time; the time of a group is shared out by bytes.";
  }
  std::map<NameId, Traffic> paths;
  for (const NcclMessage& message : messages.all()) {
    if (message.kernels && message.path != NameId{}) paths[message.path].Add(message);
  }
  for (const auto& [name, path] : paths) {
    table.rows.push_back({path.KernelNs(), path.count, int64_t{path.bytes}, path.Rate(path.algorithm_bytes),
                          path.Rate(path.bus_bytes), path.ranks > 0 ? Cell(path.ranks) : Cell(),
                          PathName(messages.trace(), name)});
  }
  SortAndCut(&table, 0, 6, max_rows);
  return table;
}

// What NCCL decided for operations of one function and size.
Table OperationTable(const NcclMessages& messages, uint32_t max_rows) {
  Table table{
      "nccl_operations",
      "NCCL operations",
      {{"kernel_ns", "Kernel time", Unit::kNs, false},
       {"count", "Count", Unit::kCount, false},
       {"size_bytes", "Size", Unit::kBytes, false},
       {"bus_bytes_per_second", "Bus BW", Unit::kBytesPerSecond, false},
       {"algorithm_bytes_per_second", "Algorithm BW", Unit::kBytesPerSecond, true},
       {"ranks", "Ranks", Unit::kCount, false, ColumnRole::kCommon},
       {"channels", "Channels", Unit::kCount, true},
       {"datatype", "Type", Unit::kText, true},
       {"algorithm", "Algorithm", Unit::kText, false},
       {"protocol", "Protocol", Unit::kText, false},
       {"function", "Function", Unit::kText, false}},
      {},
      "As reported by NCCL to its profiler plug-in, by message size. Bandwidth as in nccl-tests, based on kernel time; "
      "the time of a group is shared out by bytes. Time and bandwidth exclude operations captured into CUDA graphs."};
  using Key = std::tuple<NameId, uint64_t, NameId, NameId, NameId, uint32_t, int64_t>;
  std::map<Key, Traffic> groups;
  for (const NcclMessage& message : messages.all()) {
    const Collective& r = *message.record;
    groups[{r.function, r.size_bytes, r.datatype, r.algorithm, r.protocol, r.channels, message.ranks}].Add(message);
  }
  const Trace& trace = messages.trace();
  for (const auto& [key, traffic] : groups) {
    const auto& [function, bytes, datatype, algorithm, protocol, channels, ranks] = key;
    const auto text = [&](NameId name) { return Cell(std::string(trace.Text(name))); };
    table.rows.push_back({traffic.KernelNs(), traffic.count, static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)),
                          traffic.Rate(traffic.bus_bytes), traffic.Rate(traffic.algorithm_bytes),
                          ranks > 0 ? Cell(ranks) : Cell(), int64_t{channels}, text(datatype), text(algorithm),
                          text(protocol), text(function)});
  }
  SortAndCut(&table, 0, 10, max_rows);
  return table;
}

void AddOperationMetrics(const NcclMessages& messages, AnalysisResult* result) {
  Traffic all;
  for (const NcclMessage& message : messages.all()) all.Add(message);
  AddMetric(result, "nccl.operations", all.count);
  AddMetric(result, "nccl.bytes", all.bytes);
  if (all.kernel_ns > 0) AddMetric(result, "nccl.bus_bytes_per_second", all.bus_bytes / (all.kernel_ns / 1e9));
}

// Waiting for a late rank is not what other work beside it could hide.
void AddFinding(const std::string& gpus, const OfDevice& sum, int64_t waiting_ns, AnalysisResult* result) {
  const int64_t gain_ns = std::max<int64_t>(0, sum.exposed_ns - waiting_ns);
  const double percent = PercentOf(gain_ns, sum.window_ns);
  if (percent < kPercentWorthAFinding) return;
  Finding finding = NewFinding("nccl.exposed", percent);
  finding.message =
      "NCCL ran for " + FormatNs(sum.total_ns) + " on " + gpus + ", " +
      FormatPercent(PercentOf(sum.exposed_ns, sum.total_ns)) + " (" + FormatNs(sum.exposed_ns) +
      ") exposed, with no other kernel running: " + FormatPercent(PercentOf(sum.exposed_ns, sum.window_ns)) +
      " of the GPU window";
  finding.gain_ns = gain_ns;
  finding.basis = "exposed time of NCCL kernels";
  if (waiting_ns > 0) finding.basis += ", minus the wait for the last rank";
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunNccl(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const Collectives collectives(input);
  OfDevice sum;
  int64_t count = 0;
  SaturatingSum kernels_ns;
  for (const OfDevice& of_device : collectives.devices()) {
    sum.window_ns += of_device.window_ns;
    sum.total_ns += of_device.total_ns;
    sum.exposed_ns += of_device.exposed_ns;
    AddMetric(&result, "nccl.total_ns", of_device.total_ns, DeviceScope(trace, of_device.device));
    AddMetric(&result, "nccl.exposed_ns", of_device.exposed_ns, DeviceScope(trace, of_device.device));
  }
  for (const auto& [name, kernel] : collectives.kernels()) {
    count += kernel.count;
    kernels_ns += kernel.total_ns;
  }
  const IsCollective is_collective = [&](const GpuOp& op) { return collectives.IsCollective(op); };
  if (count == 0 && trace.collectives.empty()) return result;
  const NcclMessages messages(trace, is_collective);
  if (messages.AreRecords()) {
    result.tables.push_back(OperationTable(messages, options.max_rows));
    AddOperationMetrics(messages, &result);
  }
  if (!trace.nccl_transfers.empty()) result.tables.push_back(NcclNetworkTable(trace, options.max_rows));
  if (count == 0) return result;
  AddMetric(&result, "nccl.kernels", count);
  AddMetric(&result, "nccl.total_ns", sum.total_ns);
  AddMetric(&result, "nccl.exposed_ns", sum.exposed_ns);
  AddMetric(&result, "nccl.exposed_percent", PercentOf(sum.exposed_ns, sum.total_ns));
  result.tables.push_back(KernelTable(trace, collectives, kernels_ns, options.max_rows));
  result.tables.push_back(MessageTable(messages, options.max_rows));
  const int64_t waiting_ns = AddNcclWaits(input, messages, is_collective, options.max_rows, &result);
  const size_t gpus = collectives.devices().size();
  AddFinding(gpus == 1 ? DeviceScope(trace, collectives.devices()[0].device) : std::to_string(gpus) + " GPUs", sum,
             waiting_ns, &result);
  return result;
}

}  // namespace gprof
