#include "cupti_session.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>

namespace mock {

Session& TheSession() {
  static Session& session = *new Session;
  return session;
}

ThreadFlags& Flags() {
  thread_local ThreadFlags* flags = new ThreadFlags;
  return *flags;
}

const Hub* FindHub() {
  Session& s = TheSession();
  if (const Hub* known = s.hub) return known;
  void* libcuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (libcuda == nullptr) return nullptr;
  auto* get_table = reinterpret_cast<decltype(&cuGetExportTable)>(dlsym(libcuda, "cuGetExportTable"));
  const void* table = nullptr;
  if (get_table == nullptr || get_table(&table, &kHubId) != CUDA_SUCCESS) return nullptr;
  s.hub = static_cast<const Hub*>(table);
  return s.hub;
}

bool AttachObserver() { return TheSession().hub.load()->attach(&TheCuptiObserver()); }

void Finalize() {
  Session& s = TheSession();
  s.is_dead = true;
  s.is_subscribed = false;
  for (auto& kind : s.kinds) kind = 0;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.pending.clear();
    s.full.clear();
    for (Buffer* b : s.buffers) *b = Buffer{};
  }
  s.hub.load()->attach(nullptr);
}

CUptiResult Guard(const char* function) {
  Session& s = TheSession();
  char text[160];
  const auto violate = [&](const char* why) {
    std::snprintf(text, sizeof(text), "%s %s", function, why);
    Violation(text);
  };
  if (s.pid != 0 && s.pid != getpid()) violate("in a forked child: the worker thread is not there and it hangs");
  if (Flags().is_in_request) violate("inside the buffer request callback: CUPTI holds its locks");
  const Hub* hub = FindHub();
  if (hub == nullptr) return CUPTI_ERROR_UNKNOWN;
  if (hub->is_torn_down()) violate("after the driver was torn down");
  if (s.is_dead) return CUPTI_ERROR_NOT_INITIALIZED;
  if (MOCK_CUDA_VERSION / 1000 > hub->driver_version / 1000) return CUPTI_ERROR_NOT_INITIALIZED;
  int expected = 0;
  s.pid.compare_exchange_strong(expected, getpid());
  return CUPTI_SUCCESS;
}

void Dispatch(CUpti_CallbackDomain domain, uint32_t cbid, const void* data) {
  Session& s = TheSession();
  if (s.is_dead || !s.is_subscribed || cbid >= 1024 || s.callbacks[domain][cbid] == 0) return;
  CallBack(domain, cbid, data);
}

void CallBack(CUpti_CallbackDomain domain, uint32_t cbid, const void* data) {
  Session& s = TheSession();
  ThreadFlags& flags = Flags();
  const bool was_in_resource = flags.is_in_resource_callback;
  flags.is_in_resource_callback = was_in_resource || domain == CUPTI_CB_DOMAIN_RESOURCE;
  s.callback(s.userdata, domain, cbid, data);
  flags.is_in_resource_callback = was_in_resource;
}

namespace {

void CheckCanary(const Buffer& b) {
  for (size_t i = 0; i < kCanaryBytes; ++i) {
    if (b.data[b.size - kCanaryBytes + i] != 0xC5)
      Violation("an activity buffer was touched or freed before its return");
  }
  std::memset(b.data + b.size - kCanaryBytes, 0, kCanaryBytes);
}

void Deliver(const Buffer& b) {
  Session& s = TheSession();
  CheckCanary(b);
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    auto& all = s.outstanding;
    all.erase(std::remove_if(all.begin(), all.end(), [&](const Buffer& o) { return o.data == b.data; }), all.end());
  }
  Flags().is_in_complete = true;
  ++*s.hub.load()->callback_depth();
  s.complete(nullptr, 0, b.data, b.size, b.used);
  --*s.hub.load()->callback_depth();
  Flags().is_in_complete = false;
}

void* Work(void*) {
  Session& s = TheSession();
  std::unique_lock<std::mutex> lock(s.mutex);
  for (;;) {
    s.work.wait(lock, [&] { return !s.full.empty(); });
    const Buffer b = s.full.front();
    s.full.pop_front();
    s.is_worker_busy = true;
    lock.unlock();
    Deliver(b);
    lock.lock();
    s.is_worker_busy = false;
    s.idle.notify_all();
  }
  return nullptr;
}

}  // namespace

void StartWorker(Session& s) {
  if (s.has_worker) return;
  s.has_worker = true;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread;
  // It has no name of its own: it inherits that of the thread that calls us.
  if (pthread_create(&thread, nullptr, Work, nullptr) == 0) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

namespace {

void CheckNew(const Session& s, const Buffer& b) {
  if (reinterpret_cast<uintptr_t>(b.data) % 8 != 0) Violation("activity buffer is not aligned to 8 bytes");
  if (b.size < 1024) Violation("activity buffer is too small for a record");
  for (const Buffer& o : s.outstanding) {
    if (b.data < o.data + o.size && o.data < b.data + b.size) Violation("an activity buffer was handed out twice");
  }
  if (s.is_zeroed_out && std::any_of(b.data, b.data + b.size, [](uint8_t byte) { return byte != 0; })) {
    Violation("ZEROED_OUT_ACTIVITY_BUFFER is set but a buffer holds other bytes");
  }
}

// Asks the tool for a buffer, with our lock held as the real library holds its own. False: there is none, drop.
bool Request(Session& s, Buffer* b) {
  if (s.request == nullptr) return false;
  Buffer fresh;
  Flags().is_in_request = true;
  ++*s.hub.load()->callback_depth();
  s.request(&fresh.data, &fresh.size, &fresh.max_records);
  --*s.hub.load()->callback_depth();
  Flags().is_in_request = false;
  if (fresh.data == nullptr || fresh.size == 0) {
    if (kCuptiVersion < 27) Violation("the buffer request callback returned no buffer: CUPTI before 12.9 crashes");
    return false;
  }
  CheckNew(s, fresh);
  if (!s.is_zeroed_out) std::memset(fresh.data, 0, fresh.size);
  std::memset(fresh.data + fresh.size - kCanaryBytes, 0xC5, kCanaryBytes);
  if (const long limit = EnvNumber("MOCK_BUFFER_RECORDS", 0)) fresh.max_records = static_cast<size_t>(limit);
  *b = fresh;
  s.outstanding.push_back(fresh);
  return true;
}

void Retire(Session& s, Buffer* b) {
  s.full.push_back(*b);
  *b = Buffer{};
  s.work.notify_one();
}

bool HasRoom(const Buffer& b, size_t bytes) {
  return b.data != nullptr && b.used + bytes + kCanaryBytes <= b.size &&
         (b.max_records == 0 || b.records < b.max_records);
}

void AppendRaw(Session& s, Buffer* b, const void* bytes, size_t size) {
  if (b->data != nullptr && !HasRoom(*b, size)) Retire(s, b);
  if (b->data == nullptr && !Request(s, b)) {
    ++s.dropped;
    return;
  }
  std::memcpy(b->data + b->used, bytes, size);
  b->used += size;
  ++b->records;
}

// `start_offset` is where the record keeps its two times, 0 if it has none that can go wrong.
void Append(Session& s, Buffer* b, const void* bytes, size_t size, uint32_t start_offset) {
  ++s.records_made;
  const auto every = [&](const char* variable) {
    const long n = EnvNumber(variable, 0);
    return n > 0 && s.records_made % static_cast<uint64_t>(n) == 0;
  };
  if (every("MOCK_DROP_EVERY")) {
    ++s.dropped;
    return;
  }
  unsigned char copy[216];
  std::memcpy(copy, bytes, size);
  if (start_offset != 0 && every("MOCK_ZERO_TIMES")) std::memset(copy + start_offset, 0, 16);
  AppendRaw(s, b, copy, size);
  if (every("MOCK_UNKNOWN_KIND")) {
    const uint32_t future[kFutureStride / 4] = {kFutureKind};
    AppendRaw(s, b, future, sizeof(future));
  }
}

void AppendComplete(Session& s, uint64_t now_ns, bool is_forced) {
  std::deque<Pending> rest;
  for (Pending& p : s.pending) {
    if (p.ready_ns > now_ns && !is_forced) {
      rest.push_back(p);
      continue;
    }
    if (p.ready_ns > now_ns) std::memset(p.bytes + p.start_offset, 0, 16);  // forced out before it was done
    Append(s, p.owner, p.bytes, p.size, p.start_offset);
  }
  s.pending.swap(rest);
}

Buffer* OwnBuffer(Session& s) {
  if (!s.is_per_thread) {
    if (s.buffers.empty()) s.buffers.push_back(&s.shared);
    return &s.shared;
  }
  thread_local Buffer* own = nullptr;
  if (own == nullptr) s.buffers.push_back(own = new Buffer);
  return own;
}

}  // namespace

void Emit(const void* record, uint32_t kind, uint64_t ready_ns, uint32_t start_offset) {
  Session& s = TheSession();
  if (s.is_dead) return;
  std::lock_guard<std::mutex> lock(s.mutex);
  Buffer* own = OwnBuffer(s);
  // The buffer is asked for on the thread that makes the first record, not where the record is completed.
  if (own->data == nullptr && !Request(s, own) && s.request == nullptr) return;
  AppendComplete(s, NowNs(), false);
  const uint32_t size = StrideOf(kind);
  if (ready_ns == 0) {
    Append(s, own, record, size, start_offset);
    return;
  }
  Pending p{ready_ns, own, size, start_offset, {}};
  std::memcpy(p.bytes, record, size);
  s.pending.push_back(p);
}

void Flush(bool is_forced) {
  Session& s = TheSession();
  std::vector<Buffer> ready;
  {
    std::unique_lock<std::mutex> lock(s.mutex);
    ++s.flushes;
    const long hang = EnvNumber("MOCK_FLUSH_HANG", 0);
    if (hang > 0 && s.flushes >= static_cast<uint64_t>(hang)) {
      lock.unlock();
      for (;;) pause();
    }
    AppendComplete(s, NowNs(), is_forced);
    for (Buffer* b : s.buffers) {
      if (b->data == nullptr || (b->used == 0 && !is_forced)) continue;
      ready.push_back(*b);
      *b = Buffer{};
    }
    if (!Flags().is_in_complete) s.idle.wait(lock, [&] { return s.full.empty() && !s.is_worker_busy; });
  }
  if (const long ms = EnvNumber("MOCK_FLUSH_SLEEP_MS", 0)) WaitUntilNs(NowNs() + static_cast<uint64_t>(ms) * 1000000);
  if (EnvNumber("MOCK_SHUFFLE", 0) != 0) std::reverse(ready.begin(), ready.end());
  for (const Buffer& b : ready) Deliver(b);
}

}  // namespace mock
