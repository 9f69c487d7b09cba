// What NCCL's proxy threads send and receive through the network: one transfer for each operation, channel and
// direction, made of steps. All calls about a transfer come from the one thread that carries it out.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/store/log_rows.h"

namespace gprof::tracer {

// What the oldest step that is not done waits for.
enum class StepWait : uint8_t { kGpu, kPeer, kNetwork, kFlush, kNothing };
inline constexpr uint32_t kStepWaits = 4;  // those that are recorded

// What is known of a transfer when it begins. Of operations of other processes communicator, sequence and function are
// 0.
struct TransferDetails {
  uint64_t communicator = 0, sequence = 0;
  trace::StringId function;
  int32_t rank = 0, peer = 0;
  uint32_t channel = 0;
  bool is_send = false;
};

// NCCL has at most 8 steps of a transfer on their way, and they end in the order in which they began.
class alignas(64) Transfer {
 public:
  static constexpr uint32_t kStepsAtOnce = 16;

  // One of a fixed number, for whoever has work for it; null where all are taken.
  static Transfer* Take(const TransferDetails& details, uint64_t now);
  // How often there was none since this was asked last.
  static uint64_t TakeLost();
  // The transfer that a handle of NCCL is about; null for handles of other things.
  static Transfer* Of(void* handle);

  // What NCCL knows the transfer and its steps by: where it lies, and the last digits of the step.
  void* handle() { return this; }
  void* HandleOfStep(uint32_t step) { return reinterpret_cast<char*>(this) + kStepsAtOnce + step % kStepsAtOnce; }
  static bool IsOfStep(void* handle) { return (reinterpret_cast<uintptr_t>(handle) & kStepsAtOnce) != 0; }

  void BeginStep(uint32_t step, uint64_t now);
  void SetWait(void* handle_of_step, StepWait wait, uint64_t now);
  void AddBytes(uint64_t bytes) { size_bytes_ += bytes; }
  void EndStep(void* handle_of_step, uint64_t now);
  // Gives back a transfer that is done. Its row goes to `log`, null for none.
  void End(ThreadLog* log, uint64_t now);
  bool is_send() const { return details_.is_send; }

 private:
  uint32_t StepOf(void* handle_of_step) const;
  void GoOnTo(uint64_t now);

  std::atomic<bool> is_taken_{false};
  TransferDetails details_;
  uint64_t start_ = 0, now_ = 0;  // stamps
  uint64_t waits_[kStepWaits + 1] = {};
  uint64_t size_bytes_ = 0;
  uint32_t oldest_ = 0, next_ = 0;  // steps: the first one that is not done, the first one that has not begun
  StepWait of_steps_[kStepsAtOnce] = {};
};

void ConvertTransferRow(const RowHeader* row, const RowSource& source);

}  // namespace gprof::tracer
