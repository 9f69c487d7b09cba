// Events of the kernel about threads: samples of what they run, and when they leave a processor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/run/collector_options.h"
#include "unwind/registers.h"

namespace gprof {

struct PerfWish {
  bool samples = true, switches = true;
  int64_t period_ns = 1'000'000;  // of CPU time
  CpuBacktrace backtrace = CpuBacktrace::kTables;
  uint32_t stack_bytes = 8192;
  bool wakes = false;     // whoever waits for the event, with every sample
  bool of_kernel = true;  // also while the kernel works for the thread, which needs a right
};

// The thread, on a processor or on any (-1), and where `inherits` what it starts. -1 with errno.
int OpenPerfEvent(const PerfWish& wish, pid_t tid, int cpu, bool inherits);

// Whether this process may look at itself, as what a wish asks for at the most: 0, or an errno value. Sets `of_kernel`
// as it may.
int TryPerfEvents(PerfWish* wish);
// Why not, in words, and what would change that.
struct PerfRefusal {
  std::string why, advice;
};
PerfRefusal WhyRefused(int error, int paranoid_level);
// kernel.perf_event_paranoid; 2 where it cannot be read.
int PerfParanoidLevel();

// A sample, good until its visitor returns.
struct PerfSample {
  pid_t pid = 0, tid = 0;
  int64_t time_ns = 0, weight_ns = 0;
  uint32_t cpu = 0;
  Registers registers;  // nothing is known where the thread had none of its own: it was ending
  StackCopy stack;
  bool is_waiting = false;        // the thread is where it was, so that what its Python runs is of the same moment
  std::vector<uint64_t> callers;  // with frame pointers: addresses, the innermost first
};

struct PerfSwitch {
  pid_t pid = 0, tid = 0;
  int64_t time_ns = 0;
  uint32_t cpu = 0;
  bool is_out = false, is_preempted = false;
};

struct PerfVisitor {
  std::function<void(const PerfSample& sample)> sample;
  std::function<void(const PerfSwitch& change)> change;
  std::function<void(pid_t pid)> new_code;  // was mapped
  uint64_t lost = 0;                        // records that had no room
  uint64_t throttled = 0;                   // times that the kernel stopped an event for a while
};

// The memory that the kernel writes them into.
class PerfRing {
 public:
  // Of an event, which it takes. Null, with errno, where there is no memory for it.
  static std::unique_ptr<PerfRing> Make(int event, std::size_t bytes, const PerfWish& wish);
  ~PerfRing();
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;

  int event() const { return event_; }
  void Drain(PerfVisitor* visitor);

 private:
  PerfRing(int event, void* mapped, std::size_t bytes, const PerfWish& wish)
      : event_(event), mapped_(mapped), bytes_(bytes), wish_(wish) {}
  void Visit(uint32_t type, uint16_t misc, Bytes body, PerfVisitor* visitor);
  void VisitSample(ByteReader reader, PerfVisitor* visitor);

  int event_;
  void* mapped_;
  std::size_t bytes_;
  PerfWish wish_;
  PerfSample sample_;
  std::vector<unsigned char> folded_;  // a record that begins at the end of the ring
};

}  // namespace gprof
