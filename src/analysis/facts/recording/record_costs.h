// What recording one operation costs: as it was measured on the machine of the run (doctor --calibrate), else
// elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "gprof/trace.h"

namespace gprof {

// What an operation takes longer: for its thread, in a tight loop and where caches are cold, and on the GPU.
struct OperationCosts {
  int64_t call_ns = 0, cold_call_ns = 0, gpu_ns = 0;
};

struct RecordCosts {
  std::array<OperationCosts, trace::kRecordedOperations> of_operation;
  int64_t mark_ns = 0;
  int64_t memory_record_ns = 0;      // more, where allocations are recorded
  int64_t calibrated_unix_s = 0;     // 0: measured elsewhere
  int64_t launch_on_threads_ns = 0;  // of the time of all threads that launch at once; where calibrated
  bool IsCalibrated() const { return calibrated_unix_s != 0; }

  const OperationCosts& Of(trace::RecordedOperation operation) const {
    return of_operation[static_cast<std::size_t>(operation)];
  }
  const OperationCosts& Of(ApiClass api_class) const;
  const OperationCosts& Of(OpKind kind, bool is_graph_node) const;
};

RecordCosts MeasuredElsewhere();
// By process.
std::vector<RecordCosts> CostsOfProcesses(const Trace& trace);

// Which of the cost of recording shows in a run: a launch that finds its stream with work for a while
// may take longer without delaying anything, while what recording adds on the GPU then delays all that is behind it.

struct HiddenCost {
  int64_t operations = 0;
  int64_t starved = 0;                   // of them, those whose stream had run out of work when their call returned
  int64_t queued = 0;                    // and those whose stream had work for long after it
  double gpu_ns = 0, queued_gpu_ns = 0;  // that recording adds on the GPU: to all, and to those queued
  double StarvedShare() const { return operations == 0 ? 1 : Share(starved); }
  double NotQueuedShare() const { return operations == 0 ? 1 : Share(operations - queued); }

 private:
  double Share(int64_t count) const { return static_cast<double>(count) / static_cast<double>(operations); }
};

// By process; empty where none was recorded on a machine that is calibrated, as nothing needs it then.
std::vector<HiddenCost> FindHiddenCost(const Trace& trace, const OpFacts& ops, const std::vector<RecordCosts>& costs);

}  // namespace gprof
