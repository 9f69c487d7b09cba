// The range profiler of the libcupti double: a range for each kernel that runs between start and stop. Its values
// follow from the kernel alone (README.md), and what it refuses is what libcupti 13.0 was seen to refuse.
#include "cupti_range.h"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "cupti_session.h"

struct CUpti_RangeProfiler_Object {
  CUcontext context = nullptr;
  bool is_spoilt = false, is_configured = false, is_running = false, is_user = false, is_pushed = false,
       has_replay = false;
  CUpti_ProfilerReplayMode replay = CUPTI_KernelReplay;
  int passes = 0;
  size_t pass_index = 0, made = 0, rounds = 0;  // the pass that comes next, the last one, how often all were made
  size_t most_ranges = 0, dropped = 0;
  uint64_t range_name = 0;
  uint8_t* image = nullptr;
  std::vector<mock::RangeKernel> kernels;
};

namespace mock {
namespace {

struct Image {
  uint64_t magic;
  uint32_t capacity, count;
  RangeKernel ranges[1];
};

constexpr size_t BytesOf(size_t ranges) { return sizeof(Image) + ranges * sizeof(RangeKernel); }
Image* ImageOf(const uint8_t* bytes) { return reinterpret_cast<Image*>(const_cast<uint8_t*>(bytes)); }

CUpti_RangeProfiler_Object* running = nullptr;
constexpr uint64_t kMostRanges = uint64_t{1} << 20;  // of one session

CUptiResult Asked(const char* variable) { return static_cast<CUptiResult>(EnvNumber(variable, 0)); }

// An object that refused something is not to be used any more: the real library crashes.
bool IsGood(const CUpti_RangeProfiler_Object* object, const char* function) {
  if (object->is_spoilt) Violation((std::string(function) + " after a refusal").c_str());
  return !object->is_spoilt;
}

// MOCK_MONITORS: a file whose lock stands for the monitors of the machine. The first process that starts has them until
// it ends.
int monitors = -1;
bool TakeMonitors() {
  const char* const path = std::getenv("MOCK_MONITORS");
  if (path == nullptr) return true;
  if (monitors < 0) monitors = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  return monitors >= 0 && flock(monitors, LOCK_EX | LOCK_NB) == 0;
}

// MOCK_CONTROLS: a file with what was done to caches and clocks, which are those of the machine: a line each.
bool AreClocksLocked() {
  bool are_locked = false;
  std::ifstream lines(std::getenv("MOCK_CONTROLS"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("clocks")) are_locked = line != "clocks 0";
  }
  return are_locked;
}
void NoteControl(const char* what, int mode) {
  std::ofstream(std::getenv("MOCK_CONTROLS"), std::ios::app) << what << ' ' << mode << '\n';
}
bool are_clocks_ours = false;

// Caches are flushed from CUDA 13.4 on, which asks for one more parameter.
void TakeCacheControl(const CUpti_RangeProfiler_Enable_Params* p) {
  struct Newer {
    size_t size;
    void* reserved;
    CUcontext context;
    CUpti_RangeProfiler_Object* profiler;
    int cache_control;
  };
  const auto* newer = reinterpret_cast<const Newer*>(p);
  if (newer->size < offsetof(Newer, cache_control)) return Violation("cuptiRangeProfilerEnable: a size too small");
  if (newer->size == offsetof(Newer, cache_control)) return;
  if (EnvNumber("MOCK_CUPTI_VERSION", 0) < 130400)
    return Violation("cuptiRangeProfilerEnable: a parameter that CUDA 13.0 does not have");
  NoteControl("caches", newer->cache_control);
}

// A pass of a range whose other passes are in the image, or are to come.
void AddPass(const CUpti_RangeProfiler_Object& object, size_t i, Image* image) {
  const RangeKernel& kernel = object.kernels[i];
  uint32_t at = 0;
  while (at < image->count && image->ranges[at].name != kernel.name) ++at;
  if (at == image->capacity) return Violation("there is no room for one more range");
  if (at == image->count) image->ranges[image->count++] = kernel;
  RangeKernel& range = image->ranges[at];
  if (range.blocks != kernel.blocks) return Violation("a pass of one kernel is added to those of another one");
  const uint64_t pass = uint64_t{1} << object.made;
  if ((range.passes & pass) != 0) Violation("a pass is made twice");
  range.passes |= pass;
  range.is_whole = range.passes + 1 == uint64_t{1} << object.passes;
}

CUptiResult Refuse(CUpti_RangeProfiler_Object* object, CUptiResult result) {
  object->is_spoilt = result != CUPTI_SUCCESS;
  return result;
}

}  // namespace

bool IsRangeImage(const uint8_t* image) { return ImageOf(image)->magic == kRangeMagic; }

bool RangeValues(const uint8_t* image, size_t range, const char* const* metrics, size_t count, double* values) {
  const Image* const data = ImageOf(image);
  if (range >= data->count) return false;
  const RangeKernel& kernel = data->ranges[range];
  for (size_t i = 0; i < count; ++i) {
    const std::string metric = metrics[i];
    if (!kernel.is_whole)
      values[i] = std::numeric_limits<double>::quiet_NaN();
    else if (metric == "gpu__time_duration.sum")
      values[i] = static_cast<double>(kernel.duration_ns);
    else if (metric.find(".pct") != std::string::npos)
      values[i] = 12.5;
    else
      values[i] = static_cast<double>(kernel.blocks) * 100;
  }
  return true;
}

bool AreKernelsMeasured() { return running != nullptr && !running->is_user; }

void NoteRangeKernel(const Op& op) {
  if (running == nullptr || op.kind != OpKind::kKernel) return;
  const uint64_t blocks = uint64_t{op.grid.x} * op.grid.y * op.grid.z;
  const bool is_whole = running->replay == CUPTI_KernelReplay || running->passes <= 1;
  if (!running->is_user && op.graph != 0)
    Violation("a graph is launched while kernels are measured: libcupti 13.0 does not run it, or answers 999");
  if (running->is_user) {
    // All kernels of the range are one.
    if (!running->is_pushed) return;
    if (running->kernels.empty()) running->kernels.push_back({0, 0, is_whole, 0, running->range_name});
    running->kernels[0].blocks += blocks;
    running->kernels[0].duration_ns += op.end_ns - op.start_ns;
    return;
  }
  if (running->kernels.size() == running->most_ranges)
    ++running->dropped;
  else
    running->kernels.push_back(
        {blocks, op.end_ns - op.start_ns, is_whole, 0, running->kernels.size() + running->rounds * kMostRanges});
}

}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  if (const CUptiResult asked = Asked("MOCK_RANGE_ENABLE"); asked != CUPTI_SUCCESS) return asked;
  TakeCacheControl(p);
  p->pRangeProfilerObject = new CUpti_RangeProfiler_Object;
  p->pRangeProfilerObject->context = p->ctx;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiClockControlGetStatus(CUcontext, int* status) {
  *status = AreClocksLocked() ? 2 : 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiClockControlLock(CUcontext, int mode) {
  if (const CUptiResult asked = Asked("MOCK_CLOCK_LOCK"); asked != CUPTI_SUCCESS) return asked;
  if (AreClocksLocked()) return CUPTI_SUCCESS;
  are_clocks_ours = true;
  NoteControl("clocks", mode);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiClockControlUnlock() {
  if (are_clocks_ours) NoteControl("clocks", 0);
  are_clocks_ours = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  delete p->pRangeProfilerObject;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!IsGood(object, "cuptiRangeProfilerSetConfig")) return CUPTI_ERROR_INVALID_OPERATION;
  if (p->range == CUPTI_UserRange && p->replayMode == CUPTI_KernelReplay)
    return Refuse(object, CUPTI_ERROR_INVALID_OPERATION);
  const Image* const image = ImageOf(p->pCounterDataImage);
  if (image->magic != kRangeMagic || image->capacity < p->maxRangesPerPass)
    return Refuse(object, CUPTI_ERROR_INVALID_PARAMETER);
  object->is_configured = true;
  object->is_user = p->range == CUPTI_UserRange;
  if (object->has_replay && object->replay != p->replayMode)
    Violation("an object of the range profiler is used with another replay mode than before: libcupti 13.0 crashes");
  if (!object->has_replay) object->pass_index = p->passIndex;
  if (object->pass_index != p->passIndex)
    Violation("an object of the range profiler is to make another pass than the next one: libcupti 13.0 makes that");
  object->has_replay = true;
  object->replay = p->replayMode;
  object->passes = p->pConfig[0];
  object->most_ranges = p->maxRangesPerPass;
  object->image = p->pCounterDataImage;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!IsGood(object, "cuptiRangeProfilerStart")) return CUPTI_ERROR_INVALID_OPERATION;
  if (const CUptiResult asked = Asked("MOCK_RANGE_START"); asked != CUPTI_SUCCESS) return Refuse(object, asked);
  if (!object->is_configured || object->is_running) return Refuse(object, CUPTI_ERROR_INVALID_OPERATION);
  if (running != nullptr || !TakeMonitors()) return Refuse(object, static_cast<CUptiResult>(26));
  object->is_running = true;
  object->kernels.clear();
  object->dropped = 0;
  running = object;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!object->is_running || !object->is_user || p->pRangeName == nullptr)
    return Refuse(object, CUPTI_ERROR_INVALID_OPERATION);
  object->is_pushed = true;
  object->range_name = std::hash<std::string>{}(p->pRangeName);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!object->is_pushed) return Refuse(object, CUPTI_ERROR_INVALID_OPERATION);
  object->is_pushed = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!IsGood(object, "cuptiRangeProfilerStop")) return CUPTI_ERROR_INVALID_OPERATION;
  if (!object->is_running) return Refuse(object, CUPTI_ERROR_INVALID_OPERATION);
  if (const long ms = EnvNumber("MOCK_RANGE_STOP_MS", 0)) WaitUntilNs(NowNs() + static_cast<uint64_t>(ms) * 1000000);
  object->is_running = false;
  running = nullptr;
  // Kernels that run again have made all passes; else this was one of them.
  const bool is_one = object->replay == CUPTI_ApplicationReplay;
  object->made = object->pass_index;
  object->pass_index = is_one && object->made + 1 < static_cast<size_t>(object->passes) ? object->made + 1 : 0;
  p->passIndex = object->pass_index;
  p->targetNestingLevel = 1;
  p->isAllPassSubmitted = object->pass_index == 0 ? 1 : 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  CUpti_RangeProfiler_Object* const object = p->pRangeProfilerObject;
  if (!IsGood(object, "cuptiRangeProfilerDecodeData")) return CUPTI_ERROR_INVALID_OPERATION;
  Image* const image = ImageOf(object->image);
  if (object->replay == CUPTI_ApplicationReplay && object->passes > 1) {
    for (size_t i = 0; i < object->kernels.size(); ++i) AddPass(*object, i, image);
  } else {
    for (const RangeKernel& kernel : object->kernels) image->ranges[image->count++] = kernel;
  }
  object->kernels.clear();
  if (object->pass_index == 0) ++object->rounds;
  p->numOfRangeDropped = object->dropped;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  if (p->maxNumRangeTreeNodes < p->maxNumOfRanges || p->numMetrics == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  p->counterDataSize = BytesOf(p->maxNumOfRanges);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  Image* const image = ImageOf(p->pCounterData);
  image->magic = kRangeMagic;
  image->capacity = static_cast<uint32_t>((p->counterDataSize - sizeof(Image)) / sizeof(RangeKernel));
  image->count = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  p->numTotalRanges = ImageOf(p->pCounterDataImage)->count;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  static const char* const chips[] = {"GH100"};
  p->ppChipNames = chips;
  p->numChips = std::size(chips);
  return CUPTI_SUCCESS;
}

// A few of each type, with what follows them.
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* p) {
  static const char* counters[] = {"dram__bytes", "dram__bytes_read", "sm__issue_active", "smsp__inst_executed"};
  static const char* ratios[] = {"l1tex__t_sector_hit_rate"};
  static const char* throughputs[] = {"dram__throughput", "sm__throughput"};
  const bool is_counter = p->metricType == CUPTI_METRIC_TYPE_COUNTER,
             is_ratio = p->metricType == CUPTI_METRIC_TYPE_RATIO;
  p->ppMetricNames = is_counter ? counters : is_ratio ? ratios : throughputs;
  p->numMetrics = is_counter ? std::size(counters) : is_ratio ? std::size(ratios) : std::size(throughputs);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params* p) {
  static const char* counters[] = {".sum", ".avg", ".min", ".max"};
  static const char* ratios[] = {".ratio", ".pct"};
  static const char* throughputs[] = {".avg.pct_of_peak_sustained_elapsed"};
  const bool is_counter = p->metricType == CUPTI_METRIC_TYPE_COUNTER,
             is_ratio = p->metricType == CUPTI_METRIC_TYPE_RATIO;
  p->ppSubMetrics = is_counter ? counters : is_ratio ? ratios : throughputs;
  p->numOfSubmetrics = is_counter ? std::size(counters) : is_ratio ? std::size(ratios) : std::size(throughputs);
  return CUPTI_SUCCESS;
}

// Before 13.0 of names with a rollup alone.
CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* p) {
  const std::string metric = p->pMetricName;
  const bool has_rollup = metric.find('.') != std::string::npos;
  if (IsUnknown(metric) || (kCuptiVersion < 130000 && !has_rollup)) return CUPTI_ERROR_INVALID_METRIC_NAME;
  const auto has = [&](const char* part) { return metric.find(part) != std::string::npos; };
  p->pDescription = p->pHwUnit = "";
  p->pDimUnit = has("time")     ? "nanosecond"
                : has("bytes")  ? "byte"
                : has("inst")   ? "instruction"
                : has("cycles") ? "gpc_cycle"
                                : "";
  return CUPTI_SUCCESS;
}

}  // extern "C"
