#include "tracer/counters/launches/measured_launch.h"

#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/counters/launches/batch_closer.h"
#include "tracer/counters/launches/hang_watch.h"
#include "tracer/counters/profiler/clock_control.h"
#include "tracer/counters/results/measuring.h"
#include "tracer/cupti/library/driver_queries.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

namespace {

constinit thread_local OpenLaunch open_launch;
constinit uint32_t launches_seen = 0, launches_measured = 0;

// With the replay of the plan: libcupti 13.0 crashes where an object of its profiler is used with one and then another.
void BeginAlone(OpenLaunch* open) {
  if (open->launch.is_graph) {
    SynchronizeContext();  // what was launched before is not in it
    if (open->session->BeginOneRange(open->launch.kernel.launch.symbol)) open->part = LaunchPart::kAlone;
    return;
  }
  const bool is_replayed = open->session->plan().replay == trace::ReplayMode::kKernel;
  if (open->session->Begin(1, is_replayed ? CUPTI_KernelReplay : CUPTI_ApplicationReplay))
    open->part = LaunchPart::kAlone;
}

// Without a batch as well, when the launch is not wanted.
void BeginInBatch(OpenLaunch* open) {
  const bool is_wanted = open->choice == Choice::kMeasured;
  if (measuring.batch.IsOpen() && (!measuring.batch.IsOf(open->session) || !measuring.batch.HasRoom(is_wanted)))
    CloseBatch();
  if (!measuring.batch.IsOpen() && is_wanted && measuring.batch.Open(open->session)) WakeCloser();
  if (measuring.batch.IsOpen()) open->part = LaunchPart::kInBatch;
}

// A program that is ended by us has its values before: a batch that the end of a capture closed got error 999 (H200).
// A batch is one pass, before which caches are flushed once.
bool IsForBatch(const OpenLaunch& open) {
  const CounterRequest& request = *TheCounterRequest();
  return !request.ends_program && !request.flushes_caches && open.session != nullptr && !open.launch.is_graph &&
         open.choice != Choice::kLeftOut && measuring.batch.PaysOff() &&
         open.session->plan().replay == trace::ReplayMode::kNone;
}

// With kernel replay libcupti 13.0 does not run the kernels of a graph that was instantiated before the profiler was
// started, and without it ends in error 999 (measured). So graphs run as ever.
void SayGraphs() {
  Message message;
  message << "kernels of CUDA graphs are not measured individually; --graph-profiling graph measures each graph launch "
             "as a whole";
  Say(trace::NoticeLevel::kWarning, message);
}

// Memory that a graph writes cannot be restored, so it runs once.
void SayPassesOfGraphs(uint32_t passes) {
  Message message;
  message << "graphs are not measured: these metrics take " << passes
          << " passes, but a graph runs only once. Use --set light, which needs one pass";
  Say(trace::NoticeLevel::kWarning, message);
}

// False: the launch is of a graph, and those are not measured.
bool TakeGraph(OpenLaunch* open, const CUpti_CallbackData* info) {
  const DevicePlan& plan = open->session->plan();
  if (!TheCounterRequest()->measures_graphs) {
    SayGraphs();
  } else if (plan.passes > 1) {
    SayPassesOfGraphs(plan.passes);
  } else {
    open->launch.is_graph = true;
    open->launch.kernel.launch.context = info->contextUid;
    open->launch.kernel.launch.symbol = NameOfLaunchedGraph(info);
  }
  return open->launch.is_graph;
}

void Choose(OpenLaunch* open, const LaunchCall& call, const CUpti_CallbackData* info) {
  const LockGuard guard(measuring.lock);
  open->launch.number = ++launches_seen;
  open->session = SessionOf(info->context);
  if (open->session == nullptr) return;
  open->launch.kernel.launch.device = open->session->plan().device;
  if (call.what == What::kGraph && !TakeGraph(open, info)) return;
  open->launch.kernel.launch.nvtx = NvtxStateNow();
  open->choice = measuring.filter.Choose(open->launch.kernel.launch);
  if (open->choice == Choice::kMeasured) open->launch.nvtx = PathOf(open->launch.kernel.launch.nvtx);
  open->launch.kernel.launch.nvtx = {};
}

void SayUncounted(uint32_t ranges) {
  Message message;
  message << "libcupti counted " << ranges << " kernels for one launch: the launch gets no values";
  Say(trace::NoticeLevel::kWarning, message);
}

void EndAlone(const OpenLaunch& open, bool has_run) {
  if (open.launch.is_graph) SynchronizeContext();
  const uint32_t ranges = open.session->End();
  if (!has_run) return;
  if (ranges != 1 && open.session->IsUsable()) SayUncounted(ranges);
  if (ranges == 0) return;
  KeepLaunch(*open.session, open.launch, ranges == 1 ? 0 : -1);
}

// A batch that was opened while the launch waited is not for it.
void LetThrough(OpenLaunch* open) {
  measuring.gate.Enter(kLaunchPatienceNs);
  open->part = LaunchPart::kLetThrough;
  while (measuring.batch.IsOpen()) {
    measuring.gate.Leave();
    const bool is_closed = measuring.gate.Close(kLaunchPatienceNs);
    if (is_closed) CloseBatch();
    if (is_closed) measuring.gate.Open();
    measuring.gate.Enter(kLaunchPatienceNs);
    if (!is_closed) return;
  }
}

void Watch(const OpenLaunch& open) { WatchLaunch(open.launch.kernel.launch.symbol, open.launch.start_ns); }

// The launch is the only one from here on, if it is measured. One of a batch returns before its kernel has ended, and
// what waits for that is the next launch or the end of the batch.
void Measure(OpenLaunch* open) {
  if (!measuring.gate.Close(kLaunchPatienceNs)) return LetThrough(open);
  if (measuring.graph_calls.load() != 0) {  // since it was looked at without the gate
    measuring.gate.Open();
    return LetThrough(open);
  }
  const bool is_for_batch = IsForBatch(*open);
  if (!is_for_batch && measuring.batch.IsOpen()) CloseBatch();
  if (open->choice == Choice::kMeasured) {
    open->launch.memory_bytes = MemoryInUse();
    TellMeasuring(open->launch.kernel.launch.symbol, open->session->plan().passes);
  }
  open->launch.start_ns = MonotonicNs();
  if (!is_for_batch) Watch(*open);
  if (is_for_batch) {
    BeginInBatch(open);
    if (!IsLaunchWatched()) Watch(*open);
  } else if (open->choice == Choice::kMeasured) {
    BeginAlone(open);
  }
  if (open->part != LaunchPart::kNone) return;
  UnwatchLaunch();
  measuring.gate.Open();
  LetThrough(open);
}

// Whether it goes into a stream that is being captured, where it does not run, and what measuring does would spoil the
// capture. Else fills in what the launch is.
bool IsCaptured(const LaunchCall& call, const CUpti_CallbackData* info, OpenLaunch* open) {
  const CUstream stream =
      call.what == What::kGraph ? StreamOfGraphLaunch(call, info) : Describe(call, info, &open->launch.kernel);
  if (measuring.graph_calls.load(std::memory_order_relaxed) != 0 || IsCapturingStream(stream)) return true;
  open->launch.kernel.launch.stream = StreamId(info->context, stream);
  return false;
}

}  // namespace

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
  if (open.choice == Choice::kMeasured || measuring.batch.IsOpen()) return Measure(&open);
  LetThrough(&open);
}

void OnExit(const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth == 0 || --open.depth > 0) return;
  if (open.part == LaunchPart::kLetThrough) measuring.gate.Leave();
  if (open.part != LaunchPart::kAlone && open.part != LaunchPart::kInBatch) return;
  open.launch.end_ns = MonotonicNs();
  int32_t result = 0;
  if (info->functionReturnValue != nullptr) std::memcpy(&result, info->functionReturnValue, sizeof result);
  if (open.part == LaunchPart::kAlone) {
    EndAlone(open, result == 0);
    UnwatchLaunch();
  } else if (result == 0) {
    measuring.batch.Add(open.launch, open.choice == Choice::kMeasured);
    Watch(open);
  }
  if (result == 0 && open.choice == Choice::kMeasured) {
    CountMeasured();
    if (TheCounterRequest()->ends_program && ++launches_measured == TheCounterRequest()->count) {
      ReleaseClocks();
      RequestShutdown();
    }
  }
  measuring.gate.Open();
}

void ForgetLaunchesAfterFork() {
  launches_seen = launches_measured = 0;
  open_launch = {};
  UnwatchLaunch();
}

}  // namespace gprof::tracer
#endif
