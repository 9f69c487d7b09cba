// What several analyses derive from a trace, computed once for all of them (AnalysisInput).
//
// To add a fact: a member and its accessor here, and how it is made in shared_facts.cpp. It must follow from the trace
// alone, not from options.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/calls/code_loads.h"
#include "analysis/facts/call_facts.h"
#include "analysis/facts/lazy.h"
#include "analysis/facts/op_facts.h"
#include "analysis/facts/range_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/host/host_gaps.h"
#include "analysis/host/os_call_kinds.h"
#include "analysis/idle/causes/gap_causes.h"
#include "analysis/idle/causes/host_walk.h"
#include "analysis/idle/gaps/gap_list.h"
#include "analysis/idle/gaps/steady_time.h"
#include "analysis/kernels/kernel_groups.h"
#include "analysis/launches/kernel_launches.h"
#include "analysis/places/stack_lines.h"
#include "analysis/steps/step_finder.h"
#include "analysis/streams/stream_ops.h"
#include "analysis/trust/recorded_time.h"
#include "analysis/trust/recording_cost.h"
#include "gprof/trace.h"

namespace gprof {

class SharedFacts {
 public:
  explicit SharedFacts(const Trace& trace);

  // Worth starting for a trace of this size.
  size_t threads() const { return threads_; }
  const RecordedTime& recorded() const;
  const OpFacts& ops() const;
  const CallFacts& calls() const;
  const RangeFacts& ranges() const;
  const HostFacts& host() const;
  const KernelGroups& kernels() const;
  // Times of the kernels on the GPU, by group.
  const std::vector<Statistics>& kernel_times() const;
  const KernelLaunches& kernel_launches() const;
  const StreamOps& stream_ops() const;
  // Of the device, and of all of them (gaps.h): from the first to the last operation, less what was not recorded.
  int64_t window_ns(uint32_t device) const;
  int64_t window_ns() const;
  // Busy time of a device, with anything and with kernels; of all devices.
  const GapList::Busy& busy(uint32_t device) const { return gaps(device).busy(); }
  int64_t busy_ns() const;
  int64_t kernel_busy_ns() const;
  const GapList& gaps(uint32_t device) const;
  // Why the device was idle in each of its gaps; ForEachExplainedGap is how to read it.
  const GapCauses& gap_causes(uint32_t device) const;
  // `input` is that of this trace.
  const HostGaps& host_gaps(const AnalysisInput& input) const;
  const JudgedTime& judged(const AnalysisInput& input) const;
  const OsCallKinds& os_call_kinds() const;
  const CodeLoads& code_loads() const;
  // The range that stands for a step where nobody named one.
  const std::optional<StepChoice>& step() const;
  const RecordingCost& recording_cost() const;
  const PythonLines& python_lines() const;

 private:
  const Trace& trace_;
  size_t threads_;
  Lazy<RecordedTime> recorded_;
  Lazy<OpFacts> ops_;
  Lazy<CallFacts> calls_;
  Lazy<RangeFacts> ranges_;
  Lazy<HostFacts> host_;
  Lazy<KernelGroups> kernels_;
  Lazy<std::vector<Statistics>> kernel_times_;
  Lazy<KernelLaunches> kernel_launches_;
  Lazy<StreamOps> stream_ops_;
  std::vector<Lazy<GapList>> gaps_;          // by device
  std::vector<Lazy<GapCauses>> gap_causes_;  // by device
  Lazy<HostGaps> host_gaps_;
  Lazy<JudgedTime> judged_;
  Lazy<OsCallKinds> os_call_kinds_;
  Lazy<CodeLoads> code_loads_;
  Lazy<std::optional<StepChoice>> step_;
  Lazy<RecordingCost> recording_cost_;
  Lazy<PythonLines> python_lines_;
};

}  // namespace gprof
