// What collectors are to do, as the user asked for it. A field for each thing that can be turned off or on; the options
// of `profile` set them (src/cli/arguments/program_arguments.cpp), and nobody in between looks at them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gprof {

// Whose threads are looked at.
enum class CpuScope : uint8_t {
  kNobody,
  kLaunching,          // those that called CUDA or NVTX
  kLaunchingElseTree,  // the same; all, as long as nobody has called these
  kProcessTree,        // all of the program and of what it starts
};

enum class CpuBacktrace : uint8_t { kOff, kTables, kFramePointers };

struct SamplingOptions {
  CpuScope samples = CpuScope::kLaunching, switches = CpuScope::kLaunching;
  CpuBacktrace backtrace = CpuBacktrace::kTables;
  double hz = 0;  // of a thread that runs; 0: as suits the machine
  uint32_t samples_per_backtrace = 1;
  uint32_t stack_bytes = 8192;  // that are copied with a sample; a multiple of 8
  bool was_asked_for = false;   // the user wants to know when it cannot be
  bool by_signal = false;       // where the kernel refuses perf events, a signal in the program takes the samples
};

// Python code, by reading the memory of the program.
enum class PythonSampling : uint8_t {
  kOff,
  kAsNeeded,  // processes that do not call CUDA, and where the kernel refuses perf events, those that do
  kOn,
};

struct PythonSamplingOptions {
  PythonSampling mode = PythonSampling::kAsNeeded;
  CpuScope threads = CpuScope::kLaunching;
  double hz = 0;  // 0: as suits the mode
};

// Counters of GPUs, by PM sampling.
struct GpuMetricsOptions {
  std::string devices;  // "all", "cuda-visible", or numbers and UUIDs with commas between; empty: none
  double hz = 1000;
  double burst_seconds = 0;  // samples are taken for so long at a time and read afterwards; 0: all the time
  std::string set = "default";
  std::vector<std::string> metrics;  // of the chip, instead of a set
  std::string cupti_path;            // empty: found
};

struct CollectorOptions {
  SamplingOptions sampling;
  PythonSamplingOptions python;
  double host_load_hz = 10;  // 0: none
  double nvml_hz = 10;       // 0: none
  GpuMetricsOptions gpu_metrics;
  bool thread_states = false;  // when the recorder asks for them

  // Whether a run is worth a trace in which nobody calls CUDA or NVTX.
  bool WantsUntraced() const {
    const auto has_all = [](CpuScope scope) { return scope >= CpuScope::kLaunchingElseTree; };
    return has_all(sampling.samples) || has_all(sampling.switches) ||
           (python.mode == PythonSampling::kOn && has_all(python.threads));
  }

  // Nothing outside of the program.
  static CollectorOptions None() {
    CollectorOptions none;
    none.sampling.samples = none.sampling.switches = CpuScope::kNobody;
    none.python.mode = PythonSampling::kOff;
    none.host_load_hz = none.nvml_hz = 0;
    return none;
  }
};

}  // namespace gprof
