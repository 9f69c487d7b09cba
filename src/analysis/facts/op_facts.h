// What one pass over all operations tells, so that analyses need not make a pass each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/facts/op_sweep.h"
#include "analysis/idle/interruptions.h"
#include "gprof/trace.h"

namespace gprof {

class OpFacts {
 public:
  explicit OpFacts(const Trace& trace, size_t threads = 1);
  OpFacts(OpFacts&&) = default;  // not copied: others refer to what it holds

  // The outermost call that launched the operation; kNone where that is not known.
  uint32_t CallOf(uint32_t op) const { return calls_.empty() ? trace_.ops[op].api : calls_[op]; }
  // The same where the item of the operation is at hand.
  uint32_t CallOf(uint32_t op, const PackedOps::Item& item) const {
    return calls_.empty() ? item.CallOrNone() : calls_[op];
  }
  // Some are launched by calls that other calls made.
  bool HasInnerCalls() const { return !calls_.empty(); }
  // When that call began. Where it is not known: when the operation did.
  int64_t LaunchNs(uint32_t op) const {
    const uint32_t before_ns = launched_before_ns_[op];
    return before_ns != OpSweep::kFar ? trace_.ops[op].start_ns - before_ns : trace_.api_calls[CallOf(op)].start_ns;
  }
  int64_t LaunchNs(uint32_t op, const PackedOps::Item& item) const {
    const uint32_t before_ns = launched_before_ns_[op];
    return before_ns != OpSweep::kFar ? item.start_ns() - before_ns : LaunchNs(op);
  }
  bool HasOp(uint32_t call) const { return has_op_[call] != 0; }  // of outermost calls

  // Sums over the operations that share their facts, by the number of those (PackedOps::FactsIndex).
  struct Sum {
    int64_t count = 0, time_ns = 0;
    int64_t share_ns = 0;    // the same time, of operations without any 1 ns
    Interval window;         // from the first start to the last end
    uint32_t first = kNone;  // the first of those that started first
  };
  const std::vector<Sum>& sums() const { return sums_; }

  int64_t Count(OpKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  const std::vector<int64_t>& kernels_of_name() const { return kernels_of_name_; }  // by NameId
  const std::vector<uint32_t>& counts_of_streams() const { return counts_of_streams_; }
  // Few as a rule, in order of the trace.
  const std::vector<uint32_t>& transfers() const { return transfers_; }  // copies and fills
  const std::vector<uint32_t>& graph_ops() const {
    return graph_ops_;
  }  // graphs as a whole, and what ran within graphs

  // From the first start to the last end of the operations of a process (kNone: of none); of all. Without any the start
  // is INT64_MAX.
  const Interval& WindowOf(uint32_t process) const { return of_process_[Slot(process)].window; }
  const Interval& window() const { return window_; }
  uint32_t FirstOf(uint32_t process) const { return of_process_[Slot(process)].first; }  // kNone for none
  // By thread the device that it launched most GPU time on; a thread that launched nothing has that of its process, and
  // kNone where the process used none.
  const std::vector<uint32_t>& devices_of_threads() const { return devices_of_threads_; }

  // For GapList and GapCauses, which say what it means: idle time before each operation, and its plain causes.
  const DeviceSweep& of_device(uint32_t device) const { return devices_[device]; }
  const uint32_t* idle_ns() const { return idle_ns_.data(); }
  const Holdups& holdups() const { return holdups_; }

 private:
  static constexpr size_t kKinds = 5;
  class Shares;
  struct OfProcess {
    Interval window;
    uint32_t first = kNone;
  };

  void Take(const OpSweep::Sums& sums, Shares* of_threads);
  void FindOutermostCalls();
  void AddUp(Shares* of_processes);
  void ChooseDevices(const Shares& of_threads, const Shares& of_processes);
  size_t Slot(uint32_t process) const { return process < of_process_.size() ? process : of_process_.size() - 1; }

  const Trace& trace_;
  Holdups holdups_;
  std::vector<uint32_t> calls_;  // empty where every operation names its outermost call
  OpSweep::Unwritten<uint32_t> launched_before_ns_, idle_ns_;
  std::vector<DeviceSweep> devices_;
  std::vector<uint8_t> has_op_;  // by call
  std::vector<Sum> sums_;
  std::array<int64_t, kKinds> counts_{};
  std::vector<int64_t> kernels_of_name_;
  std::vector<uint32_t> counts_of_streams_;
  std::vector<uint32_t> transfers_, graph_ops_;
  std::vector<OfProcess> of_process_;  // and of none
  Interval window_;
  std::vector<uint32_t> devices_of_threads_;
};

}  // namespace gprof
