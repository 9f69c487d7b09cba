#include "tracer/counters/profiler/range_session.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <limits>

#include "tracer/core/notice.h"
#include "tracer/counters/profiler/clock_control.h"
#include "tracer/counters/profiler/monitor_lock.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
RangeSession (&RangeSession::All())[kMaxContexts] {
  static RangeSession sessions[kMaxContexts];
  return sessions;
}

RangeSession* RangeSession::Known(CUcontext context) {
  for (RangeSession& session : All()) {
    if (context != nullptr && session.context_ == context) return &session;
  }
  return nullptr;
}

RangeSession* RangeSession::Of(CUcontext context) {
  if (context == nullptr) return nullptr;
  if (RangeSession* known = Known(context); known != nullptr) return known->is_usable_ ? known : nullptr;
  for (RangeSession& session : All()) {
    if (session.context_ != nullptr) continue;
    UnmapMemory(session.image_, session.mapped_);
    session = {};
    session.context_ = context;
    session.is_usable_ = session.Prepare();
    return session.is_usable_ ? &session : nullptr;
  }
  return nullptr;
}

void RangeSession::ForgetAfterFork() {
  for (RangeSession& session : All()) session = {};
}

// After a refusal the object must not be used any more: libcupti 13.0 crashes then.
bool RangeSession::Check(const char* function, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return true;
  SayProfilerFailed(function, result);
  is_usable_ = false;
  return false;
}

bool RangeSession::Prepare() {
  uint32_t device = 0;
  if (!StartProfiler() || !Check("cuptiGetDeviceId", Profiler().cuptiGetDeviceId(context_, &device))) return false;
  const uint64_t wanted = TheCounterRequest()->devices;
  if (wanted != 0 && (device >= 64 || (wanted >> device & 1) == 0)) return false;
  if (!ControlClocks(context_)) return false;
  plan_ = PlanOf(device);
  if (plan_ == nullptr) return false;
  EnableParams p = EnableParamsFor(context_);
  const auto enable = Profiler().cuptiRangeProfilerEnable;
  if (!Check("cuptiRangeProfilerEnable", enable(reinterpret_cast<CUpti_RangeProfiler_Enable_Params*>(&p))))
    return false;
  profiler_ = p.profiler;
  return true;
}

bool RangeSession::MakeRoom(uint32_t most_ranges) {
  if (most_ranges <= most_ranges_) return true;
  GPROF_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize, size);
  size.pRangeProfilerObject = profiler_;
  size.pMetricNames = plan_->metrics;
  size.numMetrics = plan_->metric_count;
  size.maxNumOfRanges = most_ranges;
  size.maxNumRangeTreeNodes = most_ranges;
  if (!Check("cuptiRangeProfilerGetCounterDataSize", Profiler().cuptiRangeProfilerGetCounterDataSize(&size)))
    return false;
  UnmapMemory(image_, mapped_);
  image_size_ = mapped_ = size.counterDataSize;
  image_ = static_cast<uint8_t*>(MapMemory(mapped_));
  most_ranges_ = image_ == nullptr ? 0 : most_ranges;
  return image_ != nullptr || Check("mmap", CUPTI_ERROR_OUT_OF_MEMORY);
}

bool RangeSession::InitializeImage() {
  GPROF_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize, p);
  p.pRangeProfilerObject = profiler_;
  p.counterDataSize = image_size_;
  p.pCounterData = image_;
  return Check("cuptiRangeProfilerCounterDataImageInitialize",
               Profiler().cuptiRangeProfilerCounterDataImageInitialize(&p));
}

// Waits for other processes of the run, the first time alone, as from then on the monitors are ours.
bool RangeSession::TakeTurn() {
  return TakeMonitors(plan_->device) || Check("cuptiRangeProfilerStart", static_cast<CUptiResult>(26));
}

bool RangeSession::Begin(uint32_t most_ranges, CUpti_ProfilerReplayMode replay) {
  has_own_range_ = false;
  return MakeRoom(most_ranges) && InitializeImage() && TakeTurn() && BeginNow(most_ranges, CUPTI_AutoRange, replay);
}

bool RangeSession::BeginOneRange(const char* name) {
  if (!MakeRoom(1) || !InitializeImage() || !TakeTurn()) return false;
  if (!BeginNow(1, CUPTI_UserRange, CUPTI_UserReplay)) return false;
  GPROF_PARAMETERS(CUpti_RangeProfiler_PushRange, push);
  push.pRangeProfilerObject = profiler_;
  push.pRangeName = name;
  has_own_range_ = Check("cuptiRangeProfilerPushRange", Profiler().cuptiRangeProfilerPushRange(&push));
  return has_own_range_;
}

// With libcupti 13.0 an object that is used with one mode and then another crashes, and so does the program where a new
// one takes its place while it runs (H200, driver 580).
bool RangeSession::SetMode(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay) {
  if (has_mode_ && (range != range_ || replay != replay_)) {
    Message message;
    message << "CUDA graphs and kernels cannot be measured in the same run: only the kind that was launched first is "
               "measured";
    Say(trace::NoticeLevel::kWarning, message);
    return false;
  }
  has_mode_ = true;
  range_ = range;
  replay_ = replay;
  return true;
}

bool RangeSession::BeginNow(uint32_t most_ranges, CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay) {
  if (!SetMode(range, replay)) return false;
  GPROF_PARAMETERS(CUpti_RangeProfiler_SetConfig, config);
  config.pRangeProfilerObject = profiler_;
  config.configSize = plan_->config_size;
  config.pConfig = plan_->config;
  config.counterDataImageSize = image_size_;
  config.pCounterDataImage = image_;
  config.range = range;
  config.replayMode = replay;
  config.maxRangesPerPass = most_ranges;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.targetNestingLevel = 1;
  if (!Check("cuptiRangeProfilerSetConfig", Profiler().cuptiRangeProfilerSetConfig(&config))) return false;
  GPROF_PARAMETERS(CUpti_RangeProfiler_Start, start);
  start.pRangeProfilerObject = profiler_;
  return Check("cuptiRangeProfilerStart", Profiler().cuptiRangeProfilerStart(&start));
}

uint32_t RangeSession::End() {
  if (has_own_range_) {
    has_own_range_ = false;
    GPROF_PARAMETERS(CUpti_RangeProfiler_PopRange, pop);
    pop.pRangeProfilerObject = profiler_;
    if (!Check("cuptiRangeProfilerPopRange", Profiler().cuptiRangeProfilerPopRange(&pop))) return 0;
  }
  GPROF_PARAMETERS(CUpti_RangeProfiler_Stop, stop);
  stop.pRangeProfilerObject = profiler_;
  if (!Check("cuptiRangeProfilerStop", Profiler().cuptiRangeProfilerStop(&stop))) return 0;
  GPROF_PARAMETERS(CUpti_RangeProfiler_DecodeData, decode);
  decode.pRangeProfilerObject = profiler_;
  if (!Check("cuptiRangeProfilerDecodeData", Profiler().cuptiRangeProfilerDecodeData(&decode))) return 0;
  GPROF_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo, info);
  info.pCounterDataImage = image_;
  info.counterDataImageSize = image_size_;
  if (Profiler().cuptiRangeProfilerGetCounterDataInfo(&info) != CUPTI_SUCCESS) return 0;
  return static_cast<uint32_t>(info.numTotalRanges);
}

bool RangeSession::Evaluate(uint32_t range, double* values) const {
  for (uint32_t i = 0; i < plan_->metric_count; ++i) values[i] = std::numeric_limits<double>::quiet_NaN();
  GPROF_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, p);
  p.pHostObject = plan_->host;
  p.pCounterDataImage = image_;
  p.counterDataImageSize = image_size_;
  p.rangeIndex = range;
  p.ppMetricNames = plan_->metrics;
  p.numMetrics = plan_->metric_count;
  p.pMetricValues = values;
  return Profiler().cuptiProfilerHostEvaluateToGpuValues(&p) == CUPTI_SUCCESS;
}

}  // namespace gprof::tracer
#endif
