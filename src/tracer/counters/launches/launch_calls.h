// The calls of the driver that launch kernels, and what their parameters say.
#pragma once

#include "tracer/counters/profiler/profiler_api.h"
#include "tracer/counters/request/launch_filter.h"

#ifdef GPROF_HAS_RANGE_PROFILER
namespace gprof::tracer {

// kPrepare: a graph is made ready to be launched.
enum class What : uint8_t { kKernel, kKernelEx, kGraph, kPrepare, kBeginCapture, kEndCapture };

struct LaunchCall {
  CUpti_CallbackId cbid;
  What what;
  bool is_per_thread;  // its default stream is that of the thread

  bool IsLaunch() const { return what == What::kKernel || what == What::kKernelEx || what == What::kGraph; }
};

void EnableLaunchCallbacks(CUpti_SubscriberHandle subscriber);
// Null for a call that is none of them.
const LaunchCall* LaunchCallOf(CUpti_CallbackId cbid);

// Of a launch of a kernel, its stream comes back, as functions of the driver take it.
CUstream Describe(const LaunchCall& call, const CUpti_CallbackData* info, LaunchedKernel* kernel);
CUstream StreamOfGraphLaunch(const LaunchCall& call, const CUpti_CallbackData* info);
// "graph 1", in the order in which graphs are launched first. [one thread at a time]
const char* NameOfLaunchedGraph(const CUpti_CallbackData* info);
uint32_t StreamId(CUcontext context, CUstream stream);

}  // namespace gprof::tracer
#endif
