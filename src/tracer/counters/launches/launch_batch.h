// Launches that are measured in one go. To begin and end measuring takes 40 ms (H200), a launch in between one: so one
// pass over many launches is begun once. All launches of the context that come in between are measured as well, and
// wait for their kernels.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/counters/profiler/range_session.h"
#include "tracer/counters/results/launch_records.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// All of it but the questions is called while the gate is closed.
class LaunchBatch {
 public:
  static constexpr uint32_t kMost = 128;

  // [any thread]
  bool IsOpen() const { return session_.load(std::memory_order_relaxed) != nullptr; }
  // Launches that are pending are as good as lost when the program is killed, so a batch is not open for long.
  // [any thread]
  bool IsOld() const;
  // To be asked for again and again is dearer than measuring one by one. [any thread]
  bool PaysOff() const { return !is_given_up_.load(std::memory_order_relaxed); }

  CUcontext context() const { return session_.load(std::memory_order_relaxed)->context(); }
  bool IsOf(const RangeSession* session) const { return session_.load(std::memory_order_relaxed) == session; }
  bool Open(RangeSession* session);
  // A launch ran, which is wanted or not.
  void Add(const MeasuredLaunch& launch, bool is_wanted);
  // Whether the next launch has its place in it.
  bool HasRoom(bool is_wanted) const;
  bool IsFull() const { return count_ >= kMost; }
  // Ends measuring, and hands on what was wanted.
  void Close();
  void ForgetAfterFork();

 private:
  // As many launches for nothing are as dear as to end and to begin again.
  static constexpr uint32_t kMostUnwanted = 20;

  struct Entry {
    MeasuredLaunch launch;
    bool is_wanted = false;
  };
  std::atomic<RangeSession*> session_{nullptr};
  std::atomic<uint64_t> opened_ns_{0};
  std::atomic<bool> is_given_up_{false};
  Entry entries_[kMost];
  uint32_t count_ = 0, unwanted_in_a_row_ = 0, short_batches_ = 0;
};

}  // namespace gprof::tracer
#endif
