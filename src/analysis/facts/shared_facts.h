// What several analyses derive from a trace, computed once for all of them (AnalysisInput).
//
// To add a fact: a member and its accessor here, and how it is made in shared_facts.cpp. It must follow from the trace
// alone, not from options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/lazy.h"
#include "analysis/facts/operations/kernel_groups.h"
#include "analysis/facts/operations/kernel_launches.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/operations/range_facts.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/rates/kernel_rates.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/facts/time/recorded_time.h"
#include "analysis/result/statistics.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

class SharedFacts {
 public:
  explicit SharedFacts(const Trace& trace);

  // Worth starting for a trace of this size.
  size_t threads() const { return threads_; }
  const RecordedTime& recorded() const { return recorded_.Get(trace_); }
  const OpFacts& ops() const { return ops_.Get(trace_); }
  const CallFacts& calls() const { return calls_.Get(trace_); }
  const RangeFacts& ranges() const { return ranges_.Get(trace_); }
  const HostFacts& host() const;
  const KernelGroups& kernels() const { return kernels_.Get(trace_, ops().kernels_of_name()); }
  // Times of the kernels on the GPU, by group.
  const std::vector<Statistics>& kernel_times() const;
  const KernelLaunches& kernel_launches() const;
  const StreamOps& stream_ops() const { return stream_ops_.Get(trace_, ops().counts_of_streams()); }
  // Of the device, and of all of them (gaps.h): from the first to the last operation, less what was not recorded.
  int64_t window_ns(uint32_t device) const;
  int64_t window_ns() const;
  // Busy time of a device, with anything and with kernels; of all devices.
  const GapList::Busy& busy(uint32_t device) const { return gaps(device).busy(); }
  int64_t busy_ns() const;
  int64_t kernel_busy_ns() const;
  const GapList& gaps(uint32_t device) const { return gaps_[device].Get(trace_, recorded(), device); }
  // What kernels of the device did, by counters that were sampled; nothing where none were.
  const KernelRates& kernel_rates(uint32_t device) const;
  // `input` is that of this trace.
  const JudgedTime& judged(const AnalysisInput& input) const { return judged_.Get(input); }
  const OsCallKinds& os_call_kinds() const { return os_call_kinds_.Get(trace_); }
  const CodeLoads& code_loads() const { return code_loads_.Get(trace_, calls()); }
  // The range that stands for a step where nobody named one.
  const std::optional<StepChoice>& step() const;
  const RecordingCost& recording_cost() const;
  const PythonLines& python_lines() const { return python_lines_.Get(trace_); }

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
  std::vector<Lazy<GapList>> gaps_;              // by device
  std::vector<Lazy<KernelRates>> kernel_rates_;  // by device
  Lazy<JudgedTime> judged_;
  Lazy<OsCallKinds> os_call_kinds_;
  Lazy<CodeLoads> code_loads_;
  Lazy<std::optional<StepChoice>> step_;
  Lazy<RecordingCost> recording_cost_;
  Lazy<PythonLines> python_lines_;
};

// The range that stands for a step (step_finder.h); `wanted` is its path or name, and empty to look for one.
std::optional<StepChoice> FindStep(const AnalysisInput& input, const std::string& wanted);

// Calls each of them: side by side where the trace is large and the machine has more cores than analyses alone would
// keep busy, one after the other elsewhere, as what runs side by side needs its memory at the same time. `threads` is
// SharedFacts::threads().
void RunSideBySide(size_t threads, const std::vector<std::function<void()>>& parts);

}  // namespace gprof
