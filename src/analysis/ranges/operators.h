// Operators of frameworks among the ranges of a trace: of --pytorch=ops and emit_nvtx(), and of torch.profiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/device_peaks.h"
#include "gprof/analysis.h"

namespace gprof {

// What the name of a range says of an operator: "aten::mm, op_id = 3, sizes = [[64, 32], [32, 8]]".
struct OperatorName {
  std::string_view name{};   // empty: it is no operator
  std::string_view sizes{};  // "[[64, 32], [32, 8]]", empty where it says none
  // Those of torch.profiler say these as well: "[float, float]", and for convolutions "[, , , [2, 2], [1, 1], …]".
  std::string_view types{}, inputs{};
};
OperatorName ReadOperatorName(std::string_view range_name, std::string_view domain);

// Floating-point operations of one call, by the formulas of torch.utils.flop_counter; 0 where sizes alone do not tell.
int64_t FlopsOf(const OperatorName& op);

// Calls of one operator with inputs of the same sizes.
struct OperatorSum {
  std::string name, sizes, types, inputs;
  int64_t calls = 0;
  int64_t cpu_ns = 0, cpu_self_ns = 0;  // less the operators within
  int64_t gpu_ns = 0, gpu_self_ns = 0;  // of what was launched within it; not within an operator within
  int64_t kernels = 0;                  // and copies, within it and nothing within
  int64_t flops = 0;                    // of all calls; 0 where they are not known
  uint32_t device = kNone;              // of its last operation
  bool has_tf32 = false;                // a kernel has TF32 in its name
  // What it multiplies; kOther where that is not known.
  MathType math() const;
  // Its operations by GPU time in percent of the device's peak for the type; 0 where it is not known.
  double PeakPercent(const Trace& trace) const;
};

// The most GPU time of its own first.
std::vector<OperatorSum> SumOperators(const AnalysisInput& input);

}  // namespace gprof
