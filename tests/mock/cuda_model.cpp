#include "cuda_model.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace mock {

Model& TheModel() {
  static Model& model = *new Model;
  return model;
}

ThreadState& ThisThread() {
  // A pointer, so that threads which call CUDA while they end find their state still there.
  thread_local ThreadState* state = new ThreadState;
  return *state;
}

namespace {

void TearDown() {
  Model& m = TheModel();
  // A child made by fork runs the parent's handlers at exit, but its driver was never usable.
  if (m.init_pid != getpid()) return;
  m.is_torn_down = true;
  __atomic_store_n(&m.observer, nullptr, __ATOMIC_RELEASE);
  for (CUcontext context : m.primary) {
    if (context != nullptr) context->id = context->device = 0xDEADDEAD;
  }
}

// As the driver has it in every process: a thread that waits, for ever here.
void StartDriverThread() {
  pthread_t thread;
  const auto wait = [](void*) -> void* {
    pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
    while (true) poll(nullptr, 0, -1);
  };
  if (pthread_create(&thread, nullptr, wait, nullptr) == 0) pthread_detach(thread);
}

// Exactly what the driver does with the variable, the dlclose on 0 included.
void Inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  int (*entry)() = nullptr;
  *reinterpret_cast<void**>(&entry) = dlsym(library, "InitializeInjection");
  if (entry == nullptr) return;
  ThisThread().is_injecting = true;
  const int result = entry();
  ThisThread().is_injecting = false;
  if (result == 0) dlclose(library);
}

}  // namespace

CUresult Initialize() {
  Model& m = TheModel();
  if (m.is_torn_down) return CUDA_ERROR_DEINITIALIZED;
  static std::mutex& once = *new std::mutex;
  if (ThisThread().is_injecting) Violation("cuInit inside InitializeInjection: the driver holds its locks");
  if (m.is_initialized) return m.init_pid == getpid() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
  std::lock_guard<std::mutex> lock(once);
  if (m.is_initialized) return CUDA_SUCCESS;
  if (const long forced = EnvNumber("MOCK_CUINIT_RESULT", 0)) return static_cast<CUresult>(forced);
  m.driver_version = TheHub().driver_version;
  m.device_count = static_cast<int>(EnvNumber("MOCK_DEVICES", 2));
  m.primary.assign(static_cast<size_t>(m.device_count), nullptr);
  m.primary_references.assign(static_cast<size_t>(m.device_count), 0);
  m.default_pools.assign(static_cast<size_t>(m.device_count), nullptr);
  m.init_pid = getpid();
  if (EnvNumber("MOCK_DRIVER_THREAD", 0) != 0) StartDriverThread();
  Inject();
  // After the tool's entry point: a tool whose exit handler is registered there would run after the driver's.
  std::atexit(TearDown);
  m.is_initialized = true;
  if (const Observer* o = TheObserver()) {
    CallbackScope scope;
    o->init_finished();
  }
  return CUDA_SUCCESS;
}

CUcontext CurrentContext() {
  const ThreadState& t = ThisThread();
  return t.contexts.empty() ? nullptr : t.contexts.back();
}

CUstream CreateStream(CUcontext context, uint32_t flags, int priority) {
  Model& m = TheModel();
  auto* stream = new CUstream_st;
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    stream->id = m.next_stream++;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    context->streams.push_back(stream);
  }
  if (const Observer* o = TheObserver()) {
    CallbackScope scope;
    o->stream({context, stream, stream->id, context->id, flags, priority}, true, CurrentCorrelation());
  }
  return stream;
}

void DestroyStream(CUstream stream) {
  Model& m = TheModel();
  if (const Observer* o = TheObserver()) {
    CallbackScope scope;
    o->stream({stream->context, stream, stream->id, stream->context->id, stream->flags, stream->priority}, false,
              CurrentCorrelation());
  }
  std::lock_guard<std::mutex> lock(m.mutex);
  auto& all = stream->context->streams;
  all.erase(std::remove(all.begin(), all.end(), stream), all.end());
  delete stream;
}

CUcontext CreateContext(uint32_t device, bool is_primary) {
  Model& m = TheModel();
  auto* context = new CUctx_st;
  auto* null_stream = new CUstream_st;
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    context->id = m.next_context++;
    context->device = device;
    context->is_primary = is_primary;
    // Each context takes eight internal streams; the second is the default one (7 in the first context).
    null_stream->id = m.next_stream + 1;
    null_stream->context = context;
    m.next_stream += 8;
    context->null_stream = null_stream;
  }
  if (const Observer* o = TheObserver()) {
    CallbackScope scope;
    o->context({context, context->id, device, null_stream->id}, true);
  }
  return context;
}

void DestroyContext(CUcontext context) {
  uint64_t ready = context->null_stream->ready_ns;
  for (CUstream s : context->streams) ready = std::max(ready, s->ready_ns);
  WaitUntilNs(ready);
  if (const Observer* o = TheObserver()) {
    CallbackScope scope;
    o->context({context, context->id, context->device, context->null_stream->id}, false);
  }
  context->is_alive = false;  // the memory stays: programs destroy contexts that other threads still hold
  for (CUcontext& current : ThisThread().contexts) {
    if (current == context) current = nullptr;
  }
}

uint64_t ReadyNs(CUcontext context) {
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  uint64_t ready_ns = context->null_stream->ready_ns;
  for (CUstream s : context->streams) ready_ns = std::max<uint64_t>(ready_ns, s->ready_ns);
  return ready_ns;
}

CUstream ResolveStream(CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    return CurrentContext() != nullptr ? CurrentContext()->null_stream : nullptr;
  }
  return stream;
}

uint32_t CurrentCorrelation() {
  const Frame* frame = ThisThread().frame;
  return frame != nullptr ? frame->correlation : 0;
}

uint64_t KernelNs(Dim grid) {
  static const auto longer_ns = static_cast<uint64_t>(EnvNumber("MOCK_KERNEL_US", 0)) * 1000;
  return 1000 + longer_ns + 10ull * grid.x * grid.y * grid.z;
}

uint64_t CopyNs(const Op& op) {
  const bool is_pageable = op.source_memory == 1 || op.destination_memory == 1;
  return 500 + op.bytes / (is_pageable ? 4 : 20);
}

uint64_t MemsetNs(uint64_t bytes) { return 300 + bytes / 100; }

namespace {

// The legacy default stream waits for all blocking streams, and they for it.
uint64_t StartOf(CUstream stream) {
  constexpr uint64_t kLaunchLatencyNs = 1000;
  uint64_t start = std::max<uint64_t>(NowNs() + kLaunchLatencyNs, stream->ready_ns);
  const CUcontext context = stream->context;
  if (stream == context->null_stream) {
    for (CUstream other : context->streams) {
      if ((other->flags & CU_STREAM_NON_BLOCKING) == 0) start = std::max(start, other->ready_ns);
    }
  } else if ((stream->flags & CU_STREAM_NON_BLOCKING) == 0) {
    start = std::max(start, context->null_stream->ready_ns);
  }
  return start;
}

}  // namespace

uint64_t Enqueue(Op op, CUstream stream, uint64_t duration_ns) {
  Model& m = TheModel();
  {
    std::lock_guard<std::mutex> lock(m.mutex);
    op.start_ns = StartOf(stream);
    op.end_ns = op.start_ns + duration_ns;
    stream->ready_ns = op.end_ns;
  }
  op.device = stream->context->device;
  op.context = stream->context->id;
  op.stream = stream->id;
  op.correlation = CurrentCorrelation();
  const Observer* o = TheObserver();
  if (o != nullptr && !(op.kind == OpKind::kKernel && ThisThread().loses_kernels)) o->op(op);
  return op.end_ns;
}

void AddBlock(const void* address, Block block) {
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  TheModel().blocks[reinterpret_cast<uintptr_t>(address)] = block;
}

bool RemoveBlock(const void* address) {
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  return TheModel().blocks.erase(reinterpret_cast<uintptr_t>(address)) == 1;
}

Block FindBlock(const void* address) {
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  const auto& blocks = TheModel().blocks;
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto it = blocks.upper_bound(at);
  if (it == blocks.begin()) return {};
  --it;
  return at < it->first + it->second.size ? it->second : Block{};
}

bool MoveBlock(const void* address, uint32_t place, uint32_t* before) {
  constexpr uint8_t kManaged = 5;
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  auto& blocks = TheModel().blocks;
  auto it = blocks.upper_bound(reinterpret_cast<uintptr_t>(address));
  if (it == blocks.begin() || (--it)->second.kind != kManaged) return false;
  if (reinterpret_cast<uintptr_t>(address) >= it->first + it->second.size) return false;
  *before = std::exchange(it->second.place, place);
  return true;
}

void WaitForHostFunctions(CUstream stream) {
  while (stream->host_functions.load() > 0) WaitUntilNs(NowNs() + 100000);
}

void ReportSync(uint32_t type, uint64_t start_ns, uint32_t stream, uint32_t event, CUresult result) {
  const Observer* o = TheObserver();
  const CUcontext context = CurrentContext();
  if (o == nullptr || context == nullptr) return;
  o->sync({type, start_ns, NowNs(), context->id, stream, event, CurrentCorrelation(), static_cast<uint32_t>(result)});
}

DeviceFacts FactsOf(int ordinal) {
  DeviceFacts facts = {"Mock H100", {}, 9, 0, 132, 1980000, 2619000, 5120, 80ull << 30, 50ull << 20};
  for (int i = 0; i < 16; ++i) facts.uuid.bytes[i] = static_cast<char>(0x10 + i + 0x20 * ordinal);
  return facts;
}

namespace {

bool Attach(const Observer* observer) {
  std::lock_guard<std::mutex> lock(TheModel().mutex);
  const Observer* before = TheModel().observer;
  if (before != nullptr && observer != nullptr && before != observer) return false;
  __atomic_store_n(&TheModel().observer, observer, __ATOMIC_RELEASE);
  return true;
}

bool IsLaunch(const Frame& frame) {
  return frame.domain == kDriver && std::strstr(frame.function, "Launch") != nullptr;
}

void Enter(Frame* frame) {
  ThreadState& t = ThisThread();
  frame->outer = t.frame;
  frame->correlation = t.frame != nullptr ? t.frame->correlation : t.left_correlation;
  frame->correlation_data = 0;
  frame->is_reported = false;
  t.frame = frame;
  const Observer* o = TheObserver();
  if (o != nullptr) frame->kernel_switches = o->kernel_switches();
  if (o == nullptr || t.callback_depth > 0) return;
  const ApiWish wish = o->wants_api(frame->domain, frame->cbid);
  if (!wish.callback && !wish.record) return;
  if (frame->correlation == 0) {
    frame->correlation = o->next_correlation();
    for (Frame* f = frame->outer; f != nullptr; f = f->outer) f->correlation = frame->correlation;
  }
  frame->is_reported = true;
  frame->start_ns = NowNs();
  CallbackScope scope;
  o->api(frame, false, wish, nullptr, 0);
}

void Exit(Frame* frame, void* return_value, uint32_t result) {
  ThreadState& t = ThisThread();
  const Observer* o = TheObserver();
  const bool is_heard = o != nullptr && t.callback_depth == 0;
  const ApiWish wish = is_heard ? o->wants_api(frame->domain, frame->cbid) : ApiWish{};
  if (wish.callback || wish.record) {
    // Whether an exit comes without its entry when a callback is enabled in between is not documented: both are tested.
    if (frame->is_reported || EnvNumber("MOCK_EXIT_WITHOUT_ENTER", 0) != 0) {
      CallbackScope scope;
      o->api(frame, true, wish, return_value, result);
    }
  } else if (frame->is_reported && o != nullptr && t.left_correlation == 0) {
    // As libcupti 13.0 on an H200: for it, the thread is within this call for ever, and so are all calls after it.
    t.left_correlation = frame->correlation;
  }
  // So is a thread, for its kernels, when their kind is enabled or disabled within a launch: it has none from then on.
  if (o != nullptr && IsLaunch(*frame) && frame->kernel_switches != o->kernel_switches()) t.loses_kernels = true;
  t.frame = frame->outer;
}

bool GetContextInfo(CUcontext context, ContextInfo* info) {
  if (context == nullptr) context = CurrentContext();
  if (context == nullptr || !context->is_alive) return false;
  *info = {context, context->id, context->device, context->null_stream->id};
  return true;
}

bool GetStreamInfo(CUcontext context, CUstream stream, StreamInfo* info) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    if (context == nullptr) context = CurrentContext();
    if (context == nullptr) return false;
    stream = context->null_stream;
  }
  *info = {stream->context, stream, stream->id, stream->context->id, stream->flags, stream->priority};
  return true;
}

void GetGraphIds(CUgraph graph, CUgraphExec exec, CUgraphNode node, uint32_t* graph_id, uint64_t* node_id) {
  if (graph_id != nullptr) *graph_id = graph != nullptr ? graph->id : exec != nullptr ? exec->id : 0;
  if (node_id != nullptr) *node_id = node != nullptr ? node->id : 0;
}

}  // namespace

const Hub& TheHub() {
  static const Hub& hub = *new Hub{
      sizeof(Hub),
      static_cast<int>(EnvNumber("MOCK_DRIVER_VERSION", MOCK_CUDA_VERSION)),
      Attach,
      Enter,
      Exit,
      [] { return TheModel().is_torn_down.load(); },
      [] { return TheModel().is_initialized.load(); },
      [] { return TheModel().device_count; },
      FactsOf,
      CurrentContext,
      GetContextInfo,
      GetStreamInfo,
      GetGraphIds,
      [] { return &ThisThread().callback_depth; },
  };
  return hub;
}

}  // namespace mock
