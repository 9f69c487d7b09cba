#include "analysis/facts/shared_facts.h"

#include "analysis/facts/side_by_side.h"
#include "analysis/idle/gaps/gaps.h"
#include "analysis/result/kept_results.h"
#include "base/machine/parallel.h"
#include "gprof/analysis.h"

namespace gprof {

namespace {

size_t ThreadsFor(const Trace& trace) {
  constexpr size_t kWorthThreads = 200'000;  // operations, calls and ranges
  return trace.ops.size() + trace.api_calls.size() + trace.ranges.size() < kWorthThreads ? 1 : UsableCores();
}

}  // namespace

AnalysisInput::AnalysisInput(const Trace& trace) : trace_(&trace), shared_(std::make_shared<SharedFacts>(trace)) {}

SharedFacts::SharedFacts(const Trace& trace)
    : trace_(trace),
      threads_(ThreadsFor(trace)),
      gaps_(trace.device_ops.size()),
      gap_causes_(trace.device_ops.size()) {}

const RecordedTime& SharedFacts::recorded() const {
  return recorded_.Get([&] { return RecordedTime(trace_); });
}

const PythonLines& SharedFacts::python_lines() const {
  return python_lines_.Get([&] { return PythonLines(trace_); });
}

const OpFacts& SharedFacts::ops() const {
  return ops_.Get([&] { return OpFacts(trace_); });
}

const CallFacts& SharedFacts::calls() const {
  return calls_.Get([&] { return CallFacts(trace_); });
}

const RangeFacts& SharedFacts::ranges() const {
  return ranges_.Get([&] { return RangeFacts(trace_); });
}

const HostFacts& SharedFacts::host() const {
  return host_.Get([&] {
    RunSideBySide(threads_, {[&] { (void)stream_ops(); }, [&] { (void)calls(); }});
    return HostFacts(trace_, ops(), calls(), stream_ops());
  });
}

const KernelGroups& SharedFacts::kernels() const {
  return kernels_.Get([&] { return KernelGroups(trace_, ops().kernels_of_name()); });
}

const std::vector<Statistics>& SharedFacts::kernel_times() const {
  return kernel_times_.Get([&] { return TimesOfKernels(trace_, kernels()); });
}

const KernelLaunches& SharedFacts::kernel_launches() const {
  return kernel_launches_.Get([&] {
    KernelLaunches launches(trace_, ops(), kernels());
    (void)kernel_times_.Get([&] { return launches.TakeTimes(); });
    return launches;
  });
}

const StreamOps& SharedFacts::stream_ops() const {
  return stream_ops_.Get([&] { return StreamOps(trace_, ops().counts_of_streams()); });
}

int64_t SharedFacts::busy_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += busy(i).any.busy_ns();
  return sum_ns;
}

int64_t SharedFacts::kernel_busy_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += busy(i).kernels.busy_ns();
  return sum_ns;
}

const GapList& SharedFacts::gaps(uint32_t device) const {
  return gaps_[device].Get([&] { return GapList(trace_, recorded(), device); });
}

int64_t SharedFacts::window_ns(uint32_t device) const { return gaps(device).window_ns(); }

int64_t SharedFacts::window_ns() const {
  int64_t sum_ns = 0;
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) sum_ns += window_ns(i);
  return sum_ns;
}

const GapCauses& SharedFacts::gap_causes(uint32_t device) const {
  return gap_causes_[device].Get([&] { return GapCauses(trace_, host(), recorded(), ops(), gaps(device), threads_); });
}

const JudgedTime& SharedFacts::judged(const AnalysisInput& input) const {
  return judged_.Get([&] { return JudgedTime(input); });
}

const OsCallKinds& SharedFacts::os_call_kinds() const {
  return os_call_kinds_.Get([&] { return OsCallKinds(trace_); });
}

const CodeLoads& SharedFacts::code_loads() const {
  return code_loads_.Get([&] { return CodeLoads(trace_, calls()); });
}

const HostGaps& SharedFacts::host_gaps(const AnalysisInput& input) const {
  return host_gaps_.Get([&] { return HostGaps(input); });
}

const std::optional<StepChoice>& SharedFacts::step() const {
  return step_.Get([&] { return FindStepUnnamed(trace_, ops(), ranges()); });
}

const RecordingCost& SharedFacts::recording_cost() const {
  if (trace_.kept != nullptr) return trace_.kept->cost;
  return recording_cost_.Get([&] { return EstimateRecordingCost(trace_, ops(), calls(), ranges()); });
}

}  // namespace gprof
