// Which calls of CUPTI's range profiler leave L2 dirty or take it away from a kernel, and what it takes to have it
// clean. usage: gpu_l2_probe VARIANT FLOATS LAUNCHES [METRIC...]; variants are listed below. It measures a vector
// addition by itself, without gprof-cli, and prints values, times and every error. Needs permission to use the
// monitors.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cupti_checkpoint.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using NV::Cupti::Checkpoint::CUpti_Checkpoint;

#define PARAMETERS(function, name) \
  function##_Params name = {};     \
  name.structSize = function##_Params_STRUCT_SIZE

bool has_failed = false;

void Check(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  cuptiGetResultString(result, &name);
  std::printf("ERROR %s: %s (%d)\n", what, name == nullptr ? "?" : name, static_cast<int>(result));
  has_failed = true;
}
void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::printf("ERROR %s: %s\n", what, cudaGetErrorName(result));
  has_failed = true;
}
#define CHECK(call) Check(call, #call)

double Ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// libcupti looks for others by name, through the paths of the loader.
void* OpenBesideCupti(const char* name) {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&cuptiSubscribe), &info);
  std::string path = info.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + name;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) std::printf("ERROR %s\n", dlerror());
  return library;
}

__global__ void AddVectors(const float* a, const float* b, float* c, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) c[i] = a[i] + b[i];
}

__global__ void SpinFor(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void ReadAll(const uint4* memory, std::size_t count, unsigned* out, unsigned writes) {
  unsigned sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    const uint4 x = __ldcg(memory + i);
    sum += x.x + x.y + x.z + x.w;
  }
  if (writes != 0) *out = sum;
}

class Probe {
 public:
  Probe(std::size_t count, std::vector<const char*> metrics) : count_(count), metrics_(std::move(metrics)) {
    for (float** memory : {&a_, &b_, &c_}) {
      CHECK(cudaMalloc(reinterpret_cast<void**>(memory), count * sizeof(float)));
      CHECK(cudaMemset(*memory, 0, count * sizeof(float)));
    }
    int l2 = 0;
    CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    flush_bytes_ = 2 * static_cast<std::size_t>(l2);
    CHECK(cudaMalloc(&flush_, flush_bytes_));
    CHECK(cudaMalloc(&dirt_, flush_bytes_));
    CHECK(cudaDeviceSynchronize());
    Setup();
    std::printf("L2 %d bytes, %zu metrics in %zu passes, image %zu bytes\n", l2, metrics_.size(), passes_,
                image_.size());
  }

  std::size_t passes() const { return passes_; }

  void Configure(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay, std::size_t ranges) {
    PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = metrics_.data();
    size.numMetrics = metrics_.size();
    size.maxNumOfRanges = size.maxNumRangeTreeNodes = static_cast<uint32_t>(ranges);
    CHECK(cuptiRangeProfilerGetCounterDataSize(&size));
    image_.resize(size.counterDataSize);
    PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize, init);
    init.pRangeProfilerObject = profiler_;
    init.counterDataSize = image_.size();
    init.pCounterData = image_.data();
    CHECK(cuptiRangeProfilerCounterDataImageInitialize(&init));
    PARAMETERS(CUpti_RangeProfiler_SetConfig, config);
    config.pRangeProfilerObject = profiler_;
    config.configSize = config_.size();
    config.pConfig = config_.data();
    config.counterDataImageSize = image_.size();
    config.pCounterDataImage = image_.data();
    config.range = range;
    config.replayMode = replay;
    config.maxRangesPerPass = static_cast<uint32_t>(ranges);
    config.numNestingLevels = config.minNestingLevel = config.targetNestingLevel = 1;
    CHECK(cuptiRangeProfilerSetConfig(&config));
  }

  void Start() {
    PARAMETERS(CUpti_RangeProfiler_Start, p);
    p.pRangeProfilerObject = profiler_;
    const double begin = Ms();
    CHECK(cuptiRangeProfilerStart(&p));
    start_ms_ += Ms() - begin;
  }

  bool Stop() {
    PARAMETERS(CUpti_RangeProfiler_Stop, p);
    p.pRangeProfilerObject = profiler_;
    const double begin = Ms();
    CHECK(cuptiRangeProfilerStop(&p));
    stop_ms_ += Ms() - begin;
    return p.isAllPassSubmitted != 0;
  }

  void Push(const char* name) {
    PARAMETERS(CUpti_RangeProfiler_PushRange, p);
    p.pRangeProfilerObject = profiler_;
    p.pRangeName = name;
    CHECK(cuptiRangeProfilerPushRange(&p));
  }

  void Pop() {
    PARAMETERS(CUpti_RangeProfiler_PopRange, p);
    p.pRangeProfilerObject = profiler_;
    CHECK(cuptiRangeProfilerPopRange(&p));
  }

  void Decode() {
    PARAMETERS(CUpti_RangeProfiler_DecodeData, p);
    p.pRangeProfilerObject = profiler_;
    CHECK(cuptiRangeProfilerDecodeData(&p));
  }

  void Print() {
    PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo, info);
    info.pCounterDataImage = image_.data();
    info.counterDataImageSize = image_.size();
    CHECK(cuptiRangeProfilerGetCounterDataInfo(&info));
    for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
      std::vector<double> values(metrics_.size(), -1);
      PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, p);
      p.pHostObject = host_;
      p.pCounterDataImage = image_.data();
      p.counterDataImageSize = image_.size();
      p.rangeIndex = i;
      p.ppMetricNames = metrics_.data();
      p.numMetrics = metrics_.size();
      p.pMetricValues = values.data();
      CHECK(cuptiProfilerHostEvaluateToGpuValues(&p));
      std::printf("  ");
      for (std::size_t k = 0; k < values.size() && k < kShown; ++k) std::printf(" %12.6g", values[k]);
      std::printf("\n");
    }
  }

  void Add() {
    constexpr unsigned kThreads = 256;
    AddVectors<<<static_cast<unsigned>((count_ + kThreads - 1) / kThreads), kThreads>>>(a_, b_, c_, count_);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }

  static constexpr std::size_t kRounds = 4;
  void Flush() { Flush(flush_); }
  void Flush(void* memory) {
    for (std::size_t i = 0; i < kRounds; ++i)
      ReadAll<<<1024, 512>>>(static_cast<const uint4*>(memory), flush_bytes_ / sizeof(uint4),
                             static_cast<unsigned*>(memory), 0);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  }

  void MakeElsewhere() {
    Check(cuCtxCreate(&other_, nullptr, 0, 0) == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, "cuCtxCreate");
    CHECK(cudaMalloc(&other_memory_, flush_bytes_));
    Flush(other_memory_);
    CUcontext popped = nullptr;
    cuCtxPopCurrent(&popped);
  }

  // In another context, whose kernels are not counted.
  void FlushElsewhere() {
    cuCtxPushCurrent(other_);
    Flush(other_memory_);
    CUcontext popped = nullptr;
    cuCtxPopCurrent(&popped);
  }

  // Runs on while what comes next is made ready.
  void Spin() { SpinFor<<<1, 1>>>(300'000); }

  void MakeDirty() {
    CHECK(cudaMemset(dirt_, 1, flush_bytes_));
    CHECK(cudaDeviceSynchronize());
  }

  void PrintTimes(int launches) const {
    std::printf("  start %.2f ms, stop %.2f ms a launch\n", start_ms_ / launches, stop_ms_ / launches);
  }

 private:
  static constexpr std::size_t kShown = 6;

  void Setup() {
    OpenBesideCupti("libnvperf_host.so");
    OpenBesideCupti("libnvperf_target.so");
    PARAMETERS(CUpti_Profiler_Initialize, initialize);
    CHECK(cuptiProfilerInitialize(&initialize));
    PARAMETERS(CUpti_Device_GetChipName, chip);
    CHECK(cuptiDeviceGetChipName(&chip));
    PARAMETERS(CUpti_Profiler_Host_Initialize, host);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    CHECK(cuptiProfilerHostInitialize(&host));
    host_ = host.pHostObject;
    PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics, add);
    add.pHostObject = host_;
    add.ppMetricNames = metrics_.data();
    add.numMetrics = metrics_.size();
    CHECK(cuptiProfilerHostConfigAddMetrics(&add));
    PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = host_;
    CHECK(cuptiProfilerHostGetConfigImageSize(&size));
    config_.resize(size.configImageSize);
    PARAMETERS(CUpti_Profiler_Host_GetConfigImage, image);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    CHECK(cuptiProfilerHostGetConfigImage(&image));
    PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses, passes);
    passes.configImageSize = config_.size();
    passes.pConfigImage = config_.data();
    CHECK(cuptiProfilerHostGetNumOfPasses(&passes));
    passes_ = passes.numOfPasses;
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    PARAMETERS(CUpti_RangeProfiler_Enable, enable);
    enable.ctx = context;
    CHECK(cuptiRangeProfilerEnable(&enable));
    profiler_ = enable.pRangeProfilerObject;
  }

  std::size_t count_, passes_ = 0, flush_bytes_ = 0;
  std::vector<const char*> metrics_;
  float *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  void *flush_ = nullptr, *dirt_ = nullptr, *other_memory_ = nullptr;
  CUcontext other_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<uint8_t> config_, image_;
  double start_ms_ = 0, stop_ms_ = 0;
};

// The memory of the context, as cuptiCheckpoint has it.
class Saved {
 public:
  Saved() {
    void* const library = OpenBesideCupti("libcheckpoint.so");
    for (const auto& [name, function] : {std::pair{"cuptiCheckpointSave", &save_},
                                         {"cuptiCheckpointRestore", &restore_},
                                         {"cuptiCheckpointFree", &free_}})
      *function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  }
  void Save(uint8_t optimizations) {
    handle_ = {};
    handle_.structSize = CUpti_Checkpoint_STRUCT_SIZE;
    handle_.optimizations = optimizations;
    Call("save", save_);
  }
  void Restore() { Call("restore", restore_); }
  void Free() { Call("free", free_); }

 private:
  using Function = CUptiResult (*)(CUpti_Checkpoint*);
  void Call(const char* what, Function function) {
    if (function == nullptr) return;
    const double begin = Ms();
    Check(function(&handle_), what);
    CHECK(cudaDeviceSynchronize());
    std::printf("  %s %.2f ms\n", what, Ms() - begin);
  }
  CUpti_Checkpoint handle_ = {};
  Function save_ = nullptr, restore_ = nullptr, free_ = nullptr;
};

// What is done around a launch, one after the other.
struct Way {
  const char* name;
  bool is_auto;                  // ranges of kernels, not pushed ones
  bool has_one_session = false;  // for all launches
  bool makes_dirty = false, flushes_before = false, flushes_within = false, warms = false, spins = false;
  bool flushes_in_range = false, flushes_elsewhere = false, resets_in_range = false;
  bool has_passes = false;  // memory is saved, and restored between them
  uint8_t optimizations = NV::Cupti::Checkpoint::CUPTI_CHECKPOINT_OPT_NONE;
};

void MakePass(Probe& probe, const Way& way, const char* name) {
  if (way.makes_dirty) probe.MakeDirty();
  if (way.flushes_before) probe.Flush();
  if (!way.has_one_session) probe.Start();
  if (way.flushes_within) probe.Flush();
  if (way.warms) probe.Add();
  if (way.spins) probe.Spin();
  if (!way.is_auto) probe.Push(name);
  if (way.flushes_elsewhere) probe.FlushElsewhere();
  if (way.flushes_in_range) probe.Flush();
  if (way.resets_in_range)
    Check(cuCtxResetPersistingL2Cache() == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, "reset");
  probe.Add();
  if (!way.is_auto) probe.Pop();
}

// Kernels that are ranges as well: those that flush, and that which warms.
std::size_t RangesOf(const Way& way) {
  return way.is_auto ? (way.flushes_before && way.has_one_session ? Probe::kRounds : 0) +
                           (way.flushes_within ? Probe::kRounds : 0) + (way.warms ? 1 : 0) + 1
                     : 1;
}

void RunTogether(Probe& probe, const Way& way, int launches) {
  probe.Configure(way.is_auto ? CUPTI_AutoRange : CUPTI_UserRange,
                  way.is_auto ? CUPTI_ApplicationReplay : CUPTI_UserReplay,
                  RangesOf(way) * static_cast<std::size_t>(launches));
  probe.Start();
  const double begin = Ms();
  for (int i = 0; i < launches; ++i) MakePass(probe, way, std::to_string(i).c_str());
  std::printf("  %.3f ms a launch\n", (Ms() - begin) / launches);
  probe.Stop();
  probe.Decode();
  probe.Print();
}

void RunSingly(Probe& probe, const Way& way, int launches) {
  Saved saved;
  for (int i = 0; i < launches; ++i) {
    const double begin = Ms();
    if (way.has_passes) saved.Save(way.optimizations);
    probe.Configure(way.is_auto ? CUPTI_AutoRange : CUPTI_UserRange, CUPTI_UserReplay, RangesOf(way));
    std::size_t made = 0;
    for (bool are_all = false; !are_all && made < 2 * probe.passes(); ++made) {
      if (made > 0 && way.has_passes) saved.Restore();
      MakePass(probe, way, "one");
      are_all = probe.Stop();
    }
    if (way.has_passes) saved.Free();
    std::printf("  %zu passes made, %.1f ms in all\n", made, Ms() - begin);
    probe.Decode();
    probe.Print();
  }
  probe.PrintTimes(launches);
}

void RunReplay(Probe& probe, int launches) {
  for (int i = 0; i < launches; ++i) {
    probe.Configure(CUPTI_AutoRange, CUPTI_KernelReplay, 1);
    probe.Start();
    probe.Add();
    probe.Stop();
    probe.Decode();
    probe.Print();
  }
  probe.PrintTimes(launches);
}

const std::vector<Way>& Ways() {
  static std::vector<Way> ways;
  if (!ways.empty()) return ways;
  const auto add = [](const char* name, bool is_auto, auto set) {
    Way way{name, is_auto};
    set(way);
    ways.push_back(way);
  };
  for (const bool is_auto : {true, false}) {
    const auto name = [&](const char* of_auto, const char* of_user) { return is_auto ? of_auto : of_user; };
    add(name("auto_together", "user_together"), is_auto, [](Way& w) { w.has_one_session = true; });
    add(name("auto_together_flush", "user_together_flush"), is_auto,
        [](Way& w) { w.has_one_session = w.flushes_before = true; });
    add(name("auto_singly", "user_singly"), is_auto, [](Way&) {});
    add(name("auto_dirty", "user_dirty"), is_auto, [](Way& w) { w.makes_dirty = true; });
    add(name("auto_flush_before", "user_flush_before"), is_auto, [](Way& w) { w.flushes_before = true; });
    add(name("auto_flush_within", "user_flush_within"), is_auto, [](Way& w) { w.flushes_within = true; });
    add(name("auto_flush_warm", "user_flush_warm"), is_auto, [](Way& w) { w.flushes_within = w.warms = true; });
    add(name("auto_passes_before", "user_passes_before"), is_auto,
        [](Way& w) { w.has_passes = w.flushes_before = true; });
    add(name("auto_passes_within", "user_passes_within"), is_auto,
        [](Way& w) { w.has_passes = w.flushes_within = true; });
  }
  add("user_spin", false, [](Way& w) { w.flushes_within = w.spins = true; });
  add("user_flush_in_range", false, [](Way& w) { w.flushes_in_range = true; });
  add("user_flush_elsewhere", false, [](Way& w) { w.flushes_elsewhere = true; });
  add("user_reset_in_range", false, [](Way& w) { w.resets_in_range = true; });
  add("user_passes_transfer", false, [](Way& w) {
    w.has_passes = w.flushes_within = true;
    w.optimizations = NV::Cupti::Checkpoint::CUPTI_CHECKPOINT_OPT_TRANSFER;
  });
  return ways;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: gpu_l2_probe VARIANT FLOATS LAUNCHES [METRIC...]\n", stderr);
    return 2;
  }
  const std::string variant = argv[1];
  const int launches = std::atoi(argv[3]);
  std::vector<const char*> metrics = {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
                                      "lts__t_sector_hit_rate.pct", "lts__t_sectors_op_read.sum"};
  metrics.insert(metrics.end(), argv + 4, argv + argc);
  Probe probe(std::strtoull(argv[2], nullptr, 10), metrics);
  std::printf("%s\n  ", variant.c_str());
  for (std::size_t i = 0; i < metrics.size() && i < 6; ++i) std::printf(" %12.12s", metrics[i]);
  std::printf("\n");
  if (variant == "user_flush_elsewhere") probe.MakeElsewhere();
  if (variant == "replay") RunReplay(probe, launches);
  for (const Way& way : Ways()) {
    if (variant != way.name) continue;
    if (way.has_one_session)
      RunTogether(probe, way, launches);
    else
      RunSingly(probe, way, launches);
  }
  return has_failed ? 1 : 0;
}
