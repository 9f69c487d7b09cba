// What libcupti wants to have beside it: the half that plans, and breaks one throughput down, and the half that
// measures, of which the doubles need nothing.
#pragma GCC visibility push(default)

#include <nvperf_cuda_host.h>
#include <nvperf_host.h>

#include <cstring>

extern "C" {

NVPA_Status NVPW_InitializeHost(NVPW_InitializeHost_Params*) { return NVPA_STATUS_SUCCESS; }

NVPA_Status NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(
    NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params* p) {
  p->scratchBufferSize = 16;
  return std::strcmp(p->pChipName, "GH100") == 0 ? NVPA_STATUS_SUCCESS : NVPA_STATUS_INVALID_ARGUMENT;
}

NVPA_Status NVPW_CUDA_MetricsEvaluator_Initialize(NVPW_CUDA_MetricsEvaluator_Initialize_Params* p) {
  p->pMetricsEvaluator = reinterpret_cast<NVPW_MetricsEvaluator*>(p->pScratchBuffer);
  return NVPA_STATUS_SUCCESS;
}

NVPA_Status NVPW_MetricsEvaluator_Destroy(NVPW_MetricsEvaluator_Destroy_Params*) { return NVPA_STATUS_SUCCESS; }

NVPA_Status NVPW_MetricsEvaluator_GetMetricNames(NVPW_MetricsEvaluator_GetMetricNames_Params* p) {
  static const size_t begins[] = {0, 17};
  p->pMetricNames = p->metricType == NVPW_METRIC_TYPE_COUNTER ? "sm__issue_active\0smsp__inst_executed"
                                                              : "dram__throughput\0sm__throughput";
  p->pMetricNameBeginIndices = begins;
  p->numMetrics = 2;
  return NVPA_STATUS_SUCCESS;
}

// sm__throughput has a counter of its own and one by way of the other throughput.
NVPA_Status NVPW_MetricsEvaluator_GetThroughputMetricProperties(
    NVPW_MetricsEvaluator_GetThroughputMetricProperties_Params* p) {
  static const size_t counters[] = {0, 1}, parts[] = {0};
  p->pCounterIndices = p->throughputMetricIndex == 1 ? &counters[0] : &counters[1];
  p->numCounters = 1;
  p->pSubThroughputIndices = parts;
  p->numSubThroughputs = p->throughputMetricIndex == 1 ? 1 : 0;
  return NVPA_STATUS_SUCCESS;
}

}  // extern "C"
