// The state of the libcupti double: who subscribed to what, which kinds are on, and the buffers on their way.
#pragma once

#include <cupti.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "cupti_layout.h"
#include "hub.h"

namespace mock {

inline constexpr size_t kCanaryBytes = 32;
inline constexpr uint32_t kFutureKind = 60;  // MOCK_UNKNOWN_KIND: a kind that no tracer of today knows
inline constexpr uint32_t kFutureStride = 64;

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0, max_records = 0, records = 0;
};

// A record that is not complete before the virtual device has reached `ready_ns`.
struct Pending {
  uint64_t ready_ns;
  Buffer* owner;
  uint32_t size, start_offset;
  alignas(8) unsigned char bytes[216];
};

struct Session {
  std::mutex mutex;
  std::atomic<int> pid{0};
  std::atomic<const Hub*> hub{nullptr};
  std::atomic<bool> is_dead{false};  // after a fatal error CUPTI has finalized itself

  std::atomic<bool> is_subscribed{false};
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
  std::atomic<uint8_t> callbacks[7][1024] = {};
  std::atomic<uint8_t> kinds[64] = {};
  std::atomic<uint32_t> kernel_switches{0};        // of the kind for kernels, as a whole
  std::atomic<uint8_t> has_no_kernels[1024] = {};  // by context: kernels are switched off in it
  std::atomic<uint8_t> managed_kinds[16] = {};     // CUpti_ActivityUnifiedMemoryCounterKind
  std::atomic<uint32_t> next_correlation{1};
  std::atomic<bool> uses_system_thread_ids{false};

  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  bool is_zeroed_out = false;
  bool is_per_thread = kCuptiVersion >= 130000;
  bool has_reported_devices = false;
  size_t dropped = 0;
  uint64_t records_made = 0, operations_seen = 0, flushes = 0;

  Buffer shared;
  std::vector<Buffer*> buffers;     // every one that was ever in use
  std::vector<Buffer> outstanding;  // handed out by the tool, not yet returned to it
  std::deque<Pending> pending;
  std::deque<Buffer> full;  // waits for the worker
  bool has_worker = false, is_worker_busy = false;
  std::condition_variable work, idle;
};

Session& TheSession();

// First line of every entry point: aborts where the real library would crash or hang, else says whether it can work.
CUptiResult Guard(const char* function);
// Opens libcuda as the real library does; null without a driver that is ours.
const Hub* FindHub();
// False when another copy of libcupti in the process is attached.
bool AttachObserver();
void Finalize();

// Calls the tool back where it has switched that on; CallBack() does whether it has or not.
void Dispatch(CUpti_CallbackDomain domain, uint32_t cbid, const void* data);
void CallBack(CUpti_CallbackDomain domain, uint32_t cbid, const void* data);
inline bool IsOn(uint32_t kind) { return TheSession().kinds[kind].load(std::memory_order_relaxed) != 0; }

// Puts a record into the calling thread's buffer: at once, or when the virtual device is there.
void Emit(const void* record, uint32_t kind, uint64_t ready_ns = 0, uint32_t start_offset = 0);
template <class Record>
void EmitRecord(Record record, uint32_t kind, uint64_t ready_ns = 0, uint32_t start_offset = 0) {
  record.kind = static_cast<CUpti_ActivityKind>(kind);
  Emit(&record, kind, ready_ns, start_offset);
}

// The thread on which full buffers come back. [the session's lock is held]
void StartWorker(Session& s);
// Delivers every buffer that holds complete records; `is_forced` gives up the rest without times.
void Flush(bool is_forced);

// True while the calling thread is inside the tool's callback of that sort.
struct ThreadFlags {
  bool is_in_resource_callback = false, is_in_request = false, is_in_complete = false;
};
ThreadFlags& Flags();

void ReportDevices();
const Observer& TheCuptiObserver();

}  // namespace mock
