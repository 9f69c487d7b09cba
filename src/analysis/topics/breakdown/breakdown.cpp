#include "analysis/topics/breakdown/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/causes/idle_groups.h"
#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/result/display_names.h"
#include "base/saturate.h"

namespace gprof {
namespace {

// What the trace is about: all of it, or the selected time, to which its processes are clipped.
Interval SpanOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Interval span{trace.start_ns, trace.end_ns};
  if (!trace.device_windows.empty() && !trace.processes.empty()) {
    span = {trace.processes.front().start_ns, trace.processes.front().end_ns};
    for (const Process& process : trace.processes) {
      span = {std::min(span.start_ns, process.start_ns), std::max(span.end_ns, process.end_ns)};
    }
  }
  const auto include = [&span](int64_t start_ns, int64_t end_ns) {
    span = {std::min(span.start_ns, start_ns), std::max(span.end_ns, end_ns)};
  };
  const Interval& operations = input.shared().ops().window();
  include(operations.start_ns, operations.end_ns);
  for (const DeviceWindow& window : trace.device_windows) {
    if (window.time.DurationNs() > 0) include(window.time.start_ns, window.time.end_ns);
  }
  return span;
}

std::string ShapeText(const Trace& trace, uint32_t shape) {
  if (shape == kNone) return {};
  const trace::KernelShapeRecord& s = trace.shapes[shape];
  return fmt::format("{}x{}x{} of {}x{}x{}", s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z);
}

// The innermost push/pop range that an operation was launched in; the work of a graph that was launched outside of any
// belongs to the range that its node was made in.
NameId PathOf(const Trace& trace, const Operation& op) {
  const uint32_t call = OutermostCall(trace, op.call());
  uint32_t range = call == kNone ? kNone : Call(trace.api_calls, call).range();
  if (range == kNone && op.shared().node != kNone) range = trace.graph_nodes[op.shared().node].range;
  return range == kNone ? NameId{} : trace.ranges[range].path;
}

// The operations of one device.
class Operations {
 public:
  Operations(const AnalysisInput& input, uint32_t device) : trace_(input.trace()) {
    const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
    for (uint32_t i = 0; i < sums.size(); ++i) {
      const PackedOps::Traits& traits = trace_.ops.TraitsAt(i);
      if (sums[i].count == 0 || traits.device != device) continue;
      IsKernelLike(traits.kind) ? AddKernel(traits, sums[i]) : AddTransfer(traits, sums[i]);
    }
    for (const Operation op : OperationsOf(trace_, trace_.device_ops[device])) AddToPath(op);
  }

  void Fill(DeviceTime* device) const {
    device->hidden_ns = hidden_ns_;
    FillKernels(&device->kernels);
    FillTransfers(&device->transfers);
  }

  std::unordered_map<uint32_t, PathTime>& paths() { return paths_; }  // by NameId

 private:
  // In the order of their starts.
  void AddToPath(const Operation& op) {
    const int64_t hidden_ns = Hide(op);
    AddWrapping(&hidden_ns_, hidden_ns);
    PathTime& of_path = paths_[PathOf(trace_, op).value];
    ++of_path.operations;
    AddWrapping(&of_path.operation_ns, op.duration_ns());
    AddWrapping(&of_path.hidden_ns, hidden_ns);
  }

  // Part of the operation in which others that began earlier were running.
  int64_t Hide(const Operation& op) {
    const int64_t from_ns = is_first_ ? op.start_ns() : std::max(op.start_ns(), busy_until_ns_);
    busy_until_ns_ = is_first_ ? op.end_ns() : std::max(busy_until_ns_, op.end_ns());
    is_first_ = false;
    return std::min(from_ns, op.end_ns()) - op.start_ns();
  }

  void AddKernel(const PackedOps::Traits& traits, const OpFacts::Sum& sum) {
    const bool is_graph = traits.kind == OpKind::kGraph;
    const uint64_t key = is_graph ? UINT64_MAX : uint64_t{traits.name.value} << 32 | traits.shape;
    Kernel& kernel = kernels_.try_emplace(key, Kernel{is_graph, traits.name, traits.shape}).first->second;
    kernel.first = std::min(kernel.first, sum.first);
    kernel.count += sum.count;
    AddWrapping(&kernel.total_ns, sum.time_ns);
  }

  void AddTransfer(const PackedOps::Traits& traits, const OpFacts::Sum& sum) {
    const bool is_fill = traits.kind == OpKind::kMemset;
    const auto direction = is_fill ? kDirectionCount : static_cast<size_t>(DirectionOf(trace_.ops[sum.first]));
    TransferTime& transfer = transfers_[{direction, traits.source_memory, traits.destination_memory}];
    transfer.count += sum.count;
    AddWrapping(&transfer.total_ns, sum.time_ns);
    AddWrapping(&transfer.size_bytes, static_cast<int64_t>(static_cast<uint64_t>(sum.count) * traits.size_bytes));
  }

  // Mangled names may read alike, and shapes differ in what is not shown.
  void FillKernels(std::vector<KernelTime>* all) const {
    std::map<std::pair<std::string, std::string>, KernelTime> by_name;
    for (const auto& entry : kernels_) {
      const Kernel& kernel = entry.second;
      const std::string name = kernel.is_graph ? std::string(kWholeGraph) : KernelName(trace_, kernel.name);
      const std::string shape = kernel.is_graph ? std::string() : ShapeText(trace_, kernel.shape);
      const int64_t place = kernel.first;
      KernelTime& row = by_name.try_emplace({name, shape}, KernelTime{name, shape, {}, place, 0, 0}).first->second;
      if (place <= row.place) {
        row.place = place;
        row.path = trace_.Text(PathOf(trace_, Operation(trace_.ops, kernel.first)));
      }
      row.count += kernel.count;
      AddWrapping(&row.total_ns, kernel.total_ns);
    }
    for (auto& entry : by_name) all->push_back(std::move(entry.second));
    NumberPlaces(all);
  }

  // Some kinds of memory share a name.
  void FillTransfers(std::vector<TransferTime>* all) const {
    std::map<std::pair<std::string, std::string>, TransferTime> by_name;
    for (const auto& [key, time] : transfers_) {
      const auto& [index, source, destination] = key;
      const bool is_fill = index == kDirectionCount;
      const std::string direction(is_fill ? "fill" : DirectionName(static_cast<Direction>(index)));
      const std::string to(MemoryName(destination));
      const std::string memory = is_fill ? to : std::string(MemoryName(source)) + " to " + to;
      TransferTime& row =
          by_name.try_emplace({direction, memory}, TransferTime{direction, memory, 0, 0, 0}).first->second;
      row.count += time.count;
      AddWrapping(&row.total_ns, time.total_ns);
      AddWrapping(&row.size_bytes, time.size_bytes);
    }
    for (auto& entry : by_name) all->push_back(std::move(entry.second));
  }

  static void NumberPlaces(std::vector<KernelTime>* all) {
    std::vector<KernelTime*> rows;
    for (KernelTime& row : *all) rows.push_back(&row);
    std::ranges::sort(rows, [](const KernelTime* a, const KernelTime* b) { return a->place < b->place; });
    for (size_t i = 0; i < rows.size(); ++i) rows[i]->place = static_cast<int64_t>(i);
  }

  struct Kernel {
    bool is_graph = false;
    NameId name;
    uint32_t shape = kNone;
    uint32_t first = kNone;  // operation
    int64_t count = 0, total_ns = 0;
  };
  using TransferKey = std::tuple<size_t, trace::MemoryKind, trace::MemoryKind>;

  const Trace& trace_;
  bool is_first_ = true;
  int64_t busy_until_ns_ = 0, hidden_ns_ = 0;
  std::unordered_map<uint64_t, Kernel> kernels_;
  std::map<TransferKey, TransferTime> transfers_;
  std::unordered_map<uint32_t, PathTime> paths_;
};

void FillPaths(const Trace& trace, const IdleGroups& idle, std::unordered_map<uint32_t, PathTime>* paths,
               DeviceTime* device) {
  for (const auto& [key, share] : idle.by_path().all()) {
    (*paths)[idle.IsPath(key) ? key : 0].idle_ns += share.idle_ns;
  }
  for (auto& [path, time] : *paths) {
    time.path = trace.Text(NameId{path});
    device->paths.push_back(time);
  }
  std::ranges::sort(device->paths, {}, &PathTime::path);
}

int64_t RecordedNs(const RecordedTime& recorded, uint32_t device, int64_t from_ns, int64_t to_ns) {
  return from_ns < to_ns ? recorded.ForEachOfDevice(device, from_ns, to_ns, [](int64_t, int64_t) {}) : 0;
}

DeviceTime TimeOf(const AnalysisInput& input, uint32_t device, const Interval& span) {
  const Trace& trace = input.trace();
  DeviceTime time;
  time.device = DeviceScope(trace, device);
  IdleGroups idle(input, false);
  Operations operations(input, device);
  time.window_ns = input.shared().window_ns(device);
  ForEachIdleRun(input, device, [&](const IdleRun& run) {
    for (const Part& part : run.parts) time.idle_ns[static_cast<size_t>(part.cause)] += part.duration_ns;
    idle.Add(run);
  });
  operations.Fill(&time);
  FillPaths(trace, idle, &operations.paths(), &time);
  const Interval window = input.shared().gaps(device).window();
  time.before_ns = RecordedNs(input.shared().recorded(), device, span.start_ns, window.start_ns);
  time.after_ns = RecordedNs(input.shared().recorded(), device, window.end_ns, span.end_ns);
  time.unrecorded_ns = span.DurationNs() - time.before_ns - time.window_ns - time.after_ns;
  return time;
}

std::vector<RangeTime> RangesOf(const Trace& trace) {
  std::unordered_map<uint32_t, RangeTime> by_path;
  for (const NvtxRange& range : trace.ranges) {
    RangeTime& time = by_path[range.path.value];
    ++time.count;
    AddWrapping(&time.host_ns, range.DurationNs());
  }
  std::vector<RangeTime> ranges;
  for (auto& [path, time] : by_path) {
    time.path = trace.Text(NameId{path});
    ranges.push_back(std::move(time));
  }
  std::ranges::sort(ranges, {}, &RangeTime::path);
  return ranges;
}

std::vector<double> BlockMedians(const StepTimes& times) {
  constexpr size_t kBlocks = 10;
  if (times.count < kStepsToJudgeBy) return {};
  std::vector<int64_t> steady;
  for (const Iteration& step : times.iterations) {
    if (!step.is_warmup) steady.push_back(step.duration_ns);
  }
  std::vector<double> medians;
  for (size_t block = 0; block < kBlocks; ++block) {
    const std::span<int64_t> all(steady);
    const size_t first = steady.size() * block / kBlocks, last = steady.size() * (block + 1) / kBlocks;
    medians.push_back(Summarize(all.subspan(first, last - first)).median);
  }
  return medians;
}

std::optional<StepSums> StepsOf(const AnalysisInput& input, const std::string& step) {
  const std::optional<StepChoice> choice = FindStep(input, step);
  if (!choice) return std::nullopt;
  const StepTimes times = TimeSteps(input, *choice);
  if (times.known_count == 0) return std::nullopt;
  return StepSums{std::string(input.trace().Text(choice->path)),
                  times.known_count,
                  times.known_ns,
                  times.steady_median_ns,
                  times.total_parts_ns,
                  BlockMedians(times)};
}

template <class Rows, class F>
int64_t SumIf(const Rows& rows, F&& is_counted) {
  int64_t sum_ns = 0;
  for (const auto& row : rows) sum_ns += is_counted(row) ? row.total_ns : 0;
  return sum_ns;
}

}  // namespace

int64_t DeviceTime::IdleNs() const { return std::accumulate(idle_ns.begin(), idle_ns.end(), int64_t{0}); }
int64_t DeviceTime::KernelNs() const {
  return SumIf(kernels, [](const KernelTime& kernel) { return !kernel.IsGraph(); });
}
int64_t DeviceTime::GraphNs() const {
  return SumIf(kernels, [](const KernelTime& kernel) { return kernel.IsGraph(); });
}
int64_t DeviceTime::CopyNs() const {
  return SumIf(transfers, [](const TransferTime& transfer) { return !transfer.IsFill(); });
}
int64_t DeviceTime::FillNs() const {
  return SumIf(transfers, [](const TransferTime& transfer) { return transfer.IsFill(); });
}

Breakdown BreakDown(const AnalysisInput& input, const std::string& step) {
  const Trace& trace = input.trace();
  const Interval span = SpanOf(input);
  Breakdown breakdown;
  breakdown.is_known = true;
  breakdown.wall_ns = span.DurationNs();
  breakdown.launches = input.shared().calls().CountLaunches();
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    if (HasWindow(trace, device)) breakdown.devices.push_back(TimeOf(input, device, span));
  }
  breakdown.ranges = RangesOf(trace);
  breakdown.steps = StepsOf(input, step);
  return breakdown;
}

}  // namespace gprof
