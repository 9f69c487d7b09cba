#include "tracer/counters/counter_collector.h"

#include "tracer/core/notice.h"
#include "tracer/counters/profiler/profiler_api.h"
#include "tracer/counters/request/wanted_counters.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/counters/launches/batch_closer.h"
#include "tracer/counters/launches/hang_watch.h"
#include "tracer/counters/launches/launch_calls.h"
#include "tracer/counters/launches/measured_launch.h"
#include "tracer/counters/launches/measuring_state.h"
#include "tracer/counters/launches/whole_range.h"
#include "tracer/counters/pc_sampling/pc_sampler.h"
#include "tracer/counters/pc_sampling/pc_table.h"
#include "tracer/counters/profiler/clock_control.h"
#include "tracer/counters/profiler/device_plan.h"
#include "tracer/counters/results/measured_ranges.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

bool HasFailed(const CUpti_CallbackData* info) {
  int32_t result = 0;
  if (info->functionReturnValue != nullptr) std::memcpy(&result, info->functionReturnValue, sizeof result);
  return result != 0;
}

// While a stream is captured, the profiler must not wait for the device, which would spoil the capture. What is made of
// a graph while the profiler runs is not what runs without it.
void OnGraphCall(What what, const CUpti_CallbackData* info) {
  const bool is_entry = info->callbackSite == CUPTI_API_ENTER;
  if (is_entry && what != What::kEndCapture) {
    measuring.graph_calls.fetch_add(1);
    return EndMeasuring();
  }
  const bool is_over = !is_entry && (what != What::kBeginCapture || HasFailed(info));
  if (is_over && measuring.graph_calls.load() > 0) measuring.graph_calls.fetch_sub(1);
}

void OnContextGoes(CUcontext context) {
  const LockGuard guard(measuring.lock);
  RangeSession* session = RangeSession::Known(context);
  if (session == nullptr) return;
  if (measuring.batch.IsOf(session)) EndBatch();
  EndRange(session);
  session->Drop();
}

void OnResource(CUpti_CallbackId cbid, const CUpti_ResourceData* data) {
  if (data == nullptr) return;
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) OnContextGoes(data->context);
  if (cbid != CUPTI_CBID_RESOURCE_CONTEXT_CREATED) return;
  const LockGuard guard(measuring.lock);
  // Now, as it takes its time: the first launch would look slow.
  RangeSession* session = SessionOf(data->context);
  if (session != nullptr && MeasuresRanges()) JoinRange(session);
}

void OnDriverGoes() {
  EndBatch();
  if (MeasuresRanges()) EndRanges();
  ReleaseClocks();
}

bool TakeCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (measuring.is_off.load(std::memory_order_relaxed)) return false;
  ErrnoGuard errno_guard;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) OnResource(cbid, static_cast<const CUpti_ResourceData*>(data));
  const LaunchCall* call = domain == CUPTI_CB_DOMAIN_DRIVER_API ? LaunchCallOf(cbid) : nullptr;
  if (call == nullptr || MeasuresRanges()) return call != nullptr;
  const auto* info = static_cast<const CUpti_CallbackData*>(data);
  if (!call->IsLaunch()) {
    OnGraphCall(call->what, info);
  } else if (info->callbackSite == CUPTI_API_ENTER) {
    OnEnter(*call, info);
  } else {
    OnExit(info);
  }
  return true;
}

constexpr CallbackListener kListener = {
    .subscribe = EnableLaunchCallbacks, .take = TakeCallback, .driver_goes = OnDriverGoes};

}  // namespace

void StartCounters() {
  const CounterRequest* request = ReadCounterRequest();
  if (request == nullptr) return;
  if (request->samples_instructions) return StartPcSampling();
  KeepOpenRanges();
  if (MeasuresRanges()) StartRanges();
  callback_listener = &kListener;
}

void SwitchCounters(bool on) {
  if (TheCounterRequest() == nullptr || TheCounterRequest()->samples_instructions ||
      measuring.is_off.load(std::memory_order_relaxed))
    return;
  if (MeasuresRanges()) return SwitchRanges(on);
  if (!on) EndMeasuring();  // whoever ended the capture waits for its values
}

void RetellCounters() { RetellPlans(); }

void DrainCounters(DrainRound*) {
  if (TheCounterRequest() == nullptr) return;
  if (TheCounterRequest()->samples_instructions) return TellPcSamples();
  SayIfLong();
  TellPlans();
  TakeMeasuredRanges();
}

void SalvageCounters(DrainRound*) {
  TellPcSamples();
  TellPlans();
  TakeMeasuredRanges();
}

void StopCounters(StopReason why) {
  measuring.is_off.store(true, std::memory_order_release);
  StopPcSampling(why);
  if (why == StopReason::kThreadsEnd) StopCloser();
}

void ResetCountersAfterFork() {
  measuring.ResetAfterFork();
  ForgetLaunchesAfterFork();
  ForgetCloserAfterFork();
  ResetPcSamplingAfterFork();
  RangeSession::ForgetAfterFork();
  ForgetPlansAfterFork();
  ForgetClocksAfterFork();
  ForgetRangesAfterFork();
  ForgetOpenRangeAfterFork();
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
