#include "launch/run/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "gprof/error.h"
#include "gprof/trace/env.h"

namespace gprof {
namespace {

namespace env = trace::env;

bool IsEntryOf(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

// The program may change its folder before the tracer reads the path.
std::string AbsoluteFile(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    throw Error(ExitCode::kLaunchFailed, "cannot read '" + path + "': " + std::strerror(errno),
                "--cupti needs the path of a libcupti.so");
  }
  return std::filesystem::absolute(path).string();
}

}  // namespace

Environment::Environment(const char* const* inherited, const LaunchOptions& options, const std::string& tracer) {
  for (; *inherited != nullptr; ++inherited) {
    // What is left of another run must not steer this one.
    if (!std::string_view(*inherited).starts_with("GPROF_")) entries_.emplace_back(*inherited);
  }
  for (const auto& [name, value] : options.variables) Set(name, value);
  for (const auto& [name, value] : options.library_variables) {
    if (!Get(name)) Set(name, value);
  }
  // Without CUDA and NVTX, what the program waits for is seen from its first call of either on all the same.
  const bool traces_host = options.TracesHostCalls();
  if (options.trace_cuda || traces_host || !options.counters.empty())
    Inject("CUDA_INJECTION64_PATH", env::kNextCudaInjection, tracer);
  if (options.trace_nvtx || (traces_host && !options.trace_cuda))
    Inject("NVTX_INJECTION64_PATH", env::kNextNvtxInjection, tracer);
  if (options.trace_nccl) InjectIntoNccl(tracer);
  if (options.trace_openmp) InjectIntoList("OMP_TOOL_LIBRARIES", ':', tracer);
  if (options.trace_openacc) InjectIntoList("ACC_PROFLIB", ';', tracer);
  SetTracerOptions(options);
  if (!options.pytorch.empty()) Set(env::kPytorch, options.pytorch);
  if (options.has_serving_hooks) Set(env::kServing, "1");
  if (!options.python_lines.empty()) Set(env::kLines, options.python_lines);
  // Memory of PyTorch needs no hook.
  const bool has_hooks = options.has_serving_hooks || !options.python_lines.empty() ||
                         (!options.pytorch.empty() && options.pytorch != "memory");
  if (!has_hooks) return;
  const std::string hooks = std::filesystem::path(tracer).parent_path() / "hooks";
  const std::string path = Get("PYTHONPATH").value_or("");
  Set("PYTHONPATH", path.empty() ? hooks : hooks + ":" + path);
}

void Environment::SetTracerOptions(const LaunchOptions& options) {
  std::string kinds;
  const auto add = [&kinds](bool is_wanted, const char* kind) {
    if (is_wanted) kinds += (kinds.empty() ? "" : ",") + std::string(kind);
  };
  add(options.trace_cuda, "cuda");
  add(options.trace_nvtx, "nvtx");
  add(options.trace_osrt, "osrt");
  add(options.trace_mpi, "mpi");
  add(options.trace_gemm, "gemm");
  add(options.trace_nccl, "nccl");
  add(options.trace_nccl_proxy, "nccl-proxy");
  add(options.trace_ucx, "ucx");
  add(options.trace_cusparse, "cusparse");
  add(options.trace_cufft, "cufft");
  add(options.trace_openmp, "openmp");
  add(options.trace_openacc, "openacc");
  Set(env::kTrace, kinds.empty() ? "none" : kinds);
  if (options.osrt_threshold_ns) Set(env::kOsrtThreshold, std::to_string(*options.osrt_threshold_ns));
  if (!options.osrt_functions.empty()) Set(env::kOsrtFunctions, options.osrt_functions);
  if (options.osrt_file_access) Set(env::kOsrtFileAccess, "1");
  if (options.all_apis) Set(env::kAllApis, "1");
  if (options.flush_ms != 0) Set(env::kFlushMs, std::to_string(options.flush_ms));
  if (!options.graph_trace.empty()) Set(env::kGraphTrace, options.graph_trace);
  if (!options.cupti_path.empty()) Set(env::kCupti, AbsoluteFile(options.cupti_path));
  if (!options.calibration.empty()) Set(env::kCalibration, options.calibration);
  if (options.memory_usage) Set(env::kMemoryUsage, "1");
  if (options.managed_memory) Set(env::kManagedMemory, "1");
  if (!options.yields_to_profiler) Set(env::kYieldToProfiler, "0");
  if (options.is_quiet) Set(env::kQuiet, "1");
  if (options.python_stacks) Set(env::kPythonStacks, "1");
  SetCapture(options.capture);
}

void Environment::SetCapture(const CaptureOptions& capture) {
  if (capture.IsCommanded()) Set(env::kCapture, "command");
  if (!capture.begin.empty()) Set(env::kCapture, capture.begin);
  if (!capture.end.empty()) Set(env::kCaptureEnd, capture.end);
  if (!capture.nvtx_range.empty()) Set(env::kNvtxCapture, capture.nvtx_range);
  if (!capture.sample_steps.empty()) Set(env::kSampleSteps, capture.sample_steps);
  if (!capture.windows.empty()) Set(env::kWindows, capture.windows);
}

void Environment::SetRunFolder(const std::string& path) { Set(env::kRunFolder, path); }

void Environment::SetCounters(const std::string& path) { Set(env::kCounters, path); }

void Environment::SetDelays(const std::string& path) { Set(env::kDelays, path); }

void Environment::SetOnlyPid(pid_t pid) { Set(env::kOnlyPid, std::to_string(pid)); }

void Environment::SetOutput(const std::string& absolute_path, const std::string& run_id) {
  Set(env::kOutput, absolute_path);
  if (!run_id.empty()) Set(env::kRunId, run_id);
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsEntryOf(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

void Environment::Set(std::string_view name, std::string_view value) {
  Erase(name);
  entries_.push_back(std::string(name) + "=" + std::string(value));
}

void Environment::Erase(std::string_view name) {
  std::erase_if(entries_, [name](const std::string& entry) { return IsEntryOf(entry, name); });
}

// NCCL has room for one plug-in, and the user's may be what the program is tuned by.
void Environment::InjectIntoNccl(const std::string& tracer) {
  constexpr char kPlugin[] = "NCCL_PROFILER_PLUGIN";
  const std::optional<std::string> before = Get(kPlugin);
  if (!before || before->empty() || *before == tracer) return Set(kPlugin, tracer);
  warnings_.push_back(std::string(kPlugin) + " is set to '" + *before +
                      "', which is kept: NCCL operations are not recorded");
}

// Runtimes that take a list try one tool after another: those of the user come first.
void Environment::InjectIntoList(std::string_view name, char separator, const std::string& tracer) {
  const std::string before = Get(name).value_or("");
  if (before == tracer || before.ends_with(separator + tracer)) return;
  Set(name, before.empty() ? tracer : before + separator + tracer);
}

void Environment::Inject(std::string_view name, std::string_view next, const std::string& tracer) {
  const std::optional<std::string> before = Get(name);
  if (before && !before->empty() && *before != tracer) {
    warnings_.push_back(std::string(name) + " was set to '" + *before +
                        "', possibly by another profiler; overridden for this run");
    Set(next, *before);
  }
  Set(name, tracer);
}

}  // namespace gprof
