// What the launcher asked for, read once from the environment (include/gprof/trace/env.h).
#pragma once

#include <cstdint>

namespace gprof::tracer {

enum class GraphMode : uint8_t { kGraph, kNode, kAuto };
enum class CaptureStart : uint8_t { kBegin, kCommand, kProfilerApi, kNvtx, kSteps, kWindows };
enum class CaptureEnd : uint8_t { kStop, kStopShutdown, kRepeat, kNone };

// What `--cudabacktrace` tells apart.
enum class CallKind : uint8_t { kKernel, kMemory, kSync, kOther };
inline constexpr uint32_t kCallKinds = 4;
inline constexpr uint64_t kNever = ~uint64_t{0};

// `--sample-steps`: of every wait + warmup + active steps the active ones are recorded, after `skip` and `repeat` times
// (0: for ever).
struct StepSchedule {
  uint32_t skip = 0, wait = 0, warmup = 0, active = 1, repeat = 0;
};

struct TracerConfig {
  char output[4096] = {};
  bool wants_cuda = true;
  bool wants_nvtx = true;
  bool wants_mpi = false;
  bool wants_gemms = false;
  bool wants_nccl = false;
  bool wants_nccl_transfers = false;  // what its proxy threads send and receive
  bool wants_ucx = false;
  bool wants_cusparse = false;
  bool wants_cufft = false;
  bool wants_openmp = false;
  bool wants_openacc = false;
  bool wants_osrt = false;
  uint64_t osrt_threshold_ns = 10'000;         // of threads that have called CUDA or NVTX
  uint64_t osrt_other_threshold_ns = 100'000;  // of others
  bool osrt_steps_down = true;                 // nobody asked for these thresholds
  bool wants_file_access = false;              // every call on a file, however short
  char osrt_functions[1024] = {};              // empty: all
  uint64_t osrt_stack_ns = kNever;             // shortest call whose stack is recorded
  uint32_t osrt_stack_frames = 24, osrt_stack_bytes = 65536;
  uint64_t api_stack_ns[kCallKinds] = {kNever, kNever, kNever, kNever};  // likewise of CUDA calls
  uint64_t sample_period_ns = 0;                                         // by signals; 0: none
  uint32_t sample_stack_bytes = 0;
  bool wants_all_apis = false;
  GraphMode graph_mode = GraphMode::kGraph;
  bool wants_graph_nodes = false;  // which nodes a graph has, and who made them
  bool wants_memory_usage = false;
  bool wants_managed_memory = false;
  bool yields_to_profiler = true;    // of the program's own, which GPU work then goes to
  bool wants_python_stacks = false;  // at CUDA calls
  bool wants_tensor_memory = false;  // what PyTorch's allocator hands out
  bool is_quiet = false;
  uint32_t flush_ms = 500;
  char cupti[4096] = {};
  char calibration[4096] = {};                   // a file; empty: this machine was not calibrated
  uint64_t output_device = 0, output_inode = 0;  // 0: any file will do
  uint64_t output_run = 0;                       // of its first chunk; 0: whatever it is
  uint64_t output_limit = 0;                     // bytes that it may take; 0: no limit
  CaptureStart capture_start = CaptureStart::kBegin;
  CaptureEnd capture_end = CaptureEnd::kStop;
  uint32_t capture_repeat = 0;  // 0: for ever
  StepSchedule steps;
  uint32_t budget_ppm = 0;        // of windows: the slow-down that is allowed; 0: as long with recording as without
  char capture_range[512] = {};   // of NVTX, without its domain
  char capture_domain[512] = {};  // empty: the default one; "*": any
  uint32_t only_pid = 0;          // 0: every process

  bool WantsNativeStacks() const {
    bool is_wanted = osrt_stack_ns != kNever;
    for (const uint64_t ns : api_stack_ns) is_wanted |= ns != kNever;
    return is_wanted;
  }
  bool WantsLibraryRanges() const { return wants_ucx || wants_cusparse || wants_cufft; }
  bool IsOn() const { return output[0] != 0 || capture_start == CaptureStart::kCommand; }
};

const TracerConfig& Config();

// Once in a process, before anything else is.
void ReadConfig();
// A GPROF_ variable that no version up to this one knows is a typing error, and is said to be one.
void SayUnknownVariables();

// The file of the trace, which may change while the process runs. [starting thread, then the writer thread]
struct OutputIdentity {
  uint64_t device = 0, inode = 0, run = 0;
  uint64_t limit = 0;  // bytes that it may take; 0: no limit
};
void SetOutputFile(const char* path, const OutputIdentity& identity);
bool IsOutputFile(const char* path, const OutputIdentity& identity);
void ForgetOutputFile();
inline bool HasOutputFile() { return Config().output[0] != 0; }

}  // namespace gprof::tracer
