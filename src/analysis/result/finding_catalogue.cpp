// An id, once released, keeps its meaning: scripts of users look for it.
#include "analysis/result/finding_catalogue.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <limits>

namespace gprof {
namespace {

using enum Severity;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr SeverityRule Always(Severity severity) { return {severity, kNever, kNever}; }
constexpr SeverityRule From(double warning_percent) { return {kNote, kNever, warning_percent}; }

constexpr TimelinePlace At(std::string_view query, std::string_view key = {}, std::string Subject::*name = nullptr) {
  return {query, {}, key, name};
}
constexpr TimelinePlace Nowhere(std::string_view why) { return {{}, why}; }
constexpr std::string_view kTrust = "is about the trace itself";

// The advice about a cause of idle time is that of the cause (src/analysis/idle/causes.cpp).
constexpr FindingInfo Idle(std::string_view id, std::string_view meaning, std::string_view query) {
  return {id, meaning, From(25), "gaps", At(query)};
}

constexpr FindingInfo kFindings[] = {
    Idle("idle.queue", "idle although work was queued", "cause:queue"),
    Idle("idle.dependency", "queued work waited for an event of another stream", "cause:dependency"),
    Idle("idle.launch", "idle between the entry of a launching call and the start on the GPU", "cause:launch"),
    Idle("idle.sync", "idle while the launching thread was in a synchronising call", "cause:sync"),
    Idle("idle.copy", "idle while the launching thread was in a blocking copy or fill", "cause:copy"),
    Idle("idle.memory", "idle while it allocated, freed or registered memory", "cause:memory"),
    Idle("idle.load", "idle while contexts, modules or code were loaded or compiled", "cause:load"),
    Idle("idle.api", "idle while it was in other CUDA calls", "cause:api"),
    Idle("idle.os", "idle while it was blocked in the operating system", "cause:os"),
    Idle("idle.host", "idle while it ran its own code", "cause:host"),
    Idle("idle.profiler", "idle while CUPTI was busy with the recording", "cause:profiler"),
    Idle("idle.unknown", "idle before work whose launching call is not in the trace", "cause:unknown"),
    {"os.lock",
     "the thread that launches waited for a lock",
     From(25),
     "os_locks",
     At("cause:os"),
     "Hold the lock for less time, split what it guards, or let a thread that does not launch wait for it.",
     {{"idle.os"}}},
    {"os.gil",
     "the thread that launches waited for Python's global interpreter lock",
     From(25),
     "os_locks",
     At("cause:os"),
     "Move the Python work of the other threads into processes of their own, or into code that releases the GIL.",
     {{"idle.os"}}},
    {"os.small_pieces",
     "the thread that launches reads or writes a file in small pieces",
     From(25),
     "os_files",
     At("cause:os"),
     "Read or write larger pieces through a buffer of at least 64 KiB, map the file, or do it ahead in another thread.",
     {{"idle.os"}}},
    {"host.preempted",
     "another thread had the processor of the thread that launches",
     From(5),
     "threads",
     At("cause:host"),
     "Pin threads: give the thread that launches a core of its own (taskset, numactl), or start fewer threads than "
     "there are cores.",
     {{"idle.host"}}},
    {"launch.bound",
     "kernels that are shorter than their launch, one after the other on a GPU that had run dry",
     Always(kWarning),
     "kernel_launches",
     At("cause:launch,api,host"),
     "Launch the whole chain as one CUDA graph, fuse kernels, or give each launch more work (larger batches).",
     {{"idle.launch", "idle.api", "idle.host", "kernels.chain", "kernels.small"}}},
    {"kernels.chain",
     "a stream runs the same chain of operations again and again, with idle time within: a candidate for a CUDA graph",
     From(25),
     "kernel_chains",
     At("kind:kernel max:50us", "track", &Subject::stream),
     "Capture one repetition as a CUDA graph and launch that, or fuse the short kernels in it.",
     {{"idle.launch", "idle.queue"}}},
    {"kernels.small",
     "most of the kernel time is in kernels below 10 us, with idle time before them",
     From(25),
     "kernel_lengths",
     At("kind:kernel max:10us"),
     "Fuse kernels, give each launch more work, or launch them as a CUDA graph.",
     {{"idle.launch", "idle.queue"}}},
    {"gpu.kernel_bound",
     "kernels run nearly all of the time: what takes longest, and how to see why",
     Always(kNote),
     "kernels",
     At("kind:kernel", "name", &Subject::kernel),
     "There is next to no idle time to remove: make the kernels at the top faster, or run fewer of them.",
     {{"critical.kernel", "occupancy.small_grid", "occupancy.small_block", "occupancy.tail"}}},
    {"gpu.copy_bound", "the GPU copies most of the time, with no kernel beside the copies", Always(kWarning), "memcpy",
     At("kind:copy,pageable"),
     "Copy less: leave on the GPU what is needed there again. Copy what is left from pinned memory, in a stream beside "
     "the kernels."},
    {"occupancy.small_block", "kernels whose blocks have fewer threads than a warp", From(25), "occupancy",
     At("kind:kernel", "name", &Subject::kernel),
     "Give blocks a multiple of 32 threads, 128 to 256 to begin with, and launch fewer of them: the lanes of a warp "
     "that "
     "a block does not fill do nothing."},
    {"occupancy.small_grid", "kernels with fewer blocks than the GPU has SMs", From(25), "occupancy",
     At("kind:kernel", "name", &Subject::kernel),
     "Split the work over more blocks and threads: at least one block for each SM, and some hundred threads in a "
     "block. Where there is no more work, run such kernels beside others, in another stream."},
    {"occupancy.tail", "grids whose last wave leaves much of the GPU without work", From(25), "occupancy",
     At("kind:kernel", "name", &Subject::kernel),
     "Choose a grid that is a multiple of what fits on the GPU at one time, or let a grid of that size loop over the "
     "work."},
    {"critical.kernel",
     "one kernel is much of the critical path: making it faster shortens the run",
     Always(kNote),
     "critical_path",
     At("kind:kernel", "name", &Subject::kernel),
     "Make this kernel faster before others: time won in it shortens the run until another path is the longest.",
     {{"occupancy.small_grid", "occupancy.small_block", "occupancy.tail"}}},
    {"graphs.instantiate", "CUDA graphs that are instantiated for a few launches each", From(25), "graph_calls",
     At("kind:api name:GraphInstantiate"),
     "Instantiate a graph once and launch it often; where only parameters change, update it with cudaGraphExecUpdate "
     "or cudaGraphExecKernelNodeSetParams."},
    {"startup.load", "loading and compiling code before the first GPU operation", From(25), "startup",
     At("kind:api_load,overhead"),
     "Load only what is used: CUDA_MODULE_LOADING=LAZY, smaller modules, fewer architectures in a file."},
    {"startup.slow",
     "a second or more, and a quarter of the time of a process, to its first GPU operation: information", Always(kInfo),
     "startup_processes",
     Nowhere("is about the time before the first operation, in which nothing of the program need be recorded")},
    {"api.errors", "CUDA calls that returned an error to the program", From(100), "api_errors",
     At("kind:api", "name", &Subject::function),
     "Check what each call returns; errors that are expected cost the time of their call."},
    {"sync.drains",
     "waits that let the GPU run dry again and again",
     Always(kWarning),
     "sync",
     At("cause:sync"),
     "Queue the next work before waiting for the last. Wait only where the host needs the result.",
     {{"idle.sync"}}},
    {"sync.site",
     "the place (call, thread, NVTX range) whose waits cost most GPU idle time",
     From(25),
     "sync_sites",
     At("kind:api_sync", "name", &Subject::function),
     "Queue the next work before this wait, wait later, or only for the event that the host needs.",
     {{"idle.sync", "sync.drains"}}},
    {"sync.implied",
     "frees and allocations that waited for the GPU",
     From(25),
     "sync_sites",
     At("kind:api_memory"),
     "Allocate once and keep it, or use cudaMallocAsync and cudaFreeAsync, which do not wait.",
     {{"idle.memory"}}},
    {"sync.polling", "a thread asked again and again whether the GPU is done", Always(kNote), "polling",
     At("kind:api_query"),
     "Wait with cudaEventSynchronize (cudaEventBlockingSync leaves the core to others), or do the host's work first "
     "and ask then."},
    {"memcpy.pageable",
     "copies from or to pageable host memory, and what pinning it would save",
     {kInfo, 0.5, 5},
     "pageable",
     At("kind:pageable", "", &Subject::direction),
     "Allocate the host side with cudaMallocHost or pin it with cudaHostRegister, and copy with cudaMemcpyAsync.",
     {{"idle.copy", "sync.implied", "streams.no_overlap"}}},
    {"memcpy.small",
     "many small copies that could be one",
     Always(kWarning),
     "copy_sizes",
     At("kind:copy max:50us"),
     "Batch them: gather the pieces in one pinned buffer and copy that once, or keep the data on the GPU.",
     {{"idle.queue", "idle.launch", "idle.copy"}}},
    {"memcpy.overlap",
     "copies that ran alone, right before or after kernels",
     From(25),
     "overlap",
     At("kind:copy"),
     "Copy the next part with cudaMemcpyAsync in another stream while kernels work on this one.",
     {{"streams.one_only", "streams.one_used", "streams.no_overlap", "streams.default_splits"}}},
    {"memory.churn",
     "memory is freed and allocated again and again",
     From(25),
     "memory_churn",
     At("kind:api_memory"),
     "Allocate once and keep the block, or use cudaMallocAsync and cudaFreeAsync, whose pool does that: cudaFree waits "
     "for the GPU.",
     {{"idle.memory", "sync.implied"}}},
    {"memory.growth", "step after step allocates memory that is never freed", Always(kWarning), "memory_over_time",
     At("kind:api_memory name:alloc"),
     "A step should free what it allocates, or use it again in the next: like this the memory will be full some day."},
    {"memory.leaked", "blocks that were not freed when their process ended: information", Always(kInfo),
     "memory_not_freed", At("kind:api_memory name:alloc"),
     "The driver takes it back at the end of a process. It matters in a library, and in a program that goes on."},
    {"memory.migrations",
     "managed memory moved between host and GPU",
     From(5),
     "managed_memory",
     At("cause:memory"),
     "Move it before it is needed (cudaMemPrefetchAsync), say where it belongs (cudaMemAdvise), or use device memory "
     "and explicit copies for what the GPU works on.",
     {{"idle.memory"}}},
    {"memory.page_faults",
     "the GPU faulted on managed memory",
     From(5),
     "managed_memory",
     At("cause:memory"),
     "Prefetch with cudaMemPrefetchAsync before the kernel starts: it moves at once what faults fetch in pieces while "
     "the kernel waits.",
     {{"memory.migrations", "idle.memory"}}},
    {"streams.one_used", "several streams were asked for, at most one did the work", Always(kWarning), "streams",
     At("kind:kernel,copy,pageable", "track", &Subject::stream),
     "Give each part of the work its own stream: the same handle seems to be used for all."},
    {"streams.no_overlap", "several streams worked, but hardly ever at the same time", Always(kWarning), "streams",
     At("kind:kernel,copy,pageable"),
     "Launch all parts before waiting for the first, with asynchronous copies of pinned memory."},
    {"streams.one_only", "one stream did all the work of a process, so that copies never overlapped kernels", From(25),
     "streams", At("kind:kernel,copy,pageable", "track", &Subject::stream),
     "Work in parts with a stream for each: while one part computes, the next is copied in and the last one out."},
    {"streams.default_splits", "work in the default stream kept other streams apart", From(25), "serialised",
     At("track:\"default stream\""),
     "Move that work to a stream of its own, or create the others with cudaStreamNonBlocking, and order by events what "
     "depends on each other."},
    {"streams.event_waits",
     "the GPU was idle while streams waited for events of others",
     From(25),
     "stream_waits",
     At("cause:dependency"),
     "Drop the wait where the work does not depend on it, record the event right after the operation that matters, or "
     "queue other work in the stream before it waits.",
     {{"idle.dependency"}}},
    {"streams.overlap", "how much several streams overlapped: information", Always(kInfo), "overlap",
     At("kind:kernel,copy,pageable")},
    {"steps.outliers",
     "iterations of the program's step that took much longer than the others",
     From(20),
     "step_outliers",
     At("kind:nvtx", "nvtx", &Subject::range),
     "Look at what these iterations do that the others do not: logging, saving, loading, allocating.",
     {},
     true},
    {"steps.trend",
     "the program's step gets slower from iteration to iteration",
     From(20),
     "step_iterations",
     At("kind:nvtx", "nvtx", &Subject::range),
     "Look for what grows with the iterations: lists, logs, caches, memory that is not freed, sequence lengths.",
     {},
     true},
    {"steps.warmup", "the first iterations were slower: information", Always(kInfo), "step_iterations",
     At("kind:nvtx", "nvtx", &Subject::range),
     "Leave warm-up out of measurements. If runs are short, load modules and make allocations before the loop."},
    {"balance.uneven", "one of several GPUs had more to do than the others", From(25), "balance", At("kind:kernel"),
     "Give each GPU the same work: split by cost, not by count, and do not leave extra work to one of them."},
    {"nccl.exposed", "communication by NCCL with no other kernel beside it", From(25), "nccl",
     At("kind:kernel name:nccl"),
     "Start collectives as soon as their data is ready, in a stream of their own, while other layers compute: bucket "
     "gradients, prefetch parameters. A kernel that waits for a slower rank counts as running."},
    {"nccl.straggler", "the collectives of NCCL waited for one GPU", Always(kWarning), "nccl",
     At("kind:kernel name:nccl"),
     "See what its rank does before the collective: more work, a slower GPU, or a host that is late (balance, steps, "
     "idle with --device)."},
    {"traces.straggler",
     "of several traces in one call, one that took longer than the others, or whose GPUs had more to do", Always(kNote),
     "traces", Nowhere("compares whole traces, which have tracks of their own"),
     "Its GPUs have no more to do than those of the others: look for what its host waits for."},
    {"health.damaged_chunks", "parts of the file could not be read", Always(kWarning), "health", Nowhere(kTrust),
     "The file was cut or changed after it was written; copy it again or record again. What is reported is right for "
     "what is there."},
    {"health.missing_chunks", "parts were written and are not in the file", Always(kWarning), "health", Nowhere(kTrust),
     "The disk was full, or a process was killed while it wrote. Record again with more space."},
    {"health.skipped_bytes", "bytes of the file belong to no part", Always(kWarning), "health", Nowhere(kTrust),
     "Something else wrote into the file, or it was damaged; copy it again or record again."},
    {"health.duplicate_chunks", "parts are in the file twice", Always(kNote), "health", Nowhere(kTrust),
     "Nothing to do: this happens when a process dies."},
    {"health.unknown_chunks", "parts are of a kind or version that this version does not know", Always(kWarning),
     "health", Nowhere(kTrust), "Read the trace with the version that recorded it."},
    {"health.unknown_records", "records are of a kind that this version does not know", Always(kWarning), "health",
     Nowhere(kTrust), "Read the trace with the version that recorded it."},
    {"health.lost_records", "records were lost while recording", Always(kWarning), "health", Nowhere(kTrust),
     "Counts and sums are too low by these. Record a shorter part of the program, or less of it (--trace)."},
    {"health.bad_times", "operations without usable times were left out", Always(kWarning), "health", Nowhere(kTrust),
     "CUPTI could not time them; record again, with a newer driver if it happens again."},
    {"health.unmatched_launches", "launching calls without their GPU operation", Always(kNote), "health",
     Nowhere(kTrust),
     "Their operations had not been delivered when the recording ended, or were lost: idle time may be too high."},
    {"health.unmatched_ops", "GPU operations without their call", Always(kNote), "health", Nowhere(kTrust),
     "Idle time before them has the cause `unknown`. Record CUDA calls from the start of the program."},
    {"health.early_ops", "operations that seem to start before their call", Always(kNote), "health", Nowhere(kTrust),
     "The clocks of GPU and host differ by a little; idle causes are uncertain by as much."},
    {"health.unfinished_processes", "processes that did not end cleanly", Always(kWarning), "health", Nowhere(kTrust),
     "They were killed, crashed or are still running: what they had not written by then is missing."},
    {"health.salvaged_processes", "processes that died, and what they left was recovered", Always(kNote), "health",
     Nowhere(kTrust), "They were killed or crashed. Everything that had been recorded by then is in the trace."},
    {"health.unfinished_gpu_work", "processes whose last GPU work may be missing", Always(kWarning), "health",
     Nowhere(kTrust), "The GPU was still busy, or its records had not been delivered, when they ended."},
    {"health.ops_from_before", "GPU operations launched before the capture that they ran in: information",
     Always(kInfo), "health", Nowhere(kTrust),
     "Idle time before them has the cause `unknown`. Nothing to do: a capture may begin while the GPU is busy."},
    {"health.unmatched_nvtx_ends", "ends of NVTX ranges without their start", Always(kNote), "health", Nowhere(kTrust),
     "The recording began within them, or the program pops more than it pushes."},
    {"health.open_ranges", "NVTX ranges that were never ended", Always(kNote), "health", Nowhere(kTrust),
     "They count until the end of their process. The program pushes more than it pops, or ended within them."},
    {"health.missing_strings", "names are missing from the file", Always(kNote), "health", Nowhere(kTrust),
     "They were in parts of the file that could not be read; they show as <name #12>."},
    {"health.truncated", "the file ends within a part", Always(kWarning), "health", Nowhere(kTrust),
     "It was cut, or is still being written; copy it again, or read it when the program has ended."},
    {"health.notice", "what the tracer had to say", {kInfo, kNever, 100}, "health", Nowhere(kTrust)},
    {"health.overhead", "recording took more than 10 % of the time of a thread, or of the GPU's window", Always(kNote),
     "recording_cost", Nowhere(kTrust),
     "Figures of short calls and the gaps between them are too high by as much: the program alone is faster. Nothing "
     "was taken off. Record less (--trace, -c), or compare with runs that were recorded alike."},
    {"health.no_gpu", "the trace has no GPU operation", Always(kNote), "health", Nowhere(kTrust),
     "If the program should have used a GPU, see the notices of the tracer and docs/troubleshooting.md."},
};

}  // namespace

Severity SeverityRule::Of(double percent) const {
  if (percent >= warning_percent) return kWarning;
  return percent >= note_percent ? kNote : least;
}

bool FindingIds::Has(std::string_view id) const {
  return std::find(std::begin(ids), std::end(ids), id) != std::end(ids);
}

std::span<const FindingInfo> FindingCatalogue() { return kFindings; }

const FindingInfo* FindFinding(std::string_view id) {
  const auto* found =
      std::find_if(std::begin(kFindings), std::end(kFindings), [&](const FindingInfo& info) { return info.id == id; });
  return found == std::end(kFindings) ? nullptr : found;
}

Finding NewFinding(std::string_view id, double percent) {
  const FindingInfo* info = FindFinding(id);
  assert(info != nullptr && "finding without a row in finding_catalogue.cpp");
  Finding finding;
  finding.id = id;
  if (info == nullptr) return finding;
  finding.severity = info->severity.Of(percent);
  finding.advice = info->advice;
  return finding;
}

bool AreAboutTheSame(const Finding& first, const Finding& second) {
  const auto has = [](const Finding& finding, const Finding& other) {
    const FindingInfo* info = FindFinding(finding.id);
    if (info == nullptr) return false;
    const auto is_that_cause = [&](const std::string& cause) { return other.id == "idle." + cause; };
    return info->overlaps.Has(other.id) ||
           (info->overlaps_its_causes &&
            std::any_of(finding.subject.causes.begin(), finding.subject.causes.end(), is_that_cause));
  };
  return has(first, second) || has(second, first);
}

}  // namespace gprof
