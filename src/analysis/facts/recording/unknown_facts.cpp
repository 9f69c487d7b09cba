#include "analysis/facts/recording/unknown_facts.h"

#include <algorithm>
#include <iterator>

#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/recording/recording_cost.h"
#include "analysis/findings/finding_catalogue.h"
#include "gprof/trace/seen_process.h"

namespace gprof {
namespace {

// In the order of Fact.
constexpr FactInfo kFacts[] = {
    {Fact::kOperations, "operations", "GPU operations", "the trace has no GPU operations"},
    {Fact::kApiCalls, "api_calls", "CUDA calls", "the trace has no CUDA calls"},
    {Fact::kResults, "results", "return codes of CUDA calls", "the trace has no return codes of CUDA calls"},
    {Fact::kMemoryKinds, "memory_kinds", "memory kinds", "the trace does not distinguish pageable from pinned memory"},
    {Fact::kCopySizes, "copy_sizes", "sizes of copies", "the trace does not tell how many bytes copies moved"},
    {Fact::kSyncs, "syncs", "synchronisation records", "the trace has no synchronisation records"},
    {Fact::kEvents, "events", "CUDA events", "the trace has no CUDA events"},
    {Fact::kStreamsMade, "streams_made", "stream creation",
     "the trace does not show which streams the program created"},
    {Fact::kPriorities, "priorities", "stream priorities", "the trace has no stream priorities"},
    {Fact::kMemory, "memory", "allocations", "memory usage was not recorded (profile --cuda-memory-usage)"},
    {Fact::kManagedMemory, "managed_memory", "managed memory",
     "managed memory was not recorded (profile --cuda-um-gpu-page-faults)"},
    {Fact::kGpuPageFaults, "gpu_page_faults", "GPU page faults",
     "managed memory was not recorded (profile --cuda-um-gpu-page-faults)"},
    {Fact::kCpuPageFaults, "cpu_page_faults", "CPU page faults",
     "managed memory was not recorded (profile --cuda-um-gpu-page-faults)"},
    {Fact::kNvtx, "nvtx", "NVTX ranges", "no NVTX range was recorded (profile -t nvtx records them)"},
    {Fact::kShapes, "shapes", "launch configurations", "the trace has no launch configurations"},
    {Fact::kGraphNodes, "graph_nodes", "operations inside CUDA graphs",
     "CUDA graphs were recorded as a whole (profile --cuda-graph-trace=node)"},
    {Fact::kGraphWork, "graph_work", "CUDA graph work",
     "CUDA graphs were launched, but their work is not in the trace"},
    {Fact::kCompilations, "jit", "JIT compilation", "JIT compilation was not recorded"},
    {Fact::kOverheads, "overheads", "profiling overhead", "the trace has no records of profiling overhead"},
    {Fact::kDevices, "devices", "GPU properties", "the trace does not describe the GPUs"},
    {Fact::kProcessTimes, "process_times", "process start and end times",
     "the trace has no process start and end times"},
    {Fact::kRecordingCost, "recording_cost", "profiling cost",
     "profiling cost is known only for gprof-cli's own tracer"},
    {Fact::kClocks, "clocks", "clock readings", "the trace has no clock readings"},
    {Fact::kHostLoad, "host_load", "host load", "host load was not recorded (profile --host-load)"},
    {Fact::kGpuMetrics, "gpu_metrics", "GPU metrics",
     "the trace has no GPU metric samples (profile --nvml, --gpu-metrics-devices)"},
    {Fact::kOsCalls, "os_calls", "operating system calls",
     "operating system calls were not recorded (profile -t osrt)"},
    {Fact::kSwitches, "switches", "context switches", "context switches were not recorded"},
    {Fact::kHostWaits, "host_waits", "waits in the operating system",
     "neither operating system calls nor context switches were recorded"},
    {Fact::kCpuSamples, "cpu_samples", "CPU samples", "CPU samples were not recorded (profile --sample)"},
    {Fact::kMpiCalls, "mpi_calls", "MPI calls", "MPI calls were not recorded (profile -t mpi)"},
    {Fact::kCounters, "counters", "kernel counters", "kernel counters were not collected (gprof-cli counters)"},
    {Fact::kGemms, "gemms", "sizes of matrix multiplications",
     "matrix multiplications of cuBLAS were not recorded (profile -t gemm)"},
    {Fact::kWholeRun, "whole_run", "the whole run", "recording was on in windows only, so totals are not known"},
    {Fact::kSlowDown, "slow_down", "measured slow-down",
     "the slow-down was not measured (profile --measure-overhead, --overhead-budget)"},
    {Fact::kCollectives, "collectives", "operations of NCCL",
     "operations of NCCL were not recorded (profile -t nccl, NCCL 2.23 or newer)"},
    {Fact::kOpenMp, "openmp", "OpenMP constructs", "OpenMP constructs were not recorded (profile -t openmp)"},
    {Fact::kOpenAcc, "openacc", "OpenACC constructs", "OpenACC constructs were not recorded (profile -t openacc)"},
    {Fact::kOneTrace, "one_trace", "records of all ranks in one trace",
     "not available from partials of several ranks: use their traces"},
};
static_assert(std::size(kFacts) == kFactCount);

// The tracer records these, and comes into a process with its first call of CUDA or NVTX.
constexpr FactSet kSeenFromWithin = Fact::kOsCalls | Fact::kHostWaits | Fact::kMpiCalls | Fact::kGemms;

bool WasSeenFromOutsideOnly(const TraceHead& trace) {
  return !trace.processes.empty() && std::ranges::all_of(trace.processes, [](const Process& process) {
    return process.image == trace::kSeenImage;
  });
}

}  // namespace

const FactInfo& InfoOf(Fact fact) { return kFacts[static_cast<size_t>(fact)]; }

const FactInfo* FindFact(std::string_view key) {
  const auto* found = std::ranges::find_if(kFacts, [&](const FactInfo& f) { return f.key == key; });
  return found == std::end(kFacts) ? nullptr : found;
}

FactSet UnknownFacts(const Trace& trace) {
  FactSet unknown = trace.lacks;
  if (trace.ops.empty()) unknown |= Fact::kOperations;
  if (trace.api_calls.empty()) unknown |= Fact::kApiCalls;
  if (!QualityOfClocks(trace).IsKnown()) unknown |= Fact::kClocks;
  if (!MeasureSlowDown(trace).IsKnown()) unknown |= Fact::kSlowDown;
  const auto is_sampled = [&](bool is_of_device) {
    return std::ranges::any_of(trace.metric_sources, [&](const MetricSource& source) {
      return (source.scope == trace::MetricScope::kDevice) == is_of_device;
    });
  };
  if (!is_sampled(false)) unknown |= Fact::kHostLoad;
  if (!is_sampled(true)) unknown |= Fact::kGpuMetrics;
  return unknown;
}

std::string WhyUnknown(const TraceHead& trace, Fact fact) {
  const FactInfo& info = InfoOf(fact);
  if (!trace.recorder.empty() && trace.lacks.Has(fact))
    return trace.recorder + " did not record " + std::string(info.name);
  if (kSeenFromWithin.Has(fact) && WasSeenFromOutsideOnly(trace))
    return std::string(info.name) + " were not recorded: no process made a CUDA or NVTX call, which loads the tracer";
  return std::string(info.why);
}

void DropUnknownMetrics(FactSet unknown, std::span<AnalysisResult> results) {
  std::vector<std::string_view> ids;
  for (const MetricInfo& info : MetricCatalogue()) {
    if (info.needs.HasAnyOf(unknown)) ids.push_back(info.id);
  }
  const auto is_unknown = [&](std::string_view id) { return std::ranges::find(ids, id) != ids.end(); };
  // Where none of the time is known that it is about, nobody can say that it was spent so.
  const auto is_about_unknown = [&](const Finding& finding) {
    const FindingInfo* info = FindFinding(finding.id);
    if (info == nullptr || info->claims.ids[0].empty()) return false;
    return std::all_of(std::begin(info->claims.ids), std::end(info->claims.ids),
                       [&](std::string_view id) { return id.empty() || is_unknown(id); });
  };
  for (AnalysisResult& result : results) {
    std::erase_if(result.metrics, [&](const Metric& metric) { return is_unknown(metric.id); });
    if (unknown.Has(Fact::kGraphWork)) std::erase_if(result.findings, is_about_unknown);
  }
}

}  // namespace gprof
