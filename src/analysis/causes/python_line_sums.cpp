#include "analysis/causes/python_line_sums.h"

#include <algorithm>
#include <optional>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

class LineSums {
 public:
  explicit LineSums(const AnalysisInput& input)
      : input_(input), trace_(input.trace()), lines_(input.shared().python_lines()), sums_(lines_.all().size() + 1) {
    const std::optional<SteadyTime>& steady = input.shared().judged(input).steady;
    if (steady) judged_ = steady->time;
  }

  std::vector<PythonLineSum> Take() {
    AddOperations();
    AddCalls();
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) AddIdle(device);
    return std::move(sums_);
  }

 private:
  PythonLineSum& Of(uint32_t call) {
    const uint32_t line = lines_.LineOfCall(call);
    return line == kNone ? sums_.back() : sums_[line];
  }

  void AddOperations() {
    for (const Operation op : OperationsOf(trace_)) {
      PythonLineSum& sum = Of(op.call());
      const PackedOps::Traits& traits = op.shared();
      const int64_t ns = op.duration_ns();
      ++sum.operations, sum.gpu_ns += ns;
      if (op.is_kernel()) ++sum.kernels, sum.kernel_ns += ns;
      if (traits.kind != OpKind::kMemcpy && traits.kind != OpKind::kPeerCopy) continue;
      ++sum.copies, sum.copy_ns += ns;
      const bool is_pageable = traits.source_memory == trace::MemoryKind::kPageable ||
                               traits.destination_memory == trace::MemoryKind::kPageable;
      if (is_pageable) ++sum.pageable, sum.pageable_ns += ns;
    }
  }

  void AddCalls() {
    const std::vector<CallFacts::Sum>& of_traits = input_.shared().calls().sums();
    for (uint32_t i = 0; i < of_traits.size(); ++i) {
      const PackedCalls::Traits& traits = trace_.api_calls.TraitsAt(i);
      const uint32_t line = lines_.LineOf(traits.stack);
      PythonLineSum& sum = line == kNone ? sums_.back() : sums_[line];
      const auto& [count, total_ns, start_ns, end_ns, first] = of_traits[i];
      sum.calls += count, sum.call_ns += total_ns;
      if (traits.api_class == ApiClass::kSync) sum.waits += count, sum.wait_ns += total_ns, sum.sync_ns += total_ns;
      if (traits.api_class == ApiClass::kMemory) sum.memory_calls += count, sum.memory_ns += total_ns;
    }
    const std::vector<uint8_t>& blocking = input_.shared().host().blocking_copies;
    for (const uint32_t call : input_.shared().calls().rare()) {
      if (blocking[call] == 0) continue;
      PythonLineSum& sum = Of(call);
      ++sum.waits, sum.wait_ns += trace_.api_calls[call].DurationNs();
    }
  }

  void AddIdle(uint32_t device) {
    ForEachExplainedGap(input_, device, [&](const Gap& gap, std::span<const Part> parts) {
      const uint32_t next = gap.after == kNone ? kNone : input_.shared().ops().CallOf(gap.after);
      ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
        const uint32_t call = part.call() != kNone ? part.call() : next;
        PythonLineSum& sum = call == kNone ? sums_.back() : Of(call);
        sum.idle[part.cause] += end_ns - start_ns;
        sum.judged_idle[part.cause] += OverlapNs(judged_, Interval{start_ns, end_ns});
      });
    });
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const PythonLines& lines_;
  Interval judged_{INT64_MIN, INT64_MAX};
  std::vector<PythonLineSum> sums_;
};

}  // namespace

std::vector<PythonLineSum> SumByPythonLine(const AnalysisInput& input) {
  return input.shared().python_lines().HasCalls() ? LineSums(input).Take() : std::vector<PythonLineSum>();
}

}  // namespace gprof
