// Rows that application threads write and the writer thread drains. One log a thread, one writer and one reader each, so
// a row costs a few stores and one release store; no lock, no system call, no memory of the target's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gprof/trace/record.h"
#include "pages.h"

namespace gprof::tracer {

enum class RowType : uint8_t { kApi = 1, kSync = 2, kStream = 3, kNvtx = 4 };

// Every row starts with this and is a multiple of eight bytes long.
struct RowHeader {
  RowType type;
  uint8_t flags;
  uint16_t words;  // length in 8-byte words, this header included
};

struct ApiRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t start, end;  // stamps
  int32_t result;
  uint16_t cbid;
  uint8_t domain;
  uint8_t is_unfinished;
};

// Follows the ApiRow of a synchronising call.
struct SyncRow {
  RowHeader header;
  uint32_t correlation;
  uint64_t start, end;
  uint64_t stream, event;  // handles
  uint32_t context;
  uint8_t kind;
  uint8_t has_stream;
  uint16_t unused;
};

struct StreamRow {
  RowHeader header;
  uint32_t context;
  uint64_t stamp, handle;
  uint32_t stream, unused;
};

// Flags of an NVTX row; the event (trace::NvtxEvent) is in the bits from kNvtxEventShift on.
inline constexpr uint8_t kHasAttributes = 1;
inline constexpr uint8_t kHasText = 2;
inline constexpr uint8_t kIsShort = 4;
inline constexpr int kNvtxEventShift = 4;

// A pop says no more than this: every byte of a row costs, because another core reads it.
struct NvtxShortRow {
  RowHeader header;
  uint32_t domain;
  uint64_t stamp;
};

// Then, as the flags say: NvtxAttributes, and text_bytes of text filled up to whole words.
struct NvtxRow {
  NvtxShortRow start;
  uint32_t message;     // string id, 0 with text or without a message
  uint32_t text_bytes;
};

struct NvtxAttributes {
  uint64_t range, payload;
  uint32_t category, color;
  uint32_t payload_type, unused;
};

struct Page {
  std::atomic<Page*> next;
  std::atomic<uint32_t> committed;  // bytes of whole rows
  uint32_t capacity;
  uint32_t index;                   // in the pool
  uint32_t unused;
  unsigned char* Data() { return reinterpret_cast<unsigned char*>(this + 1); }
};

enum class LogState : uint32_t { kFree, kLive, kEnded };

// The CUDA call that the thread is in; the writer thread reads it when the process ends inside a call.
struct OpenCall {
  std::atomic<uint64_t> start{0};  // 0: in none
  uint32_t correlation = 0;
  uint32_t nested = 0;             // driver calls within it, which are not recorded
  uint16_t cbid = 0;
  uint8_t domain = 0;
};

// A call in which another one began.
struct SetAsideCall {
  uint64_t start = 0;
  uint32_t correlation = 0;
  uint16_t cbid = 0;
  uint8_t domain = 0;
};

class ThreadLog {
 public:
  static constexpr uint32_t kDepthDomains = 32;  // NVTX domains whose nesting depth push and pop report

  // Room for a row of `bytes` (a multiple of 8); null when it must be dropped, which is counted. Commit() makes it
  // visible. Between the two nothing may call back into the target. [own thread]
  unsigned char* Reserve(uint32_t bytes) {
    if (__builtin_expect(is_busy_, 0)) return Refuse();
    is_busy_ = true;
    // From here to the end of Commit() a signal handler finds the log busy; the fences keep the compiler to it.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(write_used_ + bytes > write_page_->capacity, 0) && !NewPage(bytes)) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      is_busy_ = false;
      return Refuse();
    }
    return write_page_->Data() + write_used_;
  }
  void Commit(uint32_t bytes) {
    write_used_ += bytes;
    write_page_->committed.store(write_used_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_busy_ = false;
  }

  // The next whole row, null when there is none now. The row is valid until the next call. [writer thread]
  const RowHeader* Next();
  // Rows dropped since the last call. [writer thread]
  uint64_t TakeDropped();
  // Makes the log of an ended thread ready for another one. [writer thread, after Next() answered null]
  void Recycle();

  uint32_t tid = 0;
  uint32_t number = 0;                // of this log, never 0: the upper part of range ids
  uint32_t next_range = 0;
  int32_t depths[kDepthDomains] = {};
  OpenCall open_call;
  SetAsideCall set_aside;
  std::atomic<LogState> state{LogState::kFree};
  ThreadLog* next_log = nullptr;
  uint64_t last_nvtx_ns = 0;          // [writer thread]
  trace::StringId told_name{~0u};     // thread name last written to the trace [writer thread]

 private:
  friend ThreadLog* NewLog();
  unsigned char* Refuse();
  bool NewPage(uint32_t bytes);
  void Reset();

  bool is_busy_ = false;              // a row is being written: a signal handler's NVTX call must not tear it
  uint32_t write_used_ = 0;
  Page* write_page_ = nullptr;
  Page* read_page_ = nullptr;
  uint32_t read_at_ = 0;
  std::atomic<uint64_t> dropped_{0};
  uint64_t dropped_told_ = 0;
  Page* first_page_ = nullptr;        // small and for ever the log's own: most threads never need another
};

extern thread_local ThreadLog* own_log;

// The calling thread's log; null when recording is off or there is no memory. Never blocks.
ThreadLog* AcquireLog();
inline ThreadLog* OwnLog() {
  ThreadLog* log = own_log;
  return __builtin_expect(log != nullptr, 1) ? log : AcquireLog();
}

// All logs there ever were, newest first; they are never removed.
ThreadLog* FirstLog();
bool SetUpLogs();               // once for a process
void ResetLogsAfterFork();      // the child starts without logs
// Rows of threads that got no log at all.
uint64_t TakeRowsWithoutLog();

}  // namespace gprof::tracer
