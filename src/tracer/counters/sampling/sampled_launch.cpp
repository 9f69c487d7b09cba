#include "tracer/counters/sampling/sampled_launch.h"

#include <string_view>

#include "tracer/capture/capture.h"
#include "tracer/counters/launches/batch_closer.h"
#include "tracer/counters/launches/measured_launch.h"
#include "tracer/store/interned_names.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {
namespace {

// The launch is in the sample: it begins it, or comes while it goes on.
bool IsSampled(const CUpti_CallbackData* info, OpenLaunch* open) {
  const LockGuard guard(measuring.lock);
  RangeSession* session = RangeSession::Known(info->context);
  if (session == nullptr || !session->IsUsable()) return false;
  const Launch& launch = open->launch.kernel.launch;
  open->session = session;
  open->launch.kernel.launch.device = session->plan().device;
  if (measuring.batch.IsOpen() ? measuring.batch.IsOld()
                               : !measuring.sampler.Wants(Names().Intern(launch.symbol).value, MonotonicNs()))
    return false;
  open->choice = measuring.filter.Choose(launch);
  return open->choice == Choice::kMeasured;
}

void Sample(const LaunchCall& call, const CUpti_CallbackData* info, OpenLaunch* open) {
  const uint64_t since_ns = MonotonicNs();
  open->launch.correlation = info->correlationId;
  const bool is_captured = !IsCapturing() || info->functionParams == nullptr || IsCaptured(call, info, open);
  if (is_captured) EndBatch();
  const bool is_sampled = !is_captured && call.what != What::kGraph && IsSampled(info, open);
  if (!is_sampled) open->choice = Choice::kLeftOut;
  if (is_sampled || measuring.batch.IsOpen()) {
    open->held_since_ns = since_ns;
    Measure(open);
    if (is_sampled && !open->session->IsUsable()) measuring.sampler.GiveUp();
    if (open->part != LaunchPart::kLetThrough) return;
    HoldUp(since_ns);
    if (is_sampled) measuring.sampler.Ended();
  } else {
    LetThrough(open);
  }
}

// libcupti 13.0 delivers, for each launch that is measured, a kernel of its own beside that of the program.
bool IsOfProfiler(trace::StringId name) {
  constexpr std::string_view kWait = "WaitNs";
  return Names().TextOf(name).View() == kWait;
}

}  // namespace

// As cheap as can be where nothing is measured, which is nearly always.
void OnSampledEnter(const LaunchCall& call, const CUpti_CallbackData* info) {
  OpenLaunch& open = open_launch;
  if (open.depth++ > 0) return;
  open.part = LaunchPart::kLetThrough;
  open.held_since_ns = 0;
  measuring.gate.Enter(measuring.PatienceNs());
  if (!measuring.batch.IsOpen() && !measuring.sampler.IsDue()) return;
  measuring.gate.Leave();
  open = {};
  open.depth = 1;
  Sample(call, info, &open);
}

void OnSampledExit(const CUpti_CallbackData* info) {
  const OpenLaunch& open = open_launch;
  const bool is_in_batch = open.depth == 1 && open.part == LaunchPart::kInBatch;
  if (is_in_batch) measuring.sampler.Measured(Names().Intern(open.launch.kernel.launch.symbol).value);
  OnExit(info);
  if (!is_in_batch) return;
  if (measuring.batch.IsFull()) EndBatch();
  HoldUp(open.held_since_ns);
}

bool TakeKernel(uint32_t name, uint64_t duration_ns) {
  if (!measuring.sampler.IsOn()) return true;
  if (IsOfProfiler({name})) return false;
  measuring.sampler.KernelRan(name, duration_ns);
  return true;
}

}  // namespace gprof::tracer
#endif
