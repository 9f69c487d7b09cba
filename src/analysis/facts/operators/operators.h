// Operators of frameworks among the ranges of a trace: of --pytorch=ops and emit_nvtx(), and of torch.profiler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/operations/device_peaks.h"
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

// 10^12 operations per second with two decimals, and nothing where there are none or they took no time.
std::string TeraflopsText(int64_t flops, int64_t gpu_ns);

// Calls of one operator with inputs of the same sizes.
struct OperatorSum {
  std::string name, sizes, types, inputs;
  int64_t calls = 0;
  int64_t cpu_ns = 0, cpu_self_ns = 0;  // less the operators within
  int64_t gpu_ns = 0, gpu_self_ns = 0;  // of what was launched within it; not within an operator within
  int64_t kernels = 0;                  // and copies, within it and nothing within
  // What the allocators of PyTorch gave less what they took back, within it and also not within an operator within.
  int64_t cpu_memory_bytes = 0, cpu_memory_self_bytes = 0;
  int64_t gpu_memory_bytes = 0, gpu_memory_self_bytes = 0;
  int64_t flops = 0;        // of all calls; 0 where they are not known
  uint32_t device = kNone;  // of its last operation
  bool has_tf32 = false;    // a kernel has TF32 in its name
  // What it multiplies; kOther where that is not known.
  MathType math() const;
  // What floating-point operations of this kind take at the device's peak for the type; 0 where it is not known.
  double LeastNs(const Trace& trace, int64_t operations) const;
};

// Those of a trace, and which of its ranges they are.
struct Operators {
  explicit Operators(const AnalysisInput& input);

  bool empty() const { return sums.empty(); }
  // Those of one call of this range; 0 where a range around it has them: an operator that another is made of.
  int64_t FlopsOfRange(uint32_t range) const {
    return of_ranges[range] == kNone || is_counted_around[range] ? 0 : flops_of_call[of_ranges[range]];
  }

  // The range itself where it is an operator, else the innermost operator around it; kNone for none.
  uint32_t OperatorAround(const Trace& trace, uint32_t range) const;

  std::vector<OperatorSum> sums;
  std::vector<int64_t> flops_of_call;   // by operator
  std::vector<uint32_t> of_ranges;      // index into sums; kNone: it is no operator
  bool has_memory = false;              // what the allocators did was recorded
  std::vector<bool> is_counted_around;  // by range: it is within an operator with FLOPs
};

// The innermost push/pop range of a thread at that time; kNone for none.
uint32_t RangeAt(const Trace& trace, uint32_t thread, int64_t time_ns);

// Adds what the allocators did (operator_memory.cpp).
void AddMemory(const Trace& trace, Operators* operators);

// The sizes of tensors that the names of operators say.

using Dimensions = std::vector<int64_t>;

// Of "[[64, 32], [], [8]]".
std::vector<Dimensions> ReadSizes(std::string_view text);

// What the elements of the first input take; 0 where the name does not tell.
int64_t FirstInputBytes(const OperatorName& op);

}  // namespace gprof
