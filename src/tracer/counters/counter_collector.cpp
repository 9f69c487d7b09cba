#include "tracer/counters/counter_collector.h"

#include "tracer/core/notice.h"
#include "tracer/counters/profiler/profiler_api.h"
#include "tracer/counters/request/wanted_counters.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cstring>
#include <string_view>

#include "tracer/core/capture.h"
#include "tracer/core/config.h"
#include "tracer/counters/launches/driver_facts.h"
#include "tracer/counters/launches/launch_batch.h"
#include "tracer/counters/launches/launch_calls.h"
#include "tracer/counters/launches/launch_gate.h"
#include "tracer/counters/pc_sampling/pc_sampler.h"
#include "tracer/counters/pc_sampling/pc_table.h"
#include "tracer/counters/profiler/replay_state.h"
#include "tracer/counters/results/held_up.h"
#include "tracer/counters/results/measured_ranges.h"
#include "tracer/counters/results/measuring.h"
#include "tracer/counters/sampling/launch_sampler.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxFacts = 32;

constinit std::atomic<bool> is_off{false};
Lock lock;  // of plans, sessions, graphs and the filter
LaunchGate gate;
LaunchFilter filter;
constinit LaunchBatch batch;
LaunchSampler sampler;

// A run that is recorded for its time must not wait.
uint64_t GatePatienceNs() { return sampler.IsOn() ? 20'000'000 : 2'000'000'000; }

uint32_t launches_seen = 0;
constinit std::atomic<uint32_t> captures{0};  // of streams, under way

// The launch that is being measured, for whoever waits for it.
constinit std::atomic<uint64_t> measured_since_ns{0};
constinit std::atomic<uint32_t> measured_name{0};

// What the thread is in the midst of.
enum class Part : uint8_t { kNone, kLetThrough, kAlone, kInBatch };
struct OpenLaunch {
  uint32_t depth = 0;          // of launches within launches
  uint64_t held_since_ns = 0;  // by a sample; 0: it is not
  Part part = Part::kNone;
  Choice choice = Choice::kLeftOut;
  RangeSession* session = nullptr;
  uint64_t replay_name = 0;  // with application replay
  MeasuredLaunch launch;
};
thread_local OpenLaunch open_launch;

bool PrepareOnce() {
  static bool is_tried = false, is_ready = false;
  if (is_tried) return is_ready;
  is_tried = true;
  CounterRequest& request = *ReadCounterRequest();
  is_ready = filter.Prepare(&request) && MakeRoomForRanges(request.metric_count + kMaxFacts);
  return is_ready;
}

RangeSession* SessionOf(CUcontext context) { return PrepareOnce() ? RangeSession::Of(context) : nullptr; }

// ---- batches ----

constinit std::atomic<uint32_t> closer_word{0};  // changes when there is something to do for the thread
constinit std::atomic<bool> has_closer{false}, closer_ends{false};

void CloseBatch() {
  if (!batch.IsOpen()) return;
  const CurrentContext current(batch.context());
  batch.Close();
  if (!sampler.IsOn()) return;
  sampler.Ended();
  if (!batch.PaysOff()) sampler.GiveUp();
}

// The program waits for a sample.
void HoldUp(uint64_t since_ns) {
  const uint64_t now_ns = MonotonicNs();
  sampler.HeldUp(now_ns - since_ns);
  NoteHeldUp(since_ns, now_ns, CurrentTid());
}

constexpr uint64_t kPeriodNs = 100'000'000;

void CloseIfOld() {
  if (!batch.IsOld() || !gate.Close(kPeriodNs)) return;
  const uint64_t since_ns = MonotonicNs();
  if (batch.IsOld() && !is_off.load(std::memory_order_acquire)) {
    CloseBatch();
    if (sampler.IsOn()) HoldUp(since_ns);
  }
  gate.Open();
}

// Contexts that wait for being made ready for samples.
CUcontext contexts[8] = {};

// To start the profiler for the first time takes 360 ms on its own thread, and 800 ms within a launch (H200).
void WarmUp(RangeSession* session) {
  if (!gate.Close(GatePatienceNs())) return;
  const uint64_t since_ns = MonotonicNs();
  if (captures.load() == 0) {
    const CurrentContext current(session->context());
    if (session->Begin(LaunchSampler::kLaunches, CUPTI_ApplicationReplay)) session->End();
  }
  HoldUp(since_ns);
  gate.Open();
}

// False: all that can be ready is, and nothing was done. Else the program may have been held up.
bool PrepareContexts() {
  const LockGuard guard(lock);
  bool has_work = false, is_good = false;
  for (CUcontext context : contexts) {
    if (context == nullptr) continue;
    const RangeSession* known = RangeSession::Known(context);
    const bool is_done = known != nullptr && (known->HasBegun() || !known->IsUsable());
    RangeSession* session = SessionOf(context);
    if (!is_done && session != nullptr) WarmUp(session);
    has_work |= !is_done;
    is_good |= session != nullptr && session->IsUsable();
  }
  if (!is_good) sampler.GiveUp();
  return has_work;
}

// Long before a launch needs it, as it takes its time.
void SampleIfDue() {
  if (!sampler.IsOn() || !IsCapturing() || sampler.WaitNs(MonotonicNs()) != 0) return;
  if (PrepareContexts()) return sampler.SetReady();
  sampler.SetDue(MonotonicNs());
}

uint64_t WaitOfCloser() {
  const uint64_t wait_ns = sampler.WaitNs(MonotonicNs());
  return batch.IsOpen() || wait_ns == 0 ? kPeriodNs : wait_ns;
}

// Ends batches in time where no launch does, and sees when samples are due.
void* RunCloser(void* name) {
  NameThread(static_cast<const char*>(name));
  while (!closer_ends.load(std::memory_order_acquire)) {
    const uint32_t seen = closer_word.load(std::memory_order_acquire);
    FutexWait(&closer_word, seen, WaitOfCloser());
    if (is_off.load(std::memory_order_acquire)) continue;
    CloseIfOld();
    SampleIfDue();
  }
  return nullptr;
}

void WakeCloser() {
  if (!has_closer.exchange(true)) StartThread(RunCloser, "gprof-counters");
  closer_word.fetch_add(1, std::memory_order_release);
  FutexWake(&closer_word);
}

// ---- a launch ----

// A batch that was opened while the launch waited is not for it.
void LetThrough(OpenLaunch* open) {
  gate.Enter(GatePatienceNs());
  open->part = Part::kLetThrough;
  while (batch.IsOpen()) {
    gate.Leave();
    const bool is_closed = gate.Close(GatePatienceNs());
    if (is_closed) CloseBatch();
    if (is_closed) gate.Open();
    gate.Enter(GatePatienceNs());
    if (!is_closed) return;
  }
}

// With the replay of the plan: libcupti 13.0 crashes where an object of its profiler is used with one and then another.
void BeginAlone(OpenLaunch* open) {
  if (open->replay_name != 0) {
    if (open->session->BeginPass(open->replay_name)) open->part = Part::kAlone;
    return;
  }
  const bool is_replayed = open->session->plan().replay == trace::ReplayMode::kKernel;
  if (open->session->Begin(1, is_replayed ? CUPTI_KernelReplay : CUPTI_ApplicationReplay)) open->part = Part::kAlone;
}

// Without a batch as well, when the launch is not wanted.
void BeginInBatch(OpenLaunch* open) {
  const bool is_wanted = open->choice == Choice::kMeasured;
  if (batch.IsOpen() && (!batch.IsOf(open->session) || !batch.HasRoom(is_wanted))) CloseBatch();
  const uint32_t most = sampler.IsOn() ? LaunchSampler::kLaunches : LaunchBatch::kMost;
  const bool may_begin = is_wanted && (!sampler.IsOn() || sampler.IsDue());
  if (!batch.IsOpen() && may_begin && batch.Open(open->session, most)) WakeCloser();
  if (batch.IsOpen()) open->part = Part::kInBatch;
}

bool IsForBatch(const OpenLaunch& open) {
  return open.session != nullptr && open.choice != Choice::kLeftOut && batch.PaysOff() &&
         open.session->plan().replay == trace::ReplayMode::kNone;
}

// The launch is the only one from here on, if it is measured.
void Measure(OpenLaunch* open) {
  if (!gate.Close(GatePatienceNs())) return LetThrough(open);
  const bool is_for_batch = IsForBatch(*open);
  if (!is_for_batch && batch.IsOpen()) CloseBatch();
  open->launch.start_ns = MonotonicNs();
  measured_name.store(Names().Intern(open->launch.kernel.launch.symbol).value, std::memory_order_relaxed);
  measured_since_ns.store(open->launch.start_ns, std::memory_order_release);
  if (!sampler.IsOn() && open->choice == Choice::kMeasured)
    TellMeasuring(open->launch.kernel.launch.symbol, open->session->plan().passes);
  if (is_for_batch) {
    BeginInBatch(open);
  } else if (open->choice == Choice::kMeasured) {
    BeginAlone(open);
  }
  if (open->part != Part::kNone) return;
  measured_since_ns.store(0, std::memory_order_release);
  gate.Open();
  LetThrough(open);
}

// With kernel replay libcupti 13.0 does not run the kernels of a graph that was instantiated before the profiler was
// started, and without it ends in error 999 (measured). So graphs run as ever.
void SayGraphs() {
  Message message;
  message << "kernels of CUDA graphs are not measured one by one; --replay-mode range measures what they do together";
  Say(trace::NoticeLevel::kWarning, message);
}

void Choose(OpenLaunch* open, const LaunchCall& call, const CUpti_CallbackData* info) {
  const LockGuard guard(lock);
  open->launch.number = ++launches_seen;
  open->session = SessionOf(info->context);
  if (open->session == nullptr) return;
  open->launch.kernel.launch.device = open->session->plan().device;
  if (call.what == What::kGraph) return SayGraphs();
  if (KeepsOpenRanges()) open->launch.kernel.launch.nvtx = NvtxStateNow();
  if (open->session->plan().replay == trace::ReplayMode::kApplication)
    open->replay_name = ReplayNameOf(open->launch.kernel.launch);
  open->choice = filter.Choose(open->launch.kernel.launch);
  if (open->choice == Choice::kMeasured) open->launch.nvtx = PathOf(open->launch.kernel.launch.nvtx);
  open->launch.kernel.launch.nvtx = {};
}

// A launch into a stream that is being captured does not run, and what measuring does would spoil the capture.
bool IsCaptured(const LaunchCall& call, const CUpti_CallbackData* info, OpenLaunch* open) {
  const CUstream stream =
      call.what == What::kGraph ? StreamOfGraphLaunch(call, info) : Describe(call, info, &open->launch.kernel);
  if (captures.load(std::memory_order_relaxed) != 0 || IsCapturingStream(stream)) return true;
  open->launch.kernel.launch.stream = StreamId(info->context, stream);
  return false;
}

void EndBatch() {
  if (!batch.IsOpen() || !gate.Close(GatePatienceNs())) return;
  CloseBatch();
  gate.Open();
}

void OnEnter(const LaunchCall& call, const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth++ > 0) return;
  open = {};
  open.depth = 1;
  open.launch.correlation = info->correlationId;
  if (!IsCapturing() || info->functionParams == nullptr || IsCaptured(call, info, &open)) {
    EndBatch();
    return LetThrough(&open);
  }
  Choose(&open, call, info);
  // Whatever is launched while a batch is open is in it, or ends it.
  if (open.choice == Choice::kMeasured || batch.IsOpen()) return Measure(&open);
  LetThrough(&open);
}

void EndAlone(const OpenLaunch& open, bool has_run) {
  const uint32_t ranges = open.session->End();
  if (ranges == 0 || !has_run) return;
  if (open.replay_name != 0 && (ranges != 1 || !open.session->EndPass(open.replay_name))) return;
  KeepLaunch(*open.session, open.launch, ranges == 1 ? 0 : -1);
}

void OnExit(const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth == 0 || --open.depth > 0) return;
  if (open.part == Part::kLetThrough) gate.Leave();
  if (open.part != Part::kAlone && open.part != Part::kInBatch) return;
  open.launch.end_ns = MonotonicNs();
  int32_t result = 0;
  if (info->functionReturnValue != nullptr) std::memcpy(&result, info->functionReturnValue, sizeof result);
  if (open.part == Part::kAlone) {
    EndAlone(open, result == 0);
  } else if (result == 0) {
    batch.Add(open.launch, open.choice == Choice::kMeasured);
  }
  measured_since_ns.store(0, std::memory_order_release);
  if (result == 0 && !sampler.IsOn() && open.choice == Choice::kMeasured) CountMeasured();
  gate.Open();
}

// ---- a few launches now and then ----

// The launch is in the sample: it begins it, or comes while it goes on.
bool IsSampled(const CUpti_CallbackData* info, OpenLaunch* open) {
  const LockGuard guard(lock);
  RangeSession* session = RangeSession::Known(info->context);
  if (session == nullptr || !session->IsUsable()) return false;
  const Launch& launch = open->launch.kernel.launch;
  open->session = session;
  open->launch.kernel.launch.device = session->plan().device;
  if (batch.IsOpen() ? batch.IsOld() : !sampler.Wants(Names().Intern(launch.symbol).value, MonotonicNs())) return false;
  open->choice = filter.Choose(launch);
  return open->choice == Choice::kMeasured;
}

void Sample(const LaunchCall& call, const CUpti_CallbackData* info, OpenLaunch* open) {
  const uint64_t since_ns = MonotonicNs();
  open->launch.correlation = info->correlationId;
  const bool is_captured = !IsCapturing() || info->functionParams == nullptr || IsCaptured(call, info, open);
  if (is_captured) EndBatch();
  const bool is_sampled = !is_captured && call.what != What::kGraph && IsSampled(info, open);
  if (!is_sampled) open->choice = Choice::kLeftOut;
  if (is_sampled || batch.IsOpen()) {
    open->held_since_ns = since_ns;
    Measure(open);
    if (is_sampled && !open->session->IsUsable()) sampler.GiveUp();
    if (open->part != Part::kLetThrough) return;
    HoldUp(since_ns);
    if (is_sampled) sampler.Ended();
  } else {
    LetThrough(open);
  }
}

// As cheap as can be where nothing is measured, which is nearly always.
void OnSampledEnter(const LaunchCall& call, const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth++ > 0) return;
  open.part = Part::kLetThrough;
  open.held_since_ns = 0;
  gate.Enter(GatePatienceNs());
  if (!batch.IsOpen() && !sampler.IsDue()) return;
  gate.Leave();
  open = {};
  open.depth = 1;
  Sample(call, info, &open);
}

void OnSampledExit(const CUpti_CallbackData* info) {
  const OpenLaunch& open = open_launch;
  const bool is_in_batch = open.depth == 1 && open.part == Part::kInBatch;
  if (is_in_batch) sampler.Measured(Names().Intern(open.launch.kernel.launch.symbol).value);
  OnExit(info);
  if (!is_in_batch) return;
  if (batch.IsFull()) EndBatch();
  HoldUp(open.held_since_ns);
}

// ---- one range instead of launches ----

bool MeasuresRanges() { return TheCounterRequest()->replay == Replay::kRange; }

const char* RangeName() { return Config().capture_range[0] != 0 ? Config().capture_range : "the whole run"; }

constinit std::atomic<uint64_t> range_start_ns{0};

void BeginRange(RangeSession* session) {
  const CurrentContext current(session->context());
  range_start_ns.store(MonotonicNs(), std::memory_order_relaxed);
  session->BeginOneRange(RangeName());
}

void EndRange(RangeSession* session) {
  if (!session->IsInOneRange()) return;
  const CurrentContext current(session->context());
  const uint64_t end_ns = MonotonicNs();
  if (session->End() == 1) KeepOneRange(*session, RangeName(), range_start_ns.load(std::memory_order_relaxed), end_ns);
}

void EndRanges() {
  const LockGuard guard(lock);
  RangeSession::ForEach(EndRange);
}

// ---- other calls ----

void OnCapture(What what, const CUpti_CallbackData* info) {
  if (what == What::kBeginCapture && info->callbackSite == CUPTI_API_ENTER) {
    // Not while the profiler is being started, which would spoil it.
    if (sampler.IsOn()) gate.Enter(GatePatienceNs());
    captures.fetch_add(1);
    if (sampler.IsOn()) gate.Leave();
    EndBatch();
  }
  if (what == What::kEndCapture && info->callbackSite == CUPTI_API_EXIT && captures.load() > 0) captures.fetch_sub(1);
}

void NoteContext(CUcontext context) {
  for (CUcontext& noted : contexts) {
    if (noted != nullptr) continue;
    noted = context;
    return WakeCloser();
  }
}

void OnContextGoes(CUcontext context) {
  const LockGuard guard(lock);
  for (CUcontext& noted : contexts) {
    if (noted == context) noted = nullptr;
  }
  RangeSession* session = RangeSession::Known(context);
  if (session == nullptr) return;
  if (batch.IsOf(session)) EndBatch();
  EndRange(session);
  session->Drop();
}

void OnResource(CUpti_CallbackId cbid, const CUpti_ResourceData* data) {
  if (data == nullptr) return;
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) OnContextGoes(data->context);
  if (cbid != CUPTI_CBID_RESOURCE_CONTEXT_CREATED) return;
  const LockGuard guard(lock);
  if (sampler.IsOn()) return NoteContext(data->context);
  // Now, as it takes its time: the first launch would look slow.
  RangeSession* session = SessionOf(data->context);
  if (session != nullptr && MeasuresRanges() && IsCapturing()) BeginRange(session);
}

void OnDriverGoes() {
  EndBatch();
  if (MeasuresRanges()) EndRanges();
}

bool TakeCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (is_off.load(std::memory_order_relaxed)) return false;
  ErrnoGuard errno_guard;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) OnResource(cbid, static_cast<const CUpti_ResourceData*>(data));
  const LaunchCall* call = domain == CUPTI_CB_DOMAIN_DRIVER_API ? LaunchCallOf(cbid) : nullptr;
  if (call == nullptr || MeasuresRanges()) return call != nullptr;
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  if (call->what == What::kInstantiate) {
    // What is made of a graph while the profiler runs is not what runs without it.
    if (info->callbackSite == CUPTI_API_ENTER) EndBatch();
  } else if (call->what == What::kBeginCapture || call->what == What::kEndCapture) {
    OnCapture(call->what, info);
  } else if (sampler.IsOn()) {
    if (info->callbackSite == CUPTI_API_ENTER) OnSampledEnter(*call, info);
  } else if (info->callbackSite == CUPTI_API_ENTER) {
    OnEnter(*call, info);
  } else {
    OnExit(info);
  }
  return !sampler.IsOn();
}

// What a call is recorded to take is without what ending a sample takes.
void AfterOthers(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (!sampler.IsOn() || domain != CUPTI_CB_DOMAIN_DRIVER_API || is_off.load(std::memory_order_relaxed)) return;
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  const LaunchCall* call = info->callbackSite == CUPTI_API_EXIT ? LaunchCallOf(cbid) : nullptr;
  if (call == nullptr || !call->IsLaunch()) return;
  ErrnoGuard errno_guard;
  OnSampledExit(info);
}

// libcupti 13.0 delivers, for each launch that is measured, a kernel of its own beside that of the program.
bool IsOfProfiler(trace::StringId name) {
  constexpr std::string_view kWait = "WaitNs";
  return Names().TextOf(name).View() == kWait;
}

bool TakeKernel(uint32_t name, uint64_t duration_ns) {
  if (!sampler.IsOn()) return true;
  if (IsOfProfiler({name})) return false;
  sampler.KernelRan(name, duration_ns);
  return true;
}

bool KeepsOn(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API && LaunchCallOf(cbid) != nullptr;
}

constexpr CallbackListener kListener = {.subscribe = EnableLaunchCallbacks,
                                        .take = TakeCallback,
                                        .after_others = AfterOthers,
                                        .keeps_on = KeepsOn,
                                        .take_kernel = TakeKernel,
                                        .driver_goes = OnDriverGoes};

void SayIfLong() {
  static uint64_t said_ns = 0;
  const uint64_t since = measured_since_ns.load(std::memory_order_acquire);
  const uint64_t limit = TheCounterRequest()->hang_limit_ns;
  if (since == 0 || since == said_ns || limit == 0 || MonotonicNs() - since < limit) return;
  said_ns = since;
  const trace::Text name = Names().TextOf({measured_name.load(std::memory_order_relaxed)});
  char text[kMaxNameBytes + 1] = {};
  std::memcpy(text, name.data, name.size < sizeof text ? name.size : sizeof text - 1);
  const NamePart function = FunctionNameOf(text);
  text[function.at - text + static_cast<std::ptrdiff_t>(function.size)] = 0;
  Message message;
  message << "measuring " << function.at << " has taken " << limit / 1'000'000'000
          << " s and is not done: a kernel that waits for another one, or for another GPU, never ends while it is "
             "measured. Leave it out with -k or -s";
  Say(trace::NoticeLevel::kWarning, message);
}

}  // namespace

void StartCounters() {
  const CounterRequest* request = ReadCounterRequest();
  if (request == nullptr) return;
  if (request->samples_instructions) return StartPcSampling();
  sampler.Begin(request->budget_permille, MonotonicNs());
  if (!sampler.IsOn()) KeepOpenRanges();
  SetCallbackListener(&kListener);
}

void SwitchCounters(bool on) {
  if (TheCounterRequest() == nullptr || TheCounterRequest()->samples_instructions ||
      is_off.load(std::memory_order_relaxed))
    return;
  if (sampler.IsOn() && !on) EndBatch();
  if (!MeasuresRanges()) return;
  if (!on) return EndRanges();
  const LockGuard guard(lock);
  RangeSession::ForEach(BeginRange);
}

void RetellCounters() { RetellPlans(); }

void DrainCounters(DrainRound*) {
  if (TheCounterRequest() == nullptr) return;
  if (TheCounterRequest()->samples_instructions) return TellPcSamples();
  SayIfLong();
  TellPlans();
  TellHeldUp();
  TakeMeasuredRanges();
}

void SalvageCounters(DrainRound*) {
  TellPcSamples();
  TellPlans();
  TellHeldUp();
  TakeMeasuredRanges();
}

void StopCounters(StopReason why) {
  is_off.store(true, std::memory_order_release);
  StopPcSampling(why);
  if (why != StopReason::kThreadsEnd) return;
  closer_ends.store(true, std::memory_order_release);
  closer_word.fetch_add(1, std::memory_order_release);
  FutexWake(&closer_word);
}

void ResetCountersAfterFork() {
  is_off.store(false, std::memory_order_relaxed);
  has_closer.store(false, std::memory_order_relaxed);
  captures.store(0, std::memory_order_relaxed);
  lock.ResetAfterFork();
  gate.ResetAfterFork();
  measured_since_ns.store(0, std::memory_order_relaxed);
  launches_seen = 0;
  open_launch = {};
  ResetPcSamplingAfterFork();
  batch.ForgetAfterFork();
  sampler.Forget();
  for (CUcontext& noted : contexts) noted = nullptr;
  ForgetHeldUpAfterFork();
  RangeSession::ForgetAfterFork();
  ForgetPlansAfterFork();
  ForgetReplayAfterFork();
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
void SwitchCounters(bool) {}
void RetellCounters() {}
void DrainCounters(DrainRound*) {}
void SalvageCounters(DrainRound*) {}
void StopCounters(StopReason) {}
void ResetCountersAfterFork() {}

}  // namespace gprof::tracer
#endif
