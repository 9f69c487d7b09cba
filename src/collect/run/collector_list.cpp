#include "collect/run/collector_list.h"

#include <algorithm>
#include <iterator>

#include "collect/gpu/nvml.h"
#include "collect/gpu/pm_sampling.h"
#include "collect/host/cpu_samples.h"
#include "collect/host/host_load_collector.h"
#include "collect/host/python_samples.h"
#include "collect/host/threads/thread_load.h"
#include "collect/host/threads/thread_states.h"

namespace gprof {
namespace {

bool WantsSampling(const CollectorOptions& options) {
  return options.sampling.samples != CpuScope::kNobody || options.sampling.switches != CpuScope::kNobody;
}

constexpr CollectorKind kCollectors[] = {
    {"cpu_samples", "CPU samples and context switches", WantsSampling, MakeCpuSamples},
    {"python_samples", "Python samples", IsPythonSamplingWanted, MakePythonSamples},
    {"thread_load", "CPU shares of threads", IsThreadLoadWanted, MakeThreadLoad},
    {"thread_states", "states of threads", [](const CollectorOptions& options) { return options.thread_states; },
     MakeThreadStates},
    {"host_load", "host load", [](const CollectorOptions& options) { return options.host_load_hz > 0; }, MakeHostLoad,
     true},
    {"nvml", "GPU state", IsNvmlWanted, MakeNvml},
    {"gpu_metrics", "GPU metric data", IsPmSamplingWanted, MakePmSampling},
};

}  // namespace

std::span<const CollectorKind> Collectors() { return kCollectors; }

const CollectorKind* FindCollector(std::string_view name) {
  const auto is_it = [name](const CollectorKind& kind) { return kind.name == name; };
  const auto* const found = std::find_if(std::begin(kCollectors), std::end(kCollectors), is_it);
  return found == std::end(kCollectors) ? nullptr : found;
}

}  // namespace gprof
