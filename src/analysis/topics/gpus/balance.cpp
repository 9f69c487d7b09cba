// Several GPUs in one run: how evenly they are busy, which waits while others work, and what they copy to each other.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kUnevenPercent = 10;        // of the mean busy time
constexpr double kPercentWorthAFinding = 5;  // of the time that the GPUs were used

struct Load {
  uint32_t device = kNone;
  int64_t start_ns = 0, end_ns = 0, idle_ns = 0;
  IntervalSet busy;
  IntervalSet work;  // busy with more than kernels of NCCL, which run while they wait for others
  bool has_nccl = false;
  int64_t waiting_ns = 0;             // idle while another was busy
  CauseSplit waiting;                 // its causes
  std::vector<int64_t> waits_for_ns;  // idle while that other was busy
};

// Empty where it is not several.
std::vector<Load> LoadsOf(const Trace& trace) {
  std::vector<Load> loads;
  const std::vector<uint32_t> used = UsedDevices(trace);
  if (used.size() < 2) return loads;
  const NcclKernels of_nccl(trace);
  for (const uint32_t device : used) {
    const Trace::Slice slice = trace.device_ops[device];
    Load load;
    load.device = device;
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const GpuOp& op = trace.ops[i];
      load.busy.Add(op.start_ns, op.end_ns);
      if (of_nccl.Has(op)) {
        load.has_nccl = true;
      } else {
        load.work.Add(op.start_ns, op.end_ns);
      }
    }
    load.start_ns = trace.ops[slice.first].start_ns;
    load.end_ns = load.busy.intervals().empty() ? load.start_ns : load.busy.intervals().back().end_ns;
    loads.push_back(std::move(load));
  }
  return loads;
}

IntervalSet BusyAnywhere(const std::vector<Load>& loads) {
  std::vector<Interval> all;
  for (const Load& load : loads) {
    all.insert(all.end(), load.busy.intervals().begin(), load.busy.intervals().end());
  }
  std::ranges::sort(all, {}, &Interval::start_ns);
  IntervalSet set;
  for (const Interval& interval : all) set.Add(interval.start_ns, interval.end_ns);
  return set;
}

// While a GPU is idle, whatever is busy is another one.
void AddWaits(const AnalysisInput& input, std::vector<Load>* loads) {
  const IntervalSet anywhere = BusyAnywhere(*loads);
  for (Load& load : *loads) {
    load.waits_for_ns.resize(loads->size());
    IntervalSet::Cursor any(anywhere);
    std::vector<IntervalSet::Cursor> others;
    for (const Load& other : *loads) others.emplace_back(other.busy);
    const auto add = [&](int64_t start_ns, int64_t end_ns, const Part& part) {
      load.idle_ns += end_ns - start_ns;
      const int64_t waiting_ns = any.Covered(start_ns, end_ns);
      load.waiting_ns += waiting_ns;
      load.waiting[part.cause] += waiting_ns;
      if (waiting_ns == 0) return;
      for (size_t i = 0; i < others.size(); ++i) load.waits_for_ns[i] += others[i].Covered(start_ns, end_ns);
    };
    ForEachIdlePart(input, load.device, add);
  }
}

std::string CausesText(const CauseSplit& split) {
  std::vector<Cause> causes;
  ForEachCause([&](Cause cause) {
    if (PercentOf(split[cause], split.Total()) >= 1) causes.push_back(cause);
  });
  std::ranges::stable_sort(causes, [&](Cause a, Cause b) { return split[a] > split[b]; });
  std::string text;
  for (const Cause cause : causes) {
    text += (text.empty() ? "" : ", ") + std::string(InfoOf(cause).name) + " " +
            FormatPercent(PercentOf(split[cause], split.Total()));
  }
  return text;
}

size_t MostWaitedFor(const Load& load) {
  return static_cast<size_t>(std::ranges::max_element(load.waits_for_ns) - load.waits_for_ns.begin());
}

Table BalanceTable(const Trace& trace, const std::vector<Load>& loads, int64_t mean_ns) {
  Table table{"balance",
              "GPU load balance",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"busy_ns", "Busy", Unit::kNs, false},
               {"of_mean_percent", "% of mean", Unit::kPercent, false, ColumnRole::kOwn},
               {"idle_ns", "Idle", Unit::kNs, true},
               {"waiting_ns", "Waiting", Unit::kNs, false, "idle while another GPU was busy"},
               {"waits_for", "Mostly for", Unit::kText, false, "the GPU that was busy for most of that time"},
               {"causes", "Idle causes", Unit::kText, false}},
              {},
              ""};
  for (const Load& load : loads) {
    const uint32_t other = loads[MostWaitedFor(load)].device;
    table.rows.push_back({DeviceScope(trace, load.device), load.busy.TotalNs(), PercentOf(load.busy.TotalNs(), mean_ns),
                          load.idle_ns, load.waiting_ns,
                          load.waiting_ns == 0 ? std::string("-") : DeviceScope(trace, other),
                          CausesText(load.waiting)});
  }
  return table;
}

Table PeerTable(const AnalysisInput& input, uint32_t max_rows, SaturatingSum* bytes) {
  const Trace& trace = input.trace();
  Table table{"peer_copies",
              "Copies between GPUs",
              {{"total_ns", "Time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false, "bytes divided by copy time"},
               {"pair", "GPUs", Unit::kText, false},
               {"run_by", "Executed by", Unit::kText, true}},
              {},
              ""};
  struct Sum {
    int64_t count = 0;
    SaturatingSum total_ns, bytes;
  };
  std::map<std::pair<uint32_t, uint32_t>, Sum> pairs;
  for (const uint32_t i : input.shared().ops().transfers()) {
    const GpuOp& op = trace.ops[i];
    if (op.kind != OpKind::kPeerCopy) continue;
    Sum& sum = pairs[{op.device, op.peer_device}];
    sum.total_ns += op.DurationNs();
    ++sum.count;
    sum.bytes += static_cast<int64_t>(op.size_bytes);
  }
  for (const auto& [pair, sum] : pairs) {
    const std::string by = DeviceScope(trace, pair.first);
    const std::string other = pair.second == kNone ? "(unknown)" : DeviceScope(trace, pair.second);
    const double rate =
        sum.total_ns == 0 ? 0 : 1e9 * static_cast<double>(sum.bytes) / static_cast<double>(sum.total_ns);
    table.rows.push_back({sum.total_ns, sum.count, sum.bytes, rate, by + " and " + other, by});
    *bytes += sum.bytes;
  }
  SortAndCut(&table, 0, 4, max_rows);
  return table;
}

// Processes that used each device, by device.
std::vector<std::set<uint32_t>> ProcessesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<std::set<uint32_t>> processes(trace.device_ops.size());
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (sums[i].count > 0 && traits.device != kNone) processes[traits.device].insert(traits.process);
  }
  return processes;
}

// How long it waited because another had more to do. Where one process launches for both, the time that its host needs
// is nobody's load; between processes, the host that runs waits for the others as a rule.
int64_t WaitedForOthers(const Load& load, bool is_same_process) {
  const int64_t in_nccl_ns = load.busy.TotalNs() - load.work.TotalNs();
  if (!is_same_process) return load.waiting_ns + in_nccl_ns;
  int64_t host_ns = 0;
  for (const Cause cause :
       {Cause::kHost, Cause::kApi, Cause::kLaunch, Cause::kLoad, Cause::kMemory, Cause::kProfiler}) {
    host_ns += load.waiting[cause];
  }
  return load.waiting_ns + in_nccl_ns - host_ns;
}

// The one that has more to do, not the one that waits longest in a collective: that is the rank that is ready first.
void AddFinding(const AnalysisInput& input, const std::vector<Load>& loads, int64_t window_ns, AnalysisResult* result) {
  const Trace& trace = input.trace();
  const auto is_less = [](const Load& a, const Load& b) { return a.work.TotalNs() < b.work.TotalNs(); };
  int64_t mean_ns = 0;
  bool has_nccl = false;
  for (const Load& load : loads) {
    mean_ns += load.work.TotalNs();
    has_nccl |= load.has_nccl;
  }
  mean_ns /= static_cast<int64_t>(loads.size());
  const Load& most = *std::ranges::max_element(loads, is_less);
  const Load& least = *std::ranges::min_element(loads, is_less);
  const std::vector<std::set<uint32_t>> processes = ProcessesOf(input);
  int64_t gain_ns = 0;  // of all GPUs together, as idle time is
  for (const Load& load : loads) {
    gain_ns += std::min(most.work.TotalNs() - load.work.TotalNs(),
                        WaitedForOthers(load, processes[load.device] == processes[most.device]));
  }
  const double percent = PercentOf(gain_ns, window_ns * static_cast<int64_t>(loads.size()));
  if (PercentOf(most.work.TotalNs() - mean_ns, mean_ns) < kUnevenPercent || percent < kPercentWorthAFinding) return;
  Finding finding = NewFinding("balance.uneven", percent);
  finding.message = "Uneven GPU load: " + DeviceScope(trace, most.device) + " busy for " +
                    FormatNs(most.work.TotalNs()) + ", " + DeviceScope(trace, least.device) + " for " +
                    FormatNs(least.work.TotalNs()) + " (mean " + FormatNs(mean_ns) +
                    (has_nccl ? ", excluding NCCL kernels)" : ")");
  if (least.waiting_ns > 0) {
    finding.evidence.push_back(DeviceScope(trace, least.device) + " idle for " + FormatNs(least.waiting_ns) +
                               " while " +
                               (loads.size() == 2 ? DeviceScope(trace, most.device) + " was" : "others were") +
                               " busy: " + CausesText(least.waiting));
  }
  finding.gain_ns = gain_ns;
  finding.basis = "busy time the other GPUs lack, limited to the time they waited for others; summed over GPUs";
  finding.subject.device = DeviceScope(trace, most.device);
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunBalance(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  std::vector<Load> loads = LoadsOf(trace);
  if (loads.empty()) return result;
  AddWaits(input, &loads);
  int64_t busy_ns = 0, most_ns = 0, waiting_ns = 0;
  SaturatingSum peer_bytes;
  int64_t start_ns = loads.front().start_ns, end_ns = loads.front().end_ns;
  for (const Load& load : loads) {
    busy_ns += load.busy.TotalNs();
    most_ns = std::max(most_ns, load.busy.TotalNs());
    waiting_ns += load.waiting_ns;
    start_ns = std::min(start_ns, load.start_ns);
    end_ns = std::max(end_ns, load.end_ns);
    AddMetric(&result, "balance.waiting_ns", load.waiting_ns, DeviceScope(trace, load.device));
  }
  const int64_t mean_ns = busy_ns / static_cast<int64_t>(loads.size());
  result.tables.push_back(BalanceTable(trace, loads, mean_ns));
  result.tables.push_back(PeerTable(input, options.max_rows, &peer_bytes));
  AddMetric(&result, "balance.waiting_ns", waiting_ns);
  AddMetric(&result, "balance.imbalance_percent", PercentOf(most_ns - mean_ns, mean_ns));
  AddMetric(&result, "balance.peer_bytes", peer_bytes);
  AddFinding(input, loads, end_ns - start_ns, &result);
  return result;
}

}  // namespace gprof
