#include "tracer/counters/launches/launch_calls.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <stdio.h>

#include <cstring>

namespace gprof::tracer {
namespace {

constexpr LaunchCall kCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, What::kKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, What::kKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, What::kKernel, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, What::kKernel, true},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, What::kKernelEx, false},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, What::kKernelEx, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, What::kGraph, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, What::kGraph, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz, What::kPrepare, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphUpload, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphUpload_ptsz, What::kPrepare, true},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, What::kPrepare, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, What::kBeginCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, What::kBeginCapture, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, What::kBeginCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, What::kBeginCapture, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, What::kBeginCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, What::kBeginCapture, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, What::kEndCapture, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, What::kEndCapture, true},
};

void SetSizes(const uint32_t (&grid)[3], const uint32_t (&block)[3], Launch* launch) {
  std::memcpy(launch->grid, grid, sizeof grid);
  std::memcpy(launch->block, block, sizeof block);
}

// 0: the kernel was launched without clusters.
uint32_t ClusterBlocks(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    return attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z;
  }
  return 0;
}

CUstream StreamOf(CUstream stream, bool is_per_thread) {
  return stream == nullptr && is_per_thread ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace

void EnableLaunchCallbacks(CUpti_SubscriberHandle subscriber) {
  for (const LaunchCall& call : kCalls) {
    Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call.cbid);
  }
  Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
}

const LaunchCall* LaunchCallOf(CUpti_CallbackId cbid) {
  for (const LaunchCall& call : kCalls) {
    if (call.cbid == cbid) return &call;
  }
  return nullptr;
}

CUstream Describe(const LaunchCall& call, const CUpti_CallbackData* info, LaunchedKernel* kernel) {
  Launch& launch = kernel->launch;
  launch.symbol = info->symbolName != nullptr ? info->symbolName : "";
  launch.context = info->contextUid;
  if (call.what == What::kKernel) {
    // A cooperative launch has the same parameters as far as they are read.
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

CUstream StreamOfGraphLaunch(const LaunchCall& call, const CUpti_CallbackData* info) {
  return StreamOf(static_cast<const cuGraphLaunch_params*>(info->functionParams)->hStream, call.is_per_thread);
}

const char* NameOfLaunchedGraph(const CUpti_CallbackData* info) {
  constexpr uint32_t kMost = 256;
  static CUgraphExec graphs[kMost] = {};
  static char names[kMost][16];
  const CUgraphExec graph = static_cast<const cuGraphLaunch_params*>(info->functionParams)->hGraph;
  for (uint32_t i = 0; i < kMost; ++i) {
    if (graphs[i] != nullptr && graphs[i] != graph) continue;
    if (graphs[i] == nullptr) snprintf(names[i], sizeof names[i], "graph %u", i + 1);
    graphs[i] = graph;
    return names[i];
  }
  return "graph";
}

uint32_t StreamId(CUcontext context, CUstream stream) {
  const auto get = Cupti().cuptiGetStreamIdEx;
  uint32_t id = 0;
  if (get == nullptr) return 0;
  const bool is_per_thread = stream == CU_STREAM_PER_THREAD;
  return get(context, is_per_thread ? nullptr : stream, is_per_thread ? 1 : 0, &id) == CUPTI_SUCCESS ? id : 0;
}

}  // namespace gprof::tracer
#endif
