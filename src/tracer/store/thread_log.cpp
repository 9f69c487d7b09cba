#include "tracer/store/thread_log.h"

#include <pthread.h>

#include <cstring>
#include <new>
#include <utility>

#include "tracer/core/config.h"
#include "tracer/core/tracer.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/open_ranges.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit thread_local ThreadLog* own_log = nullptr;

namespace {

constexpr std::size_t kFirstPageBytes = 4096;
constexpr uint32_t kOwnPage = ~0u;
constexpr uint64_t kBaseInOtherPage = kNoBase + 1;  // no stamp is near it, either
// When this many pages wait, and when the first is taken, the writer thread is woken before its time.
constexpr uint32_t kWakePages = 16;

constinit std::atomic<ThreadLog*> first_log GPROF_IN_ARENA{nullptr};
constinit std::atomic<uint32_t> log_count GPROF_IN_ARENA{0};
constinit std::atomic<uint64_t> rows_without_log GPROF_IN_ARENA{0};
pthread_key_t ended_key;
bool has_key = false;

// Runs when a thread ends. A later NVTX call of the same thread (in another destructor) gets a new log.
void ThreadEnded(void* log) {
  own_log = nullptr;
  static_cast<ThreadLog*>(log)->state.store(LogState::kEnded, std::memory_order_release);
}

Page* NewPageAt(unsigned char* memory, std::size_t bytes, uint32_t index) {
  auto* page = new (memory) Page{};
  page->capacity = static_cast<uint32_t>(bytes - sizeof(Page));
  page->index = index;
  return page;
}

ThreadLog* ReuseLog() {
  for (ThreadLog* log = first_log.load(std::memory_order_acquire); log != nullptr; log = log->next_log) {
    LogState free = LogState::kFree;
    if (log->state.compare_exchange_strong(free, LogState::kLive, std::memory_order_acq_rel)) return log;
  }
  return nullptr;
}

}  // namespace

ThreadLog* NewLog() {
  auto* memory = static_cast<unsigned char*>(KeepMemory(sizeof(ThreadLog) + kFirstPageBytes, Region::kRows));
  if (memory == nullptr) return nullptr;
  auto* log = new (memory) ThreadLog;
  log->first_page_ = NewPageAt(memory + sizeof(ThreadLog), kFirstPageBytes, kOwnPage);
  log->number = log_count.fetch_add(1, std::memory_order_relaxed) + 1;
  log->Reset();
  log->state.store(LogState::kLive, std::memory_order_relaxed);
  log->next_log = first_log.load(std::memory_order_relaxed);
  while (!first_log.compare_exchange_weak(log->next_log, log, std::memory_order_acq_rel)) {
  }
  return log;
}

namespace {

// libc has room for the values of the first keys in each thread; for others it asks for memory.
bool KeyAsksForMemory() {
  constexpr pthread_key_t kKeysWithRoom = 32;
  return ended_key >= kKeysWithRoom;
}

ThreadLog* TakeLog(bool may_ask_for_memory) {
  // A signal handler that came in between would take a second log and put it in this one's place.
  const SignalGuard signal_guard;
  if (own_log != nullptr) return own_log;
  ThreadLog* log = ReuseLog();
  if (log == nullptr) log = NewLog();
  if (log == nullptr) {
    rows_without_log.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  log->tid = CurrentTid();
  std::memset(log->depths, 0, sizeof log->depths);
  log->place = {};
  if (log->open_ranges != nullptr) log->open_ranges->count = log->open_ranges->beyond = 0;
  if (has_key && (may_ask_for_memory || !KeyAsksForMemory())) {
    pthread_setspecific(ended_key, log);
  } else {
    log->is_told_of_end.store(false, std::memory_order_release);
  }
  own_log = log;
  return log;
}

}  // namespace

ThreadLog* AcquireLog() {
  ErrnoGuard errno_guard;
  // The child of a fork comes here with its first row, and records again from then on.
  if (!IsRecording() && !StartTracer()) return nullptr;
  ThreadLog* log = TakeLog(true);
  if (log == nullptr) return nullptr;
  PublishThread(*log);
  // The first page is small; by the time that it is full, the writer thread has made others. Where a signal samples
  // threads, it begins with this one.
  if (log->number == 1 || Config().sample_period_ns != 0) WakeWriter();
  return log;
}

void PublishThread(const ThreadLog& log) {
  if (log.number <= trace::kArenaThreads) Header().threads[log.number - 1].store(log.tid, std::memory_order_relaxed);
}

ThreadLog* AcquireLogWithinCall(bool has_locks) { return IsRecording() ? TakeLog(!has_locks) : nullptr; }

void EndLogOfGoneThread(ThreadLog* log) {
  if (log->is_told_of_end.load(std::memory_order_acquire) || ThreadIsThere(log->tid)) return;
  log->state.store(LogState::kEnded, std::memory_order_release);
}

ThreadLog* FirstLog() { return first_log.load(std::memory_order_acquire); }
uint64_t TakeRowsWithoutLog() { return rows_without_log.exchange(0, std::memory_order_relaxed); }

bool HasOtherLiveLogs() {
  for (const ThreadLog* log = FirstLog(); log != nullptr; log = log->next_log) {
    if (log != own_log && log->state.load(std::memory_order_acquire) == LogState::kLive) return true;
  }
  return false;
}

bool SetUpLogs() {
  if (!has_key) has_key = pthread_key_create(&ended_key, ThreadEnded) == 0;
  return has_key;
}

void LeaveLogAfterFork() {
  own_log = nullptr;
  if (has_key) pthread_setspecific(ended_key, nullptr);
}

void ResetLogsAfterFork() {
  first_log.store(nullptr, std::memory_order_relaxed);
  rows_without_log.store(0, std::memory_order_relaxed);
}

void ThreadLog::Reset() {
  first_page_->next.store(nullptr, std::memory_order_relaxed);
  first_page_->committed.store(0, std::memory_order_relaxed);
  write_page_ = read_page_ = first_page_;
  first_page_->read_at = 0;
  write_used_ = 0;
  is_busy_ = false;
  told_name = {~0u};
  nvtx_base = kNoBase;
  nvtx = {};
  open_call.start.store(0, std::memory_order_relaxed);
  open_call.nested = 0;
  open_call.pauses_before = OpenCall::kNever;
  set_aside = {};
  entered.depth = 0;
  for (auto& function : entered.functions) function.store(0, std::memory_order_relaxed);
  open_os_call.start.store(0, std::memory_order_relaxed);
  watched = {};
  is_told_of_end.store(true, std::memory_order_relaxed);
}

unsigned char* ThreadLog::Refuse(std::atomic<uint64_t>* counter) {
  counter->fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

unsigned char* ThreadLog::ReserveElsewhere(uint32_t bytes) {
  if (is_busy_) return Refuse(&dropped_in_handlers_);
  is_busy_ = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (write_used_ + bytes > write_page_->capacity && !NewPage(bytes)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    is_busy_ = false;
    return Refuse(&dropped_);
  }
  return write_page_->Data() + write_used_;
}

bool ThreadLog::NewPage(uint32_t bytes) {
  ErrnoGuard errno_guard;
  if (bytes > kPageBytes - sizeof(Page)) return false;
  uint32_t index = 0;
  unsigned char* memory = Pages().Take(&index);
  if (memory == nullptr) return false;
  Page* page = NewPageAt(memory, kPageBytes, index);
  write_page_->next.store(page, std::memory_order_release);
  write_page_ = page;
  write_used_ = 0;
  // Should a page be spoilt, the next can be read without it. A thread that has called NVTX stays one that
  // HasLaunched().
  if (nvtx_base != kNoBase) nvtx_base = kBaseInOtherPage;
  const uint32_t in_use = Pages().in_use();
  if (in_use == 1 || in_use % kWakePages == 0) WakeWriter();
  return true;
}

const RowHeader* ThreadLog::Next(Cursor* cursor) {
  while (true) {
    Page* page = read_page_;
    if (!IsKept(page, sizeof(Page) + page->capacity) || page->capacity > kPageBytes) return nullptr;
    Page* next = page->next.load(std::memory_order_acquire);
    // `next` is read first: once it is there, `committed` no longer grows.
    const uint32_t committed = page->committed.load(std::memory_order_acquire);
    if (page->read_at < committed && committed <= page->capacity) {
      const auto* row = reinterpret_cast<const RowHeader*>(page->Data() + page->read_at);
      const uint32_t bytes = BytesOf(*row);
      if (bytes == 0 || bytes > committed - page->read_at) {
        // The target wrote over our memory. Nobody can say where the next row begins.
        page->read_at = committed;
        dropped_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
      *cursor = {&page->read_at, page->read_at + bytes};
      return row;
    }
    if (next == nullptr) return nullptr;
    // One store takes the reader from page to page; who dies after it leaves a page that nobody needs.
    read_page_ = next;
    if (page->index != kOwnPage) {
      LeaveToOthers(page, kPageBytes);
      Pages().Give(page->index);
    }
    if (!is_salvage) Pages().PrepareSlab();
  }
}

bool IsReadable(const ThreadLog* log) { return IsKept(log, sizeof *log) && IsKept(log->read_page_, sizeof(Page)); }

namespace {

uint64_t TakeFresh(const std::atomic<uint64_t>& counter, uint64_t* told) {
  const uint64_t all = counter.load(std::memory_order_relaxed);
  return all - std::exchange(*told, all);
}

}  // namespace

uint64_t ThreadLog::TakeDropped() { return TakeFresh(dropped_, &dropped_told_); }
uint64_t ThreadLog::TakeDroppedInHandlers() { return TakeFresh(dropped_in_handlers_, &dropped_in_handlers_told_); }

void ThreadLog::Recycle() {
  if (read_page_->index != kOwnPage) Pages().Give(read_page_->index);
  Reset();
  state.store(LogState::kFree, std::memory_order_release);
}

}  // namespace gprof::tracer
