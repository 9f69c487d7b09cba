#include "tracer/core/config.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/env.h"
#include "tracer/core/notice.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/settings.h"

namespace gprof::tracer {
namespace {

constinit TracerConfig config GPROF_IN_ARENA;

bool IsSet(const char* name) {
  const char* value = Setting(name);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// A path that does not fit is left out whole: half a path names another file.
template <std::size_t N>
void CopyPath(const char* name, char (&out)[N]) {
  const char* value = Setting(name);
  if (value != nullptr && std::strlen(value) < N) std::strcpy(out, value);
}

bool IsKnown(const char* variable) {
  for (const trace::EnvVariable& known : trace::kEnvVariables) {
    const std::size_t n = std::strlen(known.name);
    if (std::strncmp(variable, known.name, n) == 0 && variable[n] == '=') return true;
  }
  return false;
}

bool Lists(const char* list, const char* word) {
  const std::size_t n = std::strlen(word);
  for (const char* at = std::strstr(list, word); at != nullptr; at = std::strstr(at + 1, word)) {
    const bool starts = at == list || at[-1] == ',';
    if (starts && (at[n] == 0 || at[n] == ',')) return true;
  }
  return false;
}

template <std::size_t N>
void CopyPart(const char* text, std::size_t size, char (&out)[N]) {
  if (size >= N) size = N - 1;
  std::memcpy(out, text, size);
  out[size] = 0;
}

// "skip=2,wait=1,warmup=1,active=3,repeat=1", any of them, in any order.
void ReadSteps(const char* text, StepSchedule* steps) {
  const struct {
    const char* name;
    uint32_t* value;
  } parts[] = {{"skip=", &steps->skip},
               {"wait=", &steps->wait},
               {"warmup=", &steps->warmup},
               {"active=", &steps->active},
               {"repeat=", &steps->repeat}};
  for (const char* at = text; at != nullptr && *at != 0;) {
    for (const auto& part : parts) {
      const std::size_t n = std::strlen(part.name);
      if (std::strncmp(at, part.name, n) == 0) *part.value = static_cast<uint32_t>(strtoul(at + n, nullptr, 10));
    }
    at = std::strchr(at, ',');
    if (at != nullptr) ++at;
  }
  if (steps->active == 0) steps->active = 1;
}

void ReadCapture() {
  const char* start = Setting(trace::env::kCapture);
  const char* end = Setting(trace::env::kCaptureEnd);
  if (start == nullptr) start = "begin";
  if (end == nullptr) end = "stop";
  if (std::strcmp(start, "command") == 0) config.capture_start = CaptureStart::kCommand;
  if (std::strcmp(start, "cudaProfilerApi") == 0) config.capture_start = CaptureStart::kProfilerApi;
  if (std::strcmp(start, "nvtx") == 0) config.capture_start = CaptureStart::kNvtx;
  if (std::strcmp(start, "steps") == 0) config.capture_start = CaptureStart::kSteps;
  if (std::strcmp(start, "windows") == 0) config.capture_start = CaptureStart::kWindows;
  if (std::strcmp(end, "stop-shutdown") == 0) config.capture_end = CaptureEnd::kStopShutdown;
  if (std::strcmp(end, "none") == 0) config.capture_end = CaptureEnd::kNone;
  if (std::strncmp(end, "repeat", 6) == 0) {
    config.capture_end = CaptureEnd::kRepeat;
    if (end[6] == ':') config.capture_repeat = static_cast<uint32_t>(strtoul(end + 7, nullptr, 10));
  }
  if (const char* range = Setting(trace::env::kNvtxCapture); range != nullptr) {
    const char* at = std::strrchr(range, '@');
    CopyPart(range, at == nullptr ? std::strlen(range) : static_cast<std::size_t>(at - range), config.capture_range);
    if (at != nullptr) CopyPart(at + 1, std::strlen(at + 1), config.capture_domain);
  }
  if (const char* steps = Setting(trace::env::kSampleSteps); steps != nullptr) ReadSteps(steps, &config.steps);
  const char* windows = Setting(trace::env::kWindows);
  if (windows != nullptr && std::strncmp(windows, "budget=", 7) == 0) {
    config.budget_ppm = static_cast<uint32_t>(strtoul(windows + 7, nullptr, 10));
  }
}

void ReadOsrt() {
  if (const char* threshold = Setting(trace::env::kOsrtThreshold); threshold != nullptr) {
    config.osrt_threshold_ns = config.osrt_other_threshold_ns = strtoull(threshold, nullptr, 10);
    config.osrt_steps_down = false;
  }
  CopyPath(trace::env::kOsrtFunctions, config.osrt_functions);
  config.wants_file_access = IsSet(trace::env::kOsrtFileAccess);
}

// "80000,24,65536": ns, frames, bytes of the stack.
void ReadOsrtStacks(const char* text) {
  char* at = nullptr;
  config.osrt_stack_ns = strtoull(text, &at, 10);
  if (*at == ',') config.osrt_stack_frames = static_cast<uint32_t>(strtoul(at + 1, &at, 10));
  if (*at == ',') config.osrt_stack_bytes = static_cast<uint32_t>(strtoul(at + 1, &at, 10));
}

// "kernel:80000,sync:0", any of the kinds.
void ReadCudaStacks(const char* text) {
  constexpr const char* kNames[kCallKinds] = {"kernel:", "memory:", "sync:", "other:"};
  for (uint32_t kind = 0; kind < kCallKinds; ++kind) {
    const char* const at = std::strstr(text, kNames[kind]);
    if (at != nullptr) config.api_stack_ns[kind] = strtoull(at + std::strlen(kNames[kind]), nullptr, 10);
  }
}

void ReadStacks() {
  if (const char* text = Setting(trace::env::kOsrtStacks); text != nullptr) ReadOsrtStacks(text);
  if (const char* text = Setting(trace::env::kCudaStacks); text != nullptr) ReadCudaStacks(text);
}

// "5000000,8192": ns, bytes of the stack.
void ReadSignalSamples() {
  const char* const text = Setting(trace::env::kSignalSamples);
  if (text == nullptr) return;
  char* at = nullptr;
  config.sample_period_ns = strtoull(text, &at, 10);
  if (*at == ',') config.sample_stack_bytes = static_cast<uint32_t>(strtoul(at + 1, &at, 10)) / 8 * 8;
}

}  // namespace

const TracerConfig& Config() { return config; }

void ReadConfig() {
  CopyPath(trace::env::kOutput, config.output);
  CopyPath(trace::env::kCupti, config.cupti);
  CopyPath(trace::env::kCalibration, config.calibration);
  if (const char* kinds = Setting(trace::env::kTrace); kinds != nullptr) {
    config.wants_cuda = Lists(kinds, "cuda");
    config.wants_nvtx = Lists(kinds, "nvtx");
    config.wants_mpi = Lists(kinds, "mpi");
    config.wants_gemms = Lists(kinds, "gemm");
    config.wants_nccl = Lists(kinds, "nccl");
    config.wants_nccl_transfers = Lists(kinds, "nccl-proxy");
    config.wants_ucx = Lists(kinds, "ucx");
    config.wants_cusparse = Lists(kinds, "cusparse");
    config.wants_cufft = Lists(kinds, "cufft");
    config.wants_openmp = Lists(kinds, "openmp");
    config.wants_openacc = Lists(kinds, "openacc");
    config.wants_osrt = Lists(kinds, "osrt");
  }
  config.wants_all_apis = IsSet(trace::env::kAllApis);
  config.wants_memory_usage = IsSet(trace::env::kMemoryUsage);
  config.wants_managed_memory = IsSet(trace::env::kManagedMemory);
  if (const char* yields = Setting(trace::env::kYieldToProfiler); yields != nullptr) {
    config.yields_to_profiler = std::strcmp(yields, "0") != 0;
  }
  config.is_quiet = IsSet(trace::env::kQuiet);
  config.wants_python_stacks = IsSet(trace::env::kPythonStacks);
  if (const char* wanted = Setting(trace::env::kPytorch); wanted != nullptr) {
    config.wants_tensor_memory = Lists(wanted, "memory");
  }
  if (const char* level = Setting(trace::env::kGraphTrace); level != nullptr) {
    if (std::strcmp(level, "node") == 0) config.graph_mode = GraphMode::kNode;
    if (std::strcmp(level, "auto") == 0) config.graph_mode = GraphMode::kAuto;
    config.wants_graph_nodes = config.graph_mode != GraphMode::kGraph;
  }
  if (const char* period = Setting(trace::env::kFlushMs); period != nullptr) {
    const unsigned long ms = strtoul(period, nullptr, 10);
    if (ms >= 1 && ms <= 60000) config.flush_ms = static_cast<uint32_t>(ms);
  }
  if (const char* run = Setting(trace::env::kRunId); run != nullptr) {
    char* end = nullptr;
    config.output_device = strtoull(run, &end, 10);
    if (*end == ':') config.output_inode = strtoull(end + 1, &end, 10);
    if (*end == ':') config.output_run = strtoull(end + 1, nullptr, 10);
  }
  if (const char* pid = Setting(trace::env::kOnlyPid); pid != nullptr) {
    config.only_pid = static_cast<uint32_t>(strtoul(pid, nullptr, 10));
  }
  ReadOsrt();
  ReadStacks();
  ReadSignalSamples();
  ReadCapture();
}

void SayUnknownVariables() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "GPROF_", 6) != 0 || IsKnown(*variable)) continue;
    Message message;
    const char* equals = std::strchr(*variable, '=');
    for (const char* p = *variable; p != equals && *p != 0; ++p) {
      const char letter[2] = {*p, 0};
      message << letter;
    }
    message << " in the environment is not a gprof-cli variable; see docs/environment.md";
    Say(trace::NoticeLevel::kWarning, message);
  }
}

void SetOutputFile(const char* path, const OutputIdentity& identity) {
  CopyPart(path, std::strlen(path), config.output);
  config.output_device = identity.device;
  config.output_inode = identity.inode;
  config.output_run = identity.run;
  config.output_limit = identity.limit;
}

void ForgetOutputFile() { config.output[0] = 0; }

bool IsOutputFile(const char* path, const OutputIdentity& identity) {
  return std::strcmp(config.output, path) == 0 && config.output_inode == identity.inode &&
         config.output_device == identity.device && config.output_run == identity.run;
}

}  // namespace gprof::tracer
