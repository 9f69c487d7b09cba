#include "tracer/counters/counter_collector.h"

#include "tracer/core/notice.h"
#include "tracer/counters/counter_request.h"
#include "tracer/counters/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cstring>
#include <limits>

#include "tracer/core/capture.h"
#include "tracer/core/writer_thread.h"
#include "tracer/counters/driver_facts.h"
#include "tracer/counters/graph_kernels.h"
#include "tracer/counters/launch_filter.h"
#include "tracer/counters/launch_gate.h"
#include "tracer/counters/measured_ranges.h"
#include "tracer/counters/range_session.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxFacts = 32;
constexpr uint64_t kGatePatienceNs = 2'000'000'000;

constinit std::atomic<bool> is_off{false};
bool is_ready = false;  // to filter and to keep what is measured
Lock lock;              // of plans, sessions, graphs and the filter
LaunchGate gate;
LaunchFilter filter;
double* evaluated = nullptr;
uint32_t ranges_begun = 0;
uint32_t launches_seen = 0;

// The launch that is being measured, for whoever waits for it.
constinit std::atomic<uint64_t> measured_since_ns{0};
constinit std::atomic<uint32_t> measured_name{0};

// What the thread is in the midst of.
enum class Part : uint8_t { kNone, kLetThrough, kMeasured };
struct OpenLaunch {
  uint32_t depth = 0;  // of launches within launches
  Part part = Part::kNone;
  RangeSession* session = nullptr;
  const GraphKernels* graph = nullptr;
  GraphKernel kernel;
  uint32_t number = 0;
  uint64_t start_ns = 0;
};
thread_local OpenLaunch open_launch;

enum class What : uint8_t { kNothing, kKernel, kKernelEx, kGraph, kInstantiate };

struct Call {
  CUpti_CallbackId cbid;
  What what;
  bool is_per_thread;
};
constexpr Call kCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, What::kKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, What::kKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, What::kKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, What::kKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, What::kKernelEx, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, What::kKernelEx, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, What::kGraph, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, What::kGraph, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, What::kInstantiate, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, What::kInstantiate, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, What::kInstantiate, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, What::kInstantiate, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, What::kInstantiate, true},
};

const Call* CallOf(CUpti_CallbackId cbid) {
  for (const Call& call : kCalls) {
    if (call.cbid == cbid) return &call;
  }
  return nullptr;
}

// ---- what a launch is ----

void SetSizes(const uint32_t (&grid)[3], const uint32_t (&block)[3], Launch* launch) {
  std::memcpy(launch->grid, grid, sizeof grid);
  std::memcpy(launch->block, block, sizeof block);
}

uint32_t ClusterBlocks(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    return attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z;
  }
  return 1;
}

// The stream as functions of the driver take it.
CUstream StreamOf(CUstream stream, bool is_per_thread) {
  return stream == nullptr && is_per_thread ? CU_STREAM_PER_THREAD : stream;
}

CUstream DescribeLaunch(const Call& call, const CUpti_CallbackData* info, GraphKernel* kernel) {
  Launch& launch = kernel->launch;
  launch.symbol = info->symbolName != nullptr ? info->symbolName : "";
  launch.context = info->contextUid;
  if (call.what == What::kKernel) {
    const auto& p = *static_cast<const cuLaunchKernel_params*>(info->functionParams);
    SetSizes({p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, &launch);
    launch.dynamic_shared_bytes = p.sharedMemBytes;
    kernel->function = p.f;
    return StreamOf(p.hStream, call.is_per_thread);
  }
  const auto& p = *static_cast<const cuLaunchKernelEx_params*>(info->functionParams);
  const CUlaunchConfig& c = *p.config;
  SetSizes({c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, &launch);
  launch.dynamic_shared_bytes = c.sharedMemBytes;
  launch.cluster_blocks = ClusterBlocks(c);
  kernel->function = p.f;
  return StreamOf(c.hStream, call.is_per_thread);
}

uint32_t StreamId(CUcontext context, CUstream stream) {
  uint32_t id = 0;
  if (Cupti().cuptiGetStreamIdEx == nullptr) return 0;
  const bool is_per_thread = stream == CU_STREAM_PER_THREAD;
  return Cupti().cuptiGetStreamIdEx(context, is_per_thread ? nullptr : stream, is_per_thread ? 1 : 0, &id) ==
                 CUPTI_SUCCESS
             ? id
             : 0;
}

// ---- what is kept of it ----

class RangeWriter {
 public:
  explicit RangeWriter(MeasuredRange* range) : range_(range) {}

  void Add(const char* metric, const char* unit, double value) {
    if (range_->value_count == MaxValues()) return;
    range_->values[range_->value_count++] = {Names().Intern(metric), Names().Intern(unit), value};
  }
  void Add(trace::StringId metric, trace::StringId unit, double value) {
    if (range_->value_count < MaxValues()) range_->values[range_->value_count++] = {metric, unit, value};
  }

 private:
  MeasuredRange* range_;
};

// What Nsight Compute tells of a launch, under its names.
void AddFacts(const GraphKernel& kernel, RangeWriter* out) {
  const Launch& l = kernel.launch;
  const uint64_t blocks = uint64_t{l.grid[0]} * l.grid[1] * l.grid[2];
  const uint64_t threads = uint64_t{l.block[0]} * l.block[1] * l.block[2];
  constexpr const char* kGrid[] = {"launch__grid_dim_x", "launch__grid_dim_y", "launch__grid_dim_z"};
  constexpr const char* kBlock[] = {"launch__block_dim_x", "launch__block_dim_y", "launch__block_dim_z"};
  for (int i = 0; i < 3; ++i) {
    out->Add(kGrid[i], "", l.grid[i]);
    out->Add(kBlock[i], "", l.block[i]);
  }
  out->Add("launch__grid_size", "", static_cast<double>(blocks));
  out->Add("launch__block_size", "", static_cast<double>(threads));
  out->Add("launch__thread_count", "thread", static_cast<double>(blocks * threads));
  out->Add("launch__cluster_size", "", l.cluster_blocks);
  out->Add("launch__shared_mem_per_block_dynamic", "byte/block", l.dynamic_shared_bytes);
  const auto device = static_cast<CUdevice>(l.device);
  const int sms = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (sms > 0) out->Add("launch__sm_count", "SM", sms);
  const int driver_bytes = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  if (driver_bytes > 0) out->Add("launch__shared_mem_per_block_driver", "byte/block", driver_bytes);
  FunctionFacts facts;
  if (kernel.function == nullptr || !FactsOf(kernel.function, &facts)) return;
  out->Add("launch__registers_per_thread", "register/thread", facts.registers);
  out->Add("launch__shared_mem_per_block_static", "byte/block", facts.static_shared_bytes);
  const int per_sm = BlocksPerSm(kernel.function, static_cast<uint32_t>(threads), l.dynamic_shared_bytes);
  if (sms > 0 && per_sm > 0)
    out->Add("launch__waves_per_multiprocessor", "", static_cast<double>(blocks) / (static_cast<double>(sms) * per_sm));
}

void AddValues(const RangeSession& session, uint32_t i, MeasuredRange* range) {
  const DevicePlan& plan = session.plan();
  if (!session.Evaluate(i, evaluated)) {
    range->record.status = static_cast<uint8_t>(trace::CounterStatus::kPassesMissing);
    return;
  }
  RangeWriter out(range);
  for (uint32_t k = 0; k < plan.metric_count; ++k) out.Add(plan.names[k], plan.units[k], evaluated[k]);
}

// `i`: which range of the session, or none that can be told apart.
void Keep(const OpenLaunch& open, const GraphKernel& kernel, int64_t i, uint32_t correlation, uint64_t end_ns) {
  MeasuredRange* range = NextRange();
  if (range == nullptr) return;
  trace::CounterRangeRecord& record = range->record;
  record.start_ns = open.start_ns;
  record.duration_ns = end_ns - open.start_ns;
  record.id = ++ranges_begun;
  record.plan = open.session->plan().id;
  record.scope = static_cast<uint8_t>(trace::CounterScope::kKernel);
  record.status = static_cast<uint8_t>(i < 0 ? trace::CounterStatus::kPassesMissing : trace::CounterStatus::kComplete);
  record.name = Names().Intern(kernel.launch.symbol);
  record.device = kernel.launch.device;
  record.context = kernel.launch.context;
  record.stream = kernel.launch.stream;
  record.correlation = correlation;
  record.invocation = open.number;
  record.passes = open.session->plan().passes;
  RangeWriter out(range);
  AddFacts(kernel, &out);
  if (i >= 0) AddValues(*open.session, static_cast<uint32_t>(i), range);
  Publish(range);
}

// ---- begin and end ----

bool PrepareOnce() {
  static bool is_tried = false;
  if (is_tried) return is_ready;
  is_tried = true;
  const CounterRequest& request = *TheCounterRequest();
  evaluated = static_cast<double*>(MapMemory((request.metric_count + 1) * sizeof(double)));
  is_ready = evaluated != nullptr && filter.Prepare(request) && MakeRoomForRanges(request.metric_count + kMaxFacts);
  return is_ready;
}

RangeSession* SessionOf(CUcontext context) { return PrepareOnce() ? RangeSession::Of(context) : nullptr; }

void LetThrough(OpenLaunch* open) {
  gate.Enter(kGatePatienceNs);
  open->part = Part::kLetThrough;
}

void Measure(OpenLaunch* open, const char* symbol, uint32_t most_ranges) {
  if (!gate.Close(kGatePatienceNs)) return LetThrough(open);
  open->start_ns = MonotonicNs();
  measured_name.store(Names().Intern(symbol).value, std::memory_order_relaxed);
  measured_since_ns.store(open->start_ns, std::memory_order_release);
  open->part = Part::kMeasured;
  if (open->session->Begin(most_ranges)) return;
  measured_since_ns.store(0, std::memory_order_release);
  gate.Open();
  open->part = Part::kNone;
}

bool IsWanted(OpenLaunch* open, const Call& call, const CUpti_CallbackData* info) {
  const LockGuard guard(lock);
  open->number = ++launches_seen;
  open->session = SessionOf(info->context);
  if (open->session == nullptr) return false;
  const uint32_t device = open->session->plan().device;
  if (call.what != What::kGraph) {
    open->kernel.launch.device = device;
    return filter.Takes(open->kernel.launch);
  }
  open->graph = KernelsOf(static_cast<const cuGraphLaunch_params*>(info->functionParams)->hGraph);
  if (open->graph == nullptr) return false;
  bool is_wanted = false;
  for (uint32_t i = 0; i < open->graph->count; ++i) {
    Launch& launch = open->graph->kernels[i].launch;
    launch.device = device;
    launch.context = info->contextUid;
    open->graph->kernels[i].is_wanted = filter.Takes(launch);
    is_wanted = is_wanted || open->graph->kernels[i].is_wanted;
  }
  return is_wanted;
}

void OnEnter(const Call& call, const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth++ > 0) return;
  open = {};
  open.depth = 1;
  if (!IsCapturing() || info->functionParams == nullptr) return LetThrough(&open);
  CUstream stream = nullptr;
  if (call.what == What::kGraph) {
    stream = StreamOf(static_cast<const cuGraphLaunch_params*>(info->functionParams)->hStream, call.is_per_thread);
  } else {
    stream = DescribeLaunch(call, info, &open.kernel);
  }
  // A launch into a graph that is being made does not run.
  if (IsCapturingStream(stream)) return LetThrough(&open);
  open.kernel.launch.stream = StreamId(info->context, stream);
  if (!IsWanted(&open, call, info)) return LetThrough(&open);
  if (open.graph != nullptr) return Measure(&open, "a graph", open.graph->count);
  Measure(&open, open.kernel.launch.symbol, 1);
}

void KeepGraph(const OpenLaunch& open, uint32_t ranges, uint32_t correlation, uint64_t end_ns) {
  const bool is_whole = ranges == open.graph->count;
  for (uint32_t i = 0; i < open.graph->count; ++i) {
    GraphKernel kernel = open.graph->kernels[i];
    if (!kernel.is_wanted) continue;
    kernel.launch.stream = open.kernel.launch.stream;
    Keep(open, kernel, is_whole ? int64_t{i} : -1, correlation, end_ns);
  }
}

void OnExit(const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth == 0 || --open.depth > 0) return;
  if (open.part == Part::kLetThrough) gate.Leave();
  if (open.part != Part::kMeasured) return;
  const uint32_t ranges = open.session->End();
  const uint64_t end_ns = MonotonicNs();
  measured_since_ns.store(0, std::memory_order_release);
  // A launch that failed left nothing.
  if (ranges > 0 && open.graph != nullptr) KeepGraph(open, ranges, info->correlationId, end_ns);
  if (ranges > 0 && open.graph == nullptr) Keep(open, open.kernel, ranges == 1 ? 0 : -1, info->correlationId, end_ns);
  gate.Open();
}

void OnInstantiated(const CUpti_CallbackData* info) {
  if (info->callbackSite != CUPTI_API_EXIT || info->functionParams == nullptr) return;
  struct {
    CUgraphExec* made;
    CUgraph source;
  } first;
  std::memcpy(&first, info->functionParams, sizeof first);
  if (first.made == nullptr) return;
  const LockGuard guard(lock);
  NoteGraph(*first.made, first.source);
}

void SayIfLong() {
  static uint64_t said_ns = 0;
  const uint64_t since = measured_since_ns.load(std::memory_order_acquire);
  const uint64_t limit = TheCounterRequest()->hang_limit_ns;
  if (since == 0 || since == said_ns || limit == 0 || MonotonicNs() - since < limit) return;
  said_ns = since;
  const trace::Text name = Names().TextOf({measured_name.load(std::memory_order_relaxed)});
  Message message;
  char text[200] = {};
  std::memcpy(text, name.data, name.size < sizeof text ? name.size : sizeof text - 1);
  message << "measuring " << text << " has taken " << limit / 1'000'000'000
          << " s and is not done: a kernel that waits for another one, or for another GPU, never ends while it is "
             "measured. Leave it out (-k, -s), or measure ranges (--replay-mode range)";
  Say(trace::NoticeLevel::kWarning, message);
}

void ListenToLaunches(CUpti_SubscriberHandle subscriber) {
  for (const Call& call : kCalls) {
    Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.cbid);
  }
}

bool TakeCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (is_off.load(std::memory_order_relaxed)) return false;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    if (cbid != CUPTI_CBID_RESOURCE_CONTEXT_CREATED || data == nullptr) return false;
    // Now, as it takes its time: the first launch would look slow.
    const LockGuard guard(lock);
    SessionOf(static_cast<const CUpti_ResourceData*>(data)->context);
    return false;
  }
  const Call* call = domain == CUPTI_CB_DOMAIN_DRIVER_API ? CallOf(cbid) : nullptr;
  if (call == nullptr) return false;
  ErrnoGuard errno_guard;
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  if (call->what == What::kInstantiate) {
    OnInstantiated(info);
  } else if (info->callbackSite == CUPTI_API_ENTER) {
    OnEnter(*call, info);
  } else {
    OnExit(info);
  }
  return true;
}

constexpr CallbackListener kListener = {ListenToLaunches, TakeCallback};

}  // namespace

void StartCounters() {
  if (ReadCounterRequest() != nullptr) SetCallbackListener(&kListener);
}

void RetellCounters() { RetellPlans(); }

void DrainCounters(DrainRound*) {
  if (TheCounterRequest() == nullptr) return;
  SayIfLong();
  TellPlans();
  TakeMeasuredRanges();
}

void SalvageCounters(DrainRound*) {
  TellPlans();
  TakeMeasuredRanges();
}

void StopCounters(StopReason) { is_off.store(true, std::memory_order_relaxed); }

void ResetCountersAfterFork() {
  is_off.store(false, std::memory_order_relaxed);
  lock.ResetAfterFork();
  gate.ResetAfterFork();
  measured_since_ns.store(0, std::memory_order_relaxed);
  ranges_begun = launches_seen = 0;
  open_launch = {};
  RangeSession::ForgetAfterFork();
  ForgetPlansAfterFork();
  ForgetGraphsAfterFork();
  ForgetRangesAfterFork();
}

}  // namespace gprof::tracer

#else

namespace gprof::tracer {

void StartCounters() {
  if (ReadCounterRequest() == nullptr) return;
  Message message;
  message << "no kernel counters: this tracer was built with the headers of a CUDA before 12.8";
  Say(trace::NoticeLevel::kWarning, message);
}
void RetellCounters() {}
void DrainCounters(DrainRound*) {}
void SalvageCounters(DrainRound*) {}
void StopCounters(StopReason) {}
void ResetCountersAfterFork() {}

}  // namespace gprof::tracer
#endif
