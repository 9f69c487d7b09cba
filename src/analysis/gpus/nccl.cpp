// Collectives of NCCL: how long they ran, how much of that no other kernel ran beside them, and their bandwidth.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/interval_set.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/gpus/nccl_kernels.h"
#include "analysis/gpus/nccl_messages.h"
#include "analysis/gpus/nccl_waits.h"
#include "analysis/idle/gaps/gaps.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"
#include "analysis/result/findings.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

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

struct OfPath {
  int64_t count = 0, bytes = 0, kernel_ns = 0, ranks = 0;
  double algorithm_bytes = 0, bus_bytes = 0;
  bool has_ranks = true;
};

class Bandwidths {
 public:
  explicit Bandwidths(const NcclMessages& messages) : trace_(messages.trace()), messages_(messages) {
    for (const auto& [range, message] : messages.messages()) AddToPath(range, message);
  }

  const std::map<NameId, OfPath>& paths() const { return paths_; }

 private:
  // As nccl-tests has it: a message of NCCL is what one rank gives; gathering and scattering move one for each rank.
  void AddToPath(uint32_t range, const NcclMessage& message) {
    if (!message.kernels) return;
    OfPath& path = paths_[trace_.ranges[range].path];
    const std::string_view name = trace_.Text(trace_.ranges[range].name);
    const bool is_gather = name == "ncclAllGather" || name == "ncclReduceScatter";
    const bool is_all_reduce = name == "ncclAllReduce";
    const int64_t ranks = messages_.RanksOf(range, message);
    const double n = static_cast<double>(ranks), bytes = static_cast<double>(message.bytes);
    ++path.count;
    path.bytes += message.bytes;
    path.kernel_ns += message.kernels->DurationNs();
    path.has_ranks &= ranks > 0 || (!is_gather && !is_all_reduce);
    path.ranks = std::max(path.ranks, ranks);
    path.algorithm_bytes += is_gather ? bytes * n : bytes;
    path.bus_bytes += is_gather ? bytes * (n - 1) : is_all_reduce && n > 0 ? bytes * 2 * (n - 1) / n : bytes;
  }

  const Trace& trace_;
  const NcclMessages& messages_;
  std::map<NameId, OfPath> paths_;
};

Table KernelTable(const Trace& trace, const Collectives& collectives, int64_t total_ns, uint32_t max_rows) {
  Table table{"nccl",
              "NCCL kernels",
              {{"percent", "Time", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"exposed_ns", "Exposed", Unit::kNs, false},
               {"exposed_percent", "Exposed %", Unit::kPercent, false},
               {"count", "Count", Unit::kCount, false},
               {"name", "Kernel", Unit::kText, false}},
              {},
              "Time: percent of all NCCL kernel time. Exposed: no other kernel ran on the same GPU; percent of Total."};
  for (const auto& [name, kernel] : collectives.kernels()) {
    table.rows.push_back({PercentOf(kernel.total_ns, total_ns), kernel.total_ns, kernel.exposed_ns,
                          PercentOf(kernel.exposed_ns, kernel.total_ns), kernel.count, KernelName(trace, name)});
  }
  SortAndCut(&table, 1, 5, max_rows);
  return table;
}

Table MessageTable(const Trace& trace, const Bandwidths& messages, uint32_t max_rows) {
  Table table{"nccl_messages",
              "Collective bandwidth",
              {{"kernel_ns", "Kernel time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Message bytes", Unit::kBytes, false},
               {"algorithm_bytes_per_second", "Algorithm BW", Unit::kBytesPerSecond, false},
               {"bus_bytes_per_second", "Bus BW", Unit::kBytesPerSecond, false},
               {"ranks", "Ranks", Unit::kCount, true},
               {"path", "NVTX range", Unit::kText, false}},
              {},
              "Collectives of known size. Algorithm and bus bandwidth as in nccl-tests, from the first start to the "
              "last end of the kernels of a call. Calls inside a group are not included."};
  for (const auto& [name, path] : messages.paths()) {
    const double seconds = static_cast<double>(path.kernel_ns) / 1e9;
    const bool has_rate = path.has_ranks && path.kernel_ns > 0;
    table.rows.push_back({path.kernel_ns, path.count, path.bytes,
                          has_rate ? Cell(path.algorithm_bytes / seconds) : Cell(),
                          has_rate ? Cell(path.bus_bytes / seconds) : Cell(),
                          path.ranks > 0 ? Cell(path.ranks) : Cell(), PathName(trace, name)});
  }
  SortAndCut(&table, 0, 6, max_rows);
  return table;
}

// Waiting for a late rank is not what other work beside it could hide.
void AddFinding(const std::string& gpus, const OfDevice& sum, int64_t waiting_ns, AnalysisResult* result) {
  const int64_t gain_ns = std::max<int64_t>(0, sum.exposed_ns - waiting_ns);
  const double percent = PercentOf(gain_ns, sum.window_ns);
  if (percent < kPercentWorthAFinding) return;
  const auto ns = [](int64_t value) { return FormatNs(static_cast<double>(value)); };
  Finding finding = NewFinding("nccl.exposed", percent);
  finding.message =
      "NCCL ran for " + ns(sum.total_ns) + " on " + gpus + ", " +
      FormatPercent(PercentOf(sum.exposed_ns, sum.total_ns)) + " (" + ns(sum.exposed_ns) +
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
  if (count == 0) return result;
  AddMetric(&result, "nccl.kernels", count);
  AddMetric(&result, "nccl.total_ns", sum.total_ns);
  AddMetric(&result, "nccl.exposed_ns", sum.exposed_ns);
  AddMetric(&result, "nccl.exposed_percent", PercentOf(sum.exposed_ns, sum.total_ns));
  result.tables.push_back(KernelTable(trace, collectives, kernels_ns, options.max_rows));
  const IsCollective is_collective = [&](const GpuOp& op) { return collectives.IsCollective(op); };
  const NcclMessages messages(trace, is_collective);
  result.tables.push_back(MessageTable(trace, Bandwidths(messages), options.max_rows));
  const int64_t waiting_ns = AddNcclWaits(input, messages, is_collective, options.max_rows, &result);
  const size_t gpus = collectives.devices().size();
  AddFinding(gpus == 1 ? DeviceScope(trace, collectives.devices()[0].device) : std::to_string(gpus) + " GPUs", sum,
             waiting_ns, &result);
  return result;
}

}  // namespace gprof
