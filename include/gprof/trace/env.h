// The contract between launcher and tracer: every GPROF_* variable, and nothing else passes between them.
#pragma once

namespace gprof::trace {

struct EnvVariable {
  const char* name;
  const char* meaning;
};

namespace env {
inline constexpr char kOutput[] = "GPROF_OUTPUT";
inline constexpr char kTrace[] = "GPROF_TRACE";
inline constexpr char kOsrtThreshold[] = "GPROF_OSRT_THRESHOLD";
inline constexpr char kOsrtFunctions[] = "GPROF_OSRT_FUNCTIONS";
inline constexpr char kOsrtFileAccess[] = "GPROF_OSRT_FILE_ACCESS";
inline constexpr char kOsrtStacks[] = "GPROF_OSRT_STACKS";
inline constexpr char kCudaStacks[] = "GPROF_CUDA_STACKS";
inline constexpr char kSignalSamples[] = "GPROF_SIGNAL_SAMPLES";
inline constexpr char kAllApis[] = "GPROF_ALL_APIS";
inline constexpr char kFlushMs[] = "GPROF_FLUSH_MS";
inline constexpr char kGraphTrace[] = "GPROF_GRAPH_TRACE";
inline constexpr char kCupti[] = "GPROF_CUPTI";
inline constexpr char kQuiet[] = "GPROF_QUIET";
inline constexpr char kRunId[] = "GPROF_RUN_ID";
inline constexpr char kRunFolder[] = "GPROF_RUN_FOLDER";
inline constexpr char kRunBase[] = "GPROF_RUN_BASE";
inline constexpr char kPager[] = "GPROF_PAGER";
inline constexpr char kIgnoreMemoryLimit[] = "GPROF_IGNORE_MEMORY_LIMIT";
inline constexpr char kCapture[] = "GPROF_CAPTURE";
inline constexpr char kCaptureEnd[] = "GPROF_CAPTURE_END";
inline constexpr char kNvtxCapture[] = "GPROF_NVTX_CAPTURE";
inline constexpr char kSampleSteps[] = "GPROF_SAMPLE_STEPS";
inline constexpr char kWindows[] = "GPROF_WINDOWS";
inline constexpr char kYieldToProfiler[] = "GPROF_YIELD_TO_PROFILER";
inline constexpr char kMemoryUsage[] = "GPROF_MEMORY_USAGE";
inline constexpr char kManagedMemory[] = "GPROF_MANAGED_MEMORY";
inline constexpr char kPythonStacks[] = "GPROF_PYTHON_STACKS";
inline constexpr char kPytorch[] = "GPROF_PYTORCH";
inline constexpr char kServing[] = "GPROF_SERVING";
inline constexpr char kCounters[] = "GPROF_COUNTERS";
inline constexpr char kDelays[] = "GPROF_DELAYS";
inline constexpr char kLines[] = "GPROF_LINES";
inline constexpr char kCures[] = "GPROF_CURES";
inline constexpr char kCalibration[] = "GPROF_CALIBRATION";
inline constexpr char kOnlyPid[] = "GPROF_ONLY_PID";
inline constexpr char kArmed[] = "GPROF_ARMED";
inline constexpr char kNextCudaInjection[] = "GPROF_NEXT_CUDA_INJECTION";
inline constexpr char kNextNvtxInjection[] = "GPROF_NEXT_NVTX_INJECTION";
}  // namespace env

// clang-format off
inline constexpr EnvVariable kEnvVariables[] = {
    {env::kOutput, "absolute path of the trace file; without it the tracer does nothing"},
    {env::kTrace, "what to record: a list of `cuda`, `nvtx`, `osrt`, `mpi`, `gemm`, `nccl`, `nccl-proxy`, `ucx`, `cusparse`, `cufft`, `openmp` and `openacc`; the first two by default"},
    {env::kOsrtThreshold, "shortest operating system call in ns that is recorded, in every thread; by default 10000 in threads that have called CUDA or NVTX, 100000 in others"},
    {env::kOsrtFunctions, "operating system functions to record, separated by commas; all that the tracer knows by default"},
    {env::kOsrtFileAccess, "1 records every call on a file, however short"},
    {env::kOsrtStacks, "`NS,FRAMES,BYTES`: operating system calls that take NS or longer get a call stack of up to FRAMES functions, found in BYTES of the stack; none by default"},
    {env::kCudaStacks, "a list of `kernel:NS`, `memory:NS`, `sync:NS` and `other:NS`: CUDA calls of that kind that take NS or longer get a call stack of functions; none by default"},
    {env::kSignalSamples, "`NS,BYTES`: a signal samples threads that call CUDA or NVTX every NS of their CPU time, with BYTES of their stack; not by default"},
    {env::kAllApis, "1 records cheap query calls too"},
    {env::kFlushMs, "longest time in ms that a record waits before it is in the file, 500 by default"},
    {env::kGraphTrace, "`graph` (default), `node`, or `auto` (nodes while that is affordable): how finely CUDA graphs are recorded"},
    {env::kCupti, "path of the libcupti to use instead of the one found"},
    {env::kQuiet, "1 keeps the tracer from writing to stderr; notices are still in the trace"},
    {env::kRunId, "device and inode number of the trace file and the random number that its first chunk has, so that a replaced file is noticed"},
    {env::kRunFolder, "folder that launcher and tracers share (run_folder.h): what waits to be written outlives the process there"},
    {env::kRunBase, "for gprof-cli itself, which passes it to no program: an absolute path where run folders are made, in place of /dev/shm"},
    {env::kPager, "for gprof-cli itself: the pager for long results on a terminal, in place of `PAGER`; empty or `cat`: none"},
    {env::kIgnoreMemoryLimit, "for gprof-cli itself: 1 reads files that take far more memory than their size suggests, as `--ignore-memory-limit` does"},
    {env::kCapture, "what starts recording: `begin` (default), `command` (the control page), `cudaProfilerApi`, `nvtx`, `steps` or `windows`"},
    {env::kCaptureEnd, "what the end of a capture range means: `stop` (default), `stop-shutdown`, `repeat`, `repeat:N`, or `none` (go on to the end)"},
    {env::kNvtxCapture, "`range@domain` that is captured or counted as steps; without @ the default domain, `@*` any domain"},
    {env::kSampleSteps, "`skip=,wait=,warmup=,active=,repeat=`: which of the steps that GPROF_NVTX_CAPTURE names are recorded"},
    {env::kWindows, "with `GPROF_CAPTURE=windows`: `measure` (on and off in turns), or `budget=PPM`, the slow-down in millionths that must not be exceeded"},
    {env::kYieldToProfiler, "0 keeps GPU work from the program's own profiler, which else gets it while it records"},
    {env::kMemoryUsage, "1 records allocations, frees and memory pools"},
    {env::kManagedMemory, "1 records migrations and page faults of managed memory"},
    {env::kPythonStacks, "1 records the Python stack of CUDA calls, where the process has a Python"},
    {env::kPytorch, "what to record of PyTorch, a list of `ops`, `autograd-nvtx`, `autograd-shapes-nvtx`, `modules` and `graphs`, read by `lib/gprof-cli/hooks/sitecustomize.py`, which is put on PYTHONPATH, and `memory`, read by the tracer"},
    {env::kServing, "1 has `lib/gprof-cli/hooks/gprof_engines.py`, which is put on PYTHONPATH, tell of requests and steps of vLLM, SGLang and Transformers"},
    {env::kCounters, "absolute path of a file that says which kernel counters to collect, and of what (counter_request.h)"},
    {env::kDelays, "absolute path of a file that says what to delay, and by how much (delay_request.h)"},
    {env::kLines, "lines of Python, `FILE:N` with commas between, whose executions `lib/gprof-cli/hooks/gprof_lines.py`, which is put on PYTHONPATH, makes ranges; set by `what-if`"},
    {env::kCures, "what `libgprof-cures.so`, which is preloaded, does about the program: a list of `pin-copies`, `stream-waits`, `pool-allocations` and `prefetch-managed`; set by `try`"},
    {env::kCalibration, "absolute path of a file that says what recording costs on this machine (`doctor --calibrate`); for gprof-cli itself, the file to use in place of the one in the state folder, empty for none"},
    {env::kOnlyPid, "the only process to record; its children are left alone"},
    {env::kArmed, "absolute path of a folder: the tracer does nothing until `attach` leaves a request there; printed by `gprof-cli env`"},
    {env::kNextCudaInjection, "CUDA_INJECTION64_PATH as the user had set it: loaded in processes that record no CUDA"},
    {env::kNextNvtxInjection, "NVTX_INJECTION64_PATH as the user had set it: loaded in processes that record no NVTX"},
};
// clang-format on

}  // namespace gprof::trace
