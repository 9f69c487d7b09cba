#include "analysis/result/idle_causes.h"

#include <algorithm>
#include <numeric>

#include "gprof/analysis.h"

namespace gprof {
namespace {

constexpr std::array<CauseInfo, kCauseCount> kCauses = {{
    {"queue", "idle.queue_ns", "work queued, not yet started by the GPU", "work was already queued",
     "This is latency between queued operations: use fewer, larger operations or a CUDA graph to pay it less often."},
    {"dependency", "idle.dependency_ns", "waiting for an event of another stream",
     "queued work waited for an event of another stream",
     "Check what the streams wait for: drop unnecessary cudaStreamWaitEvent calls, or move work between streams to "
     "hide the wait."},
    {"launch", "idle.launch_ns", "launch latency (call to start on the GPU)", "a launch was in flight",
     "Launch earlier so that the GPU always has queued work: avoid waits between launches, launch fewer and larger "
     "kernels, or use a CUDA graph."},
    {"sync", "idle.sync_ns", "host in a synchronising call", "the host was in a synchronising call",
     "Queue the next work before waiting for the previous: synchronise once for many launches, use events, or wait "
     "only where the host needs the result."},
    {"copy", "idle.copy_ns", "host in a blocking copy or memset", "the host was in a blocking copy or memset",
     "Use pinned memory (cudaMallocHost, cudaHostRegister) and cudaMemcpyAsync so that the host does not block."},
    {"memory", "idle.memory_ns", "host allocating, freeing, pinning memory",
     "the host was allocating or freeing memory",
     "Allocate once before the loop and reuse, or use cudaMallocAsync with a memory pool: cudaMalloc and cudaFree wait "
     "for the GPU."},
    {"load", "idle.load_ns", "creating contexts, loading, compiling", "CUDA was loading or compiling code",
     "Load before the time-critical part: run every kernel once as warm-up, build for this GPU's architecture, or set "
     "CUDA_MODULE_LOADING=EAGER."},
    {"api", "idle.api_ns", "host in another CUDA call", "the host was in other CUDA calls",
     "See the table of CUDA calls: remove unnecessary calls from the loop, or move them to another thread."},
    {"os", "idle.os_ns", "host blocked in the operating system", "the host was blocked in the operating system",
     "Read ahead or in larger pieces, hold locks for less time, or wait in a thread other than the launching one."},
    {"mpi", "idle.mpi_ns", "host in an MPI call", "the host was in MPI calls",
     "Communicate while the GPU works: launch the next kernels first, use non-blocking calls (MPI_Isend, "
     "MPI_Iallreduce) "
     "and wait late. Where ranks arrive at different times, balance their work."},
    {"host", "idle.host_ns", "host running its own code", "the host was running its own code",
     "Prepare the next step on the host while the GPU works on the current one: use another thread, prefetching, or "
     "more work per launch."},
    {"profiler", "idle.profiler_ns", "profiling overhead (CUPTI)", "the profiler held up the host",
     "This time is profiling overhead, not the program's own: disregard it."},
    {"unknown", "idle.unknown_ns", "launch call not in the trace", "the trace does not show what the host was doing",
     "Record the CUDA calls as well, from the start of the program, as gprof-cli profile does by default."},
}};

}  // namespace

const CauseInfo& InfoOf(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }

CauseMask UntoldCauses(const Trace& trace) {
  // Without these there is nothing that the parts would have to sum to.
  const FactSet of_idle_time = FindMetric("gpu.idle_ns")->needs;
  CauseMask untold = kNoCause;
  ForEachCause([&](Cause cause) {
    const FactSet lacking = FindMetric(InfoOf(cause).metric)->needs & trace.lacks;
    if ((lacking | of_idle_time) != of_idle_time) untold |= MaskOf(cause);
  });
  return untold;
}

int64_t CauseSplit::Total() const { return std::accumulate(ns_.begin(), ns_.end(), int64_t{0}); }

Cause CauseSplit::Largest() const { return static_cast<Cause>(std::ranges::max_element(ns_) - ns_.begin()); }

void CauseSplit::Add(const CauseSplit& other) {
  for (size_t i = 0; i < kCauseCount; ++i) ns_[i] += other.ns_[i];
}

}  // namespace gprof
