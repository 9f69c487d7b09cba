// What became of the launches of each kernel: the calls, and how long the kernels were queued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/facts/operations/kernel_groups.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/result/statistics.h"
#include "gprof/trace.h"

namespace gprof {

class KernelLaunches {
 public:
  // Of calls and queues there are histograms where they are asked for.
  KernelLaunches(const Trace& trace, const OpFacts& ops, const KernelGroups& kernels,
                 Spread spread = Spread::kNotAsked);

  // By group: of the launching calls; a call that launches a graph counts for its first kernel alone.
  const Statistics& CallsOf(uint32_t group) const { return calls_[group]; }
  // By group: from the return of the call to the start, of the kernels that started after it.
  const Statistics& QueuedOf(uint32_t group) const { return queued_[group]; }
  // The first of those calls that a process made; kNone for none.
  uint32_t FirstCall(uint32_t process, uint32_t group) const { return first_calls_[process * groups_ + group]; }
  // What TimesOfKernels() would say, measured on the way. To be asked for once.
  std::vector<Statistics> TakeTimes() { return std::move(times_); }

 private:
  size_t groups_;
  std::vector<Statistics> calls_, queued_, times_;
  std::vector<uint32_t> first_calls_;  // by process and group
};

}  // namespace gprof
