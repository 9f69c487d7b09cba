// What one pass over all operations tells, so that analyses need not make a pass each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "gprof/trace.h"

namespace gprof {

class OpFacts {
 public:
  explicit OpFacts(const Trace& trace);

  // The outermost call that launched the operation; kNone where that is not known.
  uint32_t CallOf(const Operation& op) const {
    const uint32_t call = op.call();
    // Operations in a row were launched by calls in a row, as a rule.
    if (call != kNone) trace_.api_calls.PrefetchAfter(call);
    return OutermostCall(trace_, call);
  }
  uint32_t CallOf(uint32_t op) const { return CallOf(Operation(trace_.ops, op)); }
  // When that call began. Where it is not known: when the operation did.
  int64_t LaunchNs(const Operation& op) const {
    const uint32_t call = CallOf(op);
    return call == kNone ? op.start_ns() : Call(trace_.api_calls, call).start_ns();
  }
  int64_t LaunchNs(uint32_t op) const { return LaunchNs(Operation(trace_.ops, op)); }
  bool HasOp(uint32_t call) const { return has_op_[call] != 0; }  // of outermost calls

  // Sums over the operations that share their traits, by the number of those (PackedOps::TraitsIndex).
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

 private:
  static constexpr size_t kKinds = 5;
  class Shares;
  struct OfProcess {
    Interval window;
    uint32_t first = kNone;
  };

  void ReadOperations(Shares* of_threads);
  void ListRare(const Operation& op);
  void AddUp(Shares* of_processes);
  void ChooseDevices(const Shares& of_threads, const Shares& of_processes);
  size_t Slot(uint32_t process) const { return process < of_process_.size() ? process : of_process_.size() - 1; }

  const Trace& trace_;
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

// Indexes of operations by stream, those of one in the order of the trace, all in one vector.
class StreamOps {
 public:
  // `counts`: how many operations each stream has.
  StreamOps(const Trace& trace, const std::vector<uint32_t>& counts);
  std::span<const uint32_t> OpsOf(uint32_t stream) const {
    const size_t first = stream == 0 ? 0 : ends_[stream - 1];
    return std::span<const uint32_t>(ops_).subspan(first, ends_[stream] - first);
  }

 private:
  std::vector<size_t> ends_;
  std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> ops_;
};

}  // namespace gprof
