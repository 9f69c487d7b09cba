#include "analysis/findings/change_catalogue.h"

#include <algorithm>
#include <iterator>

namespace gprof {
namespace {

constexpr std::string_view kInEnvironment = "set the variable where the program is started";
constexpr std::string_view kInLaunchScript = "put these words before the program where it is started";
constexpr std::string_view kRounding =
    "TF32 keeps 10 bits of each factor in place of 23: results differ from the 4th digit on";
constexpr std::string_view kOrderOfSums =
    "sums over threads or ranks may be formed in another order: last digits may differ";

constexpr ChangeInfo kChanges[] = {
    // Loading of code.
    {.name = "lazy-loading",
     .what = "load kernels when they are first launched",
     .environment = "CUDA_MODULE_LOADING=LAZY",
     .permanent = kInEnvironment,
     .findings = {"startup.load", "startup.slow"}},
    {.name = "eager-loading",
     .what = "load all kernels at the start, none in the middle of the work",
     .environment = "CUDA_MODULE_LOADING=EAGER",
     .permanent = kInEnvironment,
     .findings = {"startup.first_launches", "idle.load"}},
    {.name = "kernel-cache",
     .what = "keep kernels that are compiled at run time in a cache of 4 GiB",
     .environment = "CUDA_CACHE_DISABLE=0 CUDA_CACHE_MAXSIZE=4294967296",
     .permanent = "set the variables, or build for the architecture of this GPU (-gencode)",
     .findings = {"startup.load", "startup.first_launches", "idle.load"}},
    {.name = "compile-cache",
     .what = "keep what PyTorch and Triton compile from run to run",
     .environment =
         "TORCHINDUCTOR_FX_GRAPH_CACHE=1 TORCHINDUCTOR_CACHE_DIR={cache}/inductor TRITON_CACHE_DIR={cache}/triton",
     .permanent = "set the variables, with a folder that lasts",
     .findings = {"startup.load", "startup.first_launches", "startup.slow"}},
    // Launching.
    {.name = "connections",
     .what = "32 connections between host and GPU, so that streams do not share one",
     .environment = "CUDA_DEVICE_MAX_CONNECTIONS=32",
     .permanent = kInEnvironment,
     .findings = {"streams.no_overlap", "idle.queue", "idle.dependency"}},
    {.name = "one-connection",
     .what = "one connection between host and GPU: work starts in the order in which it was launched",
     .environment = "CUDA_DEVICE_MAX_CONNECTIONS=1",
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    {.name = "async-launches",
     .what = "launches do not wait for their kernels",
     .environment = "CUDA_LAUNCH_BLOCKING=0",
     .permanent = "remove CUDA_LAUNCH_BLOCKING from where the program is started",
     .findings = {"launch.blocking"}},
    // GPU memory.
    {.name = "expandable-segments",
     .what = "PyTorch: segments of GPU memory that grow, in place of new ones",
     .environment = "PYTORCH_CUDA_ALLOC_CONF+=expandable_segments:True",
     .permanent = "set the variable, or torch.cuda.memory._set_allocator_settings() first of all",
     .findings = {"memory.churn", "idle.memory", "sync.implied"}},
    {.name = "malloc-async",
     .what = "PyTorch: GPU memory from cudaMallocAsync",
     .environment = "PYTORCH_CUDA_ALLOC_CONF+=backend:cudaMallocAsync",
     .permanent = "set the variable before Python starts",
     .findings = {"memory.churn", "idle.memory", "sync.implied"}},
    {.name = "no-preallocation",
     .what = "JAX: allocate GPU memory when it is needed, not three quarters of it at the start",
     .environment = "XLA_PYTHON_CLIENT_PREALLOCATE=false",
     .permanent = kInEnvironment,
     .findings = {"startup.slow"}},
    // Cures: a library in the program does what its source would have to do.
    {.name = "pin-copies",
     .what = "cure: pin host memory that is copied again and again",
     .environment = "LD_PRELOAD+={cures} GPROF_CURES+=pin-copies",
     .permanent = "allocate them with cudaMallocHost (PyTorch: pin_memory=True), or register them once",
     .findings = {"memcpy.pageable", "memcpy.round_trip"}},
    {.name = "stream-waits",
     .what = "cure: wait for one stream in place of the device, where no other has work",
     .environment = "LD_PRELOAD+={cures} GPROF_CURES+=stream-waits",
     .permanent = "cudaStreamSynchronize in place of cudaDeviceSynchronize",
     .findings = {"sync.drains", "sync.site"}},
    {.name = "pool-allocations",
     .what = "cure: reuse freed GPU memory of the same size",
     .environment = "LD_PRELOAD+={cures} GPROF_CURES+=pool-allocations",
     .risk = "a program that reads GPU memory that it never wrote reads something else",
     .permanent = "allocate once before the loop, or use cudaMallocAsync and cudaFreeAsync",
     .findings = {"memory.churn", "idle.memory", "sync.implied"}},
    {.name = "prefetch-managed",
     .what = "cure: prefetch managed memory before the first launch after each wait",
     .environment = "LD_PRELOAD+={cures} GPROF_CURES+=prefetch-managed",
     .permanent = "cudaMemPrefetchAsync before the kernels that use it",
     .findings = {"memory.migrations", "memory.page_faults", "memory.first_touch"}},
    // Arithmetic.
    {.name = "tf32",
     .what = "matrix products and convolutions in FP32 on tensor cores",
     .environment = "NVIDIA_TF32_OVERRIDE=1 TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1",
     .risk = kRounding,
     .permanent = "PyTorch: torch.set_float32_matmul_precision('high'); cuBLAS: CUBLAS_TF32_TENSOR_OP_MATH",
     .findings = {"gemm.fp32", "library.fp32"}},
    {.name = "xla-overlap",
     .what = "XLA: schedule communication and copies so that they overlap with kernels",
     .environment = "XLA_FLAGS+=--xla_gpu_enable_latency_hiding_scheduler=true",
     .risk = kOrderOfSums,
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    // Threads and cores.
    {.name = "all-threads",
     .what = "OpenMP, MKL and OpenBLAS with a thread for each core",
     .environment = "OMP_NUM_THREADS={cores} MKL_NUM_THREADS={cores} OPENBLAS_NUM_THREADS={cores}",
     .risk = kOrderOfSums,
     .permanent = "set the variables, or torch.set_num_threads()",
     .findings = {"idle.host"}},
    {.name = "half-threads",
     .what = "OpenMP, MKL and OpenBLAS with a thread for every other core",
     .environment = "OMP_NUM_THREADS={half_cores} MKL_NUM_THREADS={half_cores} OPENBLAS_NUM_THREADS={half_cores}",
     .risk = kOrderOfSums,
     .permanent = "set the variables, or torch.set_num_threads()",
     .findings = {"host.preempted", "host.loader_workers"}},
    {.name = "one-thread",
     .what = "OpenMP, MKL and OpenBLAS with one thread",
     .environment = "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1",
     .risk = kOrderOfSums,
     .permanent = "set the variables, or torch.set_num_threads(1)",
     .findings = {"host.preempted", "host.loader_workers", "launch.bound"}},
    {.name = "bound-threads",
     .what = "threads of OpenMP stay on their cores",
     .environment = "OMP_PROC_BIND=close OMP_PLACES=cores",
     .permanent = kInEnvironment,
     .findings = {"host.preempted"}},
    {.name = "passive-waiting",
     .what = "threads of OpenMP sleep while they wait, and leave the cores to others",
     .environment = "OMP_WAIT_POLICY=passive KMP_BLOCKTIME=0",
     .permanent = kInEnvironment,
     .findings = {"host.preempted", "sync.polling"}},
    {.name = "near-gpu",
     .what = "run on the cores that are next to the GPU",
     .wrapper = "taskset -c {cores_near_gpu}",
     .permanent = kInLaunchScript,
     .findings = {"launch.bound", "memcpy.pageable", "idle.launch"}},
    {.name = "numa-interleave",
     .what = "spread memory over all NUMA nodes",
     .wrapper = "numactl --interleave={nodes}",
     .permanent = kInLaunchScript,
     .findings = {"idle.host", "memcpy.pageable"}},
    {.name = "numa-local",
     .what = "cores and memory of one NUMA node",
     .wrapper = "numactl --cpunodebind={first_node} --membind={first_node}",
     .permanent = kInLaunchScript,
     .findings = {"idle.host", "memcpy.pageable"}},
    // Host memory.
    {.name = "huge-pages",
     .what = "malloc asks for huge pages",
     .environment = "GLIBC_TUNABLES+=glibc.malloc.hugetlb=1",
     .permanent = "set the variable, or madvise(MADV_HUGEPAGE) on large buffers",
     .findings = {"idle.host", "memcpy.pageable", "memory.first_touch"}},
    {.name = "keep-memory",
     .what = "malloc keeps freed memory in place of giving it back to the system",
     .environment = "GLIBC_TUNABLES+=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=4294967296",
     .permanent = "set the variable, call mallopt(), or reuse buffers",
     .findings = {"idle.host", "memcpy.pageable"}},
    {.name = "few-arenas",
     .what = "malloc with two arenas in place of eight for each core",
     .environment = "MALLOC_ARENA_MAX=2",
     .permanent = kInEnvironment},
    {.name = "jemalloc",
     .what = "malloc of jemalloc",
     .environment = "LD_PRELOAD+={jemalloc}",
     .permanent = "link with it, or set LD_PRELOAD",
     .findings = {"os.lock", "idle.host"}},
    {.name = "tcmalloc",
     .what = "malloc of tcmalloc",
     .environment = "LD_PRELOAD+={tcmalloc}",
     .permanent = "link with it, or set LD_PRELOAD",
     .findings = {"os.lock", "idle.host"}},
    // NCCL.
    {.name = "nccl-ring",
     .what = "NCCL: rings",
     .environment = "NCCL_ALGO=Ring",
     .risk = kOrderOfSums,
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    {.name = "nccl-tree",
     .what = "NCCL: trees",
     .environment = "NCCL_ALGO=Tree",
     .risk = kOrderOfSums,
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    {.name = "nccl-simple",
     .what = "NCCL: the protocol for large messages",
     .environment = "NCCL_PROTO=Simple",
     .risk = kOrderOfSums,
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    {.name = "nccl-ll128",
     .what = "NCCL: the protocol for small messages over NVLink",
     .environment = "NCCL_PROTO=LL128",
     .risk = "only right where NCCL chooses it by itself on such links; "
             "sums may be formed in another order",
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
    {.name = "nccl-channels",
     .what = "NCCL: at least 16 channels",
     .environment = "NCCL_MIN_NCHANNELS=16",
     .risk = kOrderOfSums,
     .permanent = kInEnvironment,
     .findings = {"nccl.exposed"}},
};

}  // namespace

std::span<const ChangeInfo> ChangeCatalogue() { return kChanges; }

const ChangeInfo* FindChange(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kChanges), std::end(kChanges), [&](const auto& c) { return c.name == name; });
  return found == std::end(kChanges) ? nullptr : found;
}

std::vector<std::string_view> ChangesFor(std::string_view finding) {
  std::vector<std::string_view> names;
  for (const ChangeInfo& change : kChanges) {
    const bool is_asked_for =
        std::find(std::begin(change.findings), std::end(change.findings), finding) != std::end(change.findings);
    if (is_asked_for && !finding.empty()) names.push_back(change.name);
  }
  return names;
}

std::string ChangesMarkdown() {
  std::string out = "| Change | What it is | How | Can change results | To keep it |\n|---|---|---|---|---|\n";
  for (const ChangeInfo& change : kChanges) {
    std::string how(change.environment.empty() ? change.wrapper : change.environment);
    out += "| `" + std::string(change.name) + "` | " + std::string(change.what) + " | `" + how + "` | " +
           std::string(change.risk.empty() ? "no" : change.risk) + " | " + std::string(change.permanent) + " |\n";
  }
  return out;
}

}  // namespace gprof
