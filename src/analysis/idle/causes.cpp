#include "analysis/idle/causes.h"

#include <algorithm>
#include <numeric>

namespace gprof {
namespace {

constexpr std::array<CauseInfo, kCauseCount> kCauses = {{
    {"queue", "idle.queue_ns", "work queued, not yet started by the GPU", "work was queued already",
     "Latency between operations that are queued: fewer and larger operations, or a CUDA graph, pay it less often."},
    {"dependency", "idle.dependency_ns", "queued behind an event of another stream",
     "queued work waited for an event of another stream",
     "Look at what the streams wait for: drop cudaStreamWaitEvent calls that are not needed, or move work between "
     "streams so that the wait is covered."},
    {"launch", "idle.launch_ns", "from entry of the call to start on the GPU", "a launch was on its way",
     "Launch earlier, so that the GPU has work queued: do not wait between launches, launch fewer and larger kernels, "
     "or use a CUDA graph."},
    {"sync", "idle.sync_ns", "host in a synchronising call", "the host was in a synchronising call",
     "Queue the next work before waiting for the last: wait once for many launches, use events, or wait only where "
     "the host needs the result."},
    {"copy", "idle.copy_ns", "host in a blocking copy or fill", "the host was in a blocking copy",
     "Use pinned memory (cudaMallocHost, cudaHostRegister) and cudaMemcpyAsync, so that the host can go on."},
    {"memory", "idle.memory_ns", "host allocating, freeing, registering memory",
     "the host was allocating or freeing memory",
     "Do it once, before the loop: allocate and reuse, or use cudaMallocAsync with a memory pool, since cudaMalloc and "
     "cudaFree wait for the GPU."},
    {"load", "idle.load_ns", "contexts, modules, loading, compiling", "CUDA was loading or compiling code",
     "Load before the time that matters: run every kernel once to warm up, build for this GPU's architecture, or set "
     "CUDA_MODULE_LOADING=EAGER."},
    {"api", "idle.api_ns", "host in another CUDA call", "the host was in other CUDA calls",
     "See the table of calls: leave out calls that are not needed in the loop, or move them to another thread."},
    {"os", "idle.os_ns", "host blocked in the operating system", "the host was blocked in the operating system",
     "See which call it was: read ahead or in larger pieces, hold locks for less time, wait in another thread than the "
     "one that launches."},
    {"host", "idle.host_ns", "host running its own code", "the host ran its own code",
     "Let the host prepare the next step while the GPU works on this one: another thread, prefetching, or more work "
     "per launch."},
    {"profiler", "idle.profiler_ns", "CUPTI busy with the recording", "the profiler held up the host",
     "This time is not the program's own: take it off when you judge the program."},
    {"unknown", "idle.unknown_ns", "launching call not in the trace", "the trace does not say what the host did",
     "Record the CUDA calls as well (--trace cuda), from the start of the program."},
}};

}  // namespace

const CauseInfo& InfoOf(Cause cause) { return kCauses[static_cast<size_t>(cause)]; }

int64_t CauseSplit::Total() const { return std::accumulate(ns_.begin(), ns_.end(), int64_t{0}); }

Cause CauseSplit::Largest() const { return static_cast<Cause>(std::max_element(ns_.begin(), ns_.end()) - ns_.begin()); }

void CauseSplit::Add(const CauseSplit& other) {
  for (size_t i = 0; i < kCauseCount; ++i) ns_[i] += other.ns_[i];
}

}  // namespace gprof
