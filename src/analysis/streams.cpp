// Streams asked for and used, and what really ran at the same time.
#include <algorithm>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/findings.h"
#include "analysis/gaps.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/statistics.h"
#include "analysis/stream_findings.h"
#include "analysis/tables.h"

namespace gprof {
namespace {

// Moves along the operations of one device and adds up the time in each state.
class ConcurrencySweep {
 public:
  explicit ConcurrencySweep(const Trace& trace) : trace_(trace), recorded_(trace), running_(trace.streams.size() + 1) {}

  Concurrency Run(uint32_t device) {
    const Trace::Slice slice = trace_.device_ops[device];
    if (slice.first == slice.last) return {};
    device_ = device;
    now_ns_ = trace_.ops[slice.first].start_ns;
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      EndUntil(trace_.ops[i].start_ns);
      AdvanceTo(trace_.ops[i].start_ns);
      Change(trace_.ops[i], 1);
      ends_.emplace(trace_.ops[i].end_ns, i);
    }
    while (!ends_.empty()) EndUntil(ends_.top().first);
    return std::exchange(result_, {});
  }

 private:
  struct Running {
    int ops = 0, kernels = 0;
  };
  using End = std::pair<int64_t, uint32_t>;

  void EndUntil(int64_t time_ns) {
    while (!ends_.empty() && ends_.top().first <= time_ns) {
      AdvanceTo(ends_.top().first);
      Change(trace_.ops[ends_.top().second], -1);
      ends_.pop();
    }
  }

  void AdvanceTo(int64_t time_ns) {
    if (time_ns <= now_ns_) return;
    // Idle time counts where it was recorded.
    const int64_t passed_ns = active_streams_ > 0
                                  ? time_ns - now_ns_
                                  : recorded_.ForEachOfDevice(device_, now_ns_, time_ns, [](int64_t, int64_t) {});
    now_ns_ = time_ns;
    if (result_.level_ns.size() <= active_streams_) result_.level_ns.resize(active_streams_ + 1);
    result_.level_ns[active_streams_] += passed_ns;
    if (kernel_streams_ >= 2) result_.kernel_overlap_ns += passed_ns;
    if (kernels_ > 0 && copies_ > 0) result_.copy_compute_ns += passed_ns;
  }

  void Change(const GpuOp& op, int by) {
    // Operations without a stream count as one stream.
    Running& stream = running_[op.stream == kNone ? trace_.streams.size() : op.stream];
    const bool was_active = stream.ops > 0, had_kernels = stream.kernels > 0;
    stream.ops += by;
    if (IsKernelLike(op)) stream.kernels += by, kernels_ += by;
    if (op.IsCopy()) copies_ += by;
    active_streams_ += static_cast<size_t>(stream.ops > 0) - static_cast<size_t>(was_active);
    kernel_streams_ += static_cast<size_t>(stream.kernels > 0) - static_cast<size_t>(had_kernels);
  }

  const Trace& trace_;
  const RecordedTime recorded_;
  uint32_t device_ = 0;
  std::vector<Running> running_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Concurrency result_;
  int64_t now_ns_ = 0;
  size_t active_streams_ = 0, kernel_streams_ = 0;
  int kernels_ = 0, copies_ = 0;
};

Table ConcurrencyTable(const Trace& trace, const std::vector<Concurrency>& devices) {
  Table table{"concurrency",
              "Streams running at the same time",
              {{"device", "GPU", Unit::kText, false},
               {"streams", "Streams", Unit::kCount, false},
               {"percent", "Time", Unit::kPercent, false},
               {"time_ns", "Total", Unit::kNs, false}},
              {},
              "Percent of the window of the GPU; 0 streams is idle time."};
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

struct StreamUse {
  BusyTime busy;
  int64_t operations = 0, kernels = 0, copies = 0;
};

std::vector<StreamUse> UseOfStreams(const Trace& trace) {
  std::vector<StreamUse> uses(trace.streams.size());
  for (const GpuOp& op : trace.ops) {
    if (op.stream == kNone) continue;
    StreamUse& use = uses[op.stream];
    use.busy.Add(op.start_ns, op.end_ns);
    ++use.operations;
    use.kernels += IsKernelLike(op);
    use.copies += op.IsCopy();
  }
  return uses;
}

Table StreamTable(const Trace& trace, const std::vector<StreamUse>& uses, const std::vector<Concurrency>& devices,
                  uint32_t max_rows) {
  Table table{"streams",
              "Streams",
              {{"device", "GPU", Unit::kText, false},
               {"busy_ns", "Busy", Unit::kNs, false},
               {"percent", "Busy", Unit::kPercent, false},
               {"operations", "Operations", Unit::kCount, false},
               {"kernels", "Kernels", Unit::kCount, true},
               {"copies", "Copies", Unit::kCount, true},
               {"names_given", "Names given", Unit::kCount, true},
               {"pid", "Process", Unit::kCount, true},
               {"name", "Stream", Unit::kText, false}},
              {},
              "Percent of the window of the GPU."};
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const Stream& stream = trace.streams[i];
    const StreamUse& use = uses[i];
    if (use.operations == 0 && !stream.is_created) continue;
    const int64_t window_ns = stream.device < devices.size() ? devices[stream.device].WindowNs() : 0;
    const int64_t pid = stream.process == kNone ? 0 : trace.processes[stream.process].pid;
    table.rows.push_back({stream.device == kNone ? std::string() : DeviceScope(trace, stream.device),
                          use.busy.busy_ns(), PercentOf(use.busy.busy_ns(), window_ns), use.operations, use.kernels,
                          use.copies, static_cast<int64_t>(stream.names_given), pid, StreamName(trace, i)});
  }
  SortAndCut(&table, 1, 8, max_rows);
  return table;
}

void AddConcurrency(AnalysisResult* result, const Concurrency& concurrency, const std::string& scope) {
  AddMetric(result, "streams.max_concurrency", concurrency.MaxLevel(), scope);
  AddMetric(result, "streams.overlap_ns", concurrency.OverlapNs(), scope);
  AddMetric(result, "streams.overlap_percent", PercentOf(concurrency.OverlapNs(), concurrency.BusyNs()), scope);
  AddMetric(result, "streams.kernel_overlap_ns", concurrency.kernel_overlap_ns, scope);
  AddMetric(result, "streams.copy_compute_ns", concurrency.copy_compute_ns, scope);
}

}  // namespace

AnalysisResult RunStreams(const Trace& trace, const AnalysisOptions& options) {
  AnalysisResult result;
  std::vector<Concurrency> devices;
  Concurrency all;
  ConcurrencySweep sweep(trace);
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    devices.push_back(sweep.Run(device));
    all.Add(devices.back());
    if (devices.back().WindowNs() > 0) AddConcurrency(&result, devices.back(), DeviceScope(trace, device));
  }
  const std::vector<StreamUse> uses = UseOfStreams(trace);
  std::vector<uint8_t> is_used(uses.size());
  int64_t created = 0, named = 0, used = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    is_used[i] = uses[i].operations > 0;
    created += trace.streams[i].is_created;
    named += trace.streams[i].names_given;
    used += is_used[i];
  }
  AddMetric(&result, "streams.created", created);
  AddMetric(&result, "streams.named", named);
  AddMetric(&result, "streams.used", used);
  if (all.WindowNs() > 0) AddConcurrency(&result, all, "");
  result.tables.push_back(StreamTable(trace, uses, devices, options.max_rows));
  result.tables.push_back(ConcurrencyTable(trace, devices));
  result.findings = StreamFindings(trace, is_used, all);
  return result;
}

}  // namespace gprof
