// Rows that application threads write and the writer thread drains. One log a thread, one writer and one reader each,
// so a row costs a few stores and one release store; no lock, no system call, no memory of the target's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gprof/trace/record.h"
#include "tracer/store/log_rows.h"
#include "tracer/store/memory/cache_hints.h"
#include "tracer/store/memory/page_pool.h"
#include "tracer/store/name_cache.h"

namespace gprof::tracer {

// What the writer thread writes lies in lines of its own, here and in the log: a line that two cores write costs more
// than the row.
struct Page {
  std::atomic<Page*> next;
  std::atomic<uint32_t> committed;  // bytes of whole rows
  uint32_t capacity;
  uint32_t index;                        // in the pool
  alignas(kLineBytes) uint32_t read_at;  // bytes that have become records [writer thread]
  unsigned char* Data() { return reinterpret_cast<unsigned char*>(this + 1); }
};

enum class LogState : uint32_t { kFree, kLive, kEnded };

// The CUDA call that the thread is in; the writer thread reads it when the process ends inside a call.
struct OpenCall {
  std::atomic<uint64_t> start{0};  // 0: in none
  uint32_t correlation = 0;
  uint32_t nested = 0;  // driver calls within it, which are not recorded
  uint16_t cbid = 0;
  uint8_t domain = 0;
  uint32_t stack = 0;
  uint32_t pauses_before = kNever;  // its capture (cupti/activity/pauses.h)
  uint32_t in_window = 0;           // correlation of the last call that was entered within a capture
  bool is_of_base = false;          // entered outside of one
  static constexpr uint32_t kNever = ~0u;
};

// The CUDA functions whose callbacks said that the thread is within them, outermost first
// (cupti/calls/callback_switches.h).
struct EnteredFunctions {
  static constexpr uint32_t kDepth = 8;  // of those that are told
  std::atomic<uint32_t> functions[kDepth] = {};
  uint32_t depth = 0;
};

// The call of libc that the thread is in (osrt); the same, and who salvages reads it.
struct OpenOsCall {
  std::atomic<uint64_t> start{0};  // 0: in none
  uint64_t first_argument = 0;
  uint8_t function = 0;
};

// The same of MPI.
struct OpenMpiCall {
  std::atomic<uint64_t> start{0};  // 0: in none
  uint8_t function = 0;
};

// A call in which another one began.
struct SetAsideCall {
  uint64_t start = 0;
  uint32_t correlation = 0;
  uint16_t cbid = 0;
  uint8_t domain = 0;
  uint32_t stack = 0;
  bool is_of_base = false;
};

// The outermost range of the name that captures go by (nvtx/range_triggers.h), as far as one thread has it open.
struct WatchedRange {
  uint32_t domain = 0;
  uint32_t nested = 0;  // ranges of the domain within it
  bool is_open = false;
};

struct RangeStack;  // open_ranges.h

// Calls of the function that is counted (core/work_count.h), in the count with this number.
struct CountedCalls {
  std::atomic<uint32_t> count{0}, calls{0};
  std::atomic<uint64_t> first{0}, last{0};  // stamps
};

// What the writer thread keeps of a log's NVTX rows, which say when by the difference to the last whole stamp.
struct NvtxTimes {
  uint64_t last_ns = 0;  // times of a thread never go back
  uint64_t base = 0;     // the last whole stamp
};
inline constexpr uint64_t kNoBase = 1ull << 63;  // no stamp is near it

class ThreadLog {
 public:
  static constexpr uint32_t kAheadBytes = 1024;  // of the row being written, memory is fetched
  static constexpr uint32_t kDepthDomains = 32;  // NVTX domains whose nesting depth push and pop report

  // Room for a row of `bytes` (a multiple of 8); null when it must be dropped, which is counted. Commit() makes it
  // visible. Between the two nothing may call back into the target. [own thread]
  unsigned char* Reserve(uint32_t bytes) {
    unsigned char* at = ReserveHere(bytes);
    return __builtin_expect(at != nullptr, 1) ? at : ReserveElsewhere(bytes);
  }
  // The same within the page that is being written; null, and nothing is counted, when that has no room. [own thread]
  unsigned char* ReserveHere(uint32_t bytes) {
    if (__builtin_expect(is_busy_, 0)) return nullptr;
    is_busy_ = true;
    // From here to the end of Commit() a signal handler finds the log busy; the fences keep the compiler to it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(write_used_ + bytes > write_page_->capacity, 0)) {
      is_busy_ = false;
      return nullptr;
    }
    unsigned char* at = write_page_->Data() + write_used_;
    PrepareToWrite(at + kAheadBytes);
    return at;
  }
  void Commit(uint32_t bytes) {
    write_used_ += bytes;
    write_page_->committed.store(write_used_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_busy_ = false;
  }

  // The next whole row, null when there is none now; the same again until its cursor is moved on. [writer thread]
  const RowHeader* Next(Cursor* cursor);
  // Rows dropped since the last call. [writer thread]
  uint64_t TakeDropped();
  uint64_t TakeDroppedInHandlers();
  // Makes the log of an ended thread ready for another one. [writer thread, after Next() answered null]
  void Recycle();

  uint32_t tid = 0;
  uint32_t number = 0;  // of this log, never 0: the upper part of range ids
  uint32_t next_range = 0;
  OpenCall open_call;
  SetAsideCall set_aside;
  EnteredFunctions entered;
  OpenOsCall open_os_call;
  OpenMpiCall open_mpi_call;
  CountedCalls counted;
  WatchedRange watched;
  uint64_t nvtx_base = kNoBase;  // of the stamps of NVTX rows
  int32_t depths[kDepthDomains] = {};
  // What its threads know of theirs: private memory, of no use to anybody else.
  void *python_stacks = nullptr, *native_stacks = nullptr;
  void* open_functions = nullptr;  // of PyTorch
  RangeStack* open_ranges = nullptr;
  trace::StringId place;  // that the program told it is at (places/place_calls.h)
  std::atomic<LogState> state{LogState::kFree};
  std::atomic<bool> is_told_of_end{true};  // false: the end of its thread has to be looked for
  ThreadLog* next_log = nullptr;

 private:
  friend ThreadLog* NewLog();
  friend bool IsReadable(const ThreadLog* log);
  unsigned char* ReserveElsewhere(uint32_t bytes);
  static unsigned char* Refuse(std::atomic<uint64_t>* counter);
  bool NewPage(uint32_t bytes);
  void Reset();

  bool is_busy_ = false;  // a row is being written: a signal handler's NVTX call must not tear it
  uint32_t write_used_ = 0;
  Page* write_page_ = nullptr;
  std::atomic<uint64_t> dropped_{0}, dropped_in_handlers_{0};
  Page* first_page_ = nullptr;  // small and for ever the log's own: most threads never need another

 public:
  NameCache names;
  alignas(kLineBytes) NvtxTimes nvtx;  // [writer thread, as all that follows]
  trace::StringId told_name{~0u};      // thread name last written to the trace

 private:
  Page* read_page_ = nullptr;
  uint64_t dropped_told_ = 0, dropped_in_handlers_told_ = 0;
};

extern constinit thread_local ThreadLog* own_log;

// The calling thread's log; null when recording is off or there is no memory. Never blocks.
ThreadLog* AcquireLog();
inline ThreadLog* OwnLog() {
  ThreadLog* log = own_log;
  return __builtin_expect(log != nullptr, 1) ? log : AcquireLog();
}

// The same within a function of libc that the program called: nothing is started, and where `has_locks`, the caller may
// be an allocator that waits for nobody but us, so that no memory is asked for.
ThreadLog* AcquireLogWithinCall(bool has_locks);
// Of a live log: notes that its thread has ended, where nothing else does. [writer thread]
void EndLogOfGoneThread(ThreadLog* log);

// A row of fixed size; false: dropped, which is counted, as there is no room. [own thread]
template <class Row>
bool Append(ThreadLog* log, const Row& row) {
  unsigned char* const at = log->Reserve(sizeof row);
  if (at == nullptr) return false;
  std::memcpy(at, &row, sizeof row);
  log->Commit(sizeof row);
  return true;
}

// In salvage: whether the log is whole enough to be read.
bool IsReadable(const ThreadLog* log);
// Whether the thread has called CUDA or NVTX. Others have a log when they waited long in the operating system.
inline bool HasLaunched(const ThreadLog& log) {
  return log.open_call.pauses_before != OpenCall::kNever || log.nvtx_base != kNoBase;
}
// Tells collectors outside of such a thread.
void PublishThread(const ThreadLog& log);

// All logs there ever were, newest first; they are never removed.
ThreadLog* FirstLog();
template <class F>
void ForEachLog(F&& f) {
  for (ThreadLog* log = FirstLog(); log != nullptr && IsReadable(log); log = log->next_log) f(log);
}
bool HasOtherLiveLogs();    // other threads than the calling one may be writing rows
bool SetUpLogs();           // once for a process
void LeaveLogAfterFork();   // [child of a fork] the log is the parent's
void ResetLogsAfterFork();  // the child starts without logs
// Rows of threads that got no log at all.
uint64_t TakeRowsWithoutLog();

}  // namespace gprof::tracer
