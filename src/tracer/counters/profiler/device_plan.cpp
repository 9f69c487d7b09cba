#include "tracer/counters/profiler/device_plan.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <atomic>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/counters/profiler/clock_control.h"
#include "tracer/counters/profiler/metric_units.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxDevices = 64;
constexpr uint32_t kMaxMetricBytes = 256;

DevicePlan plans[kMaxDevices];
bool is_tried[kMaxDevices] = {};
trace::CounterPlanRecord records[kMaxDevices] GPROF_IN_ARENA;
constinit std::atomic<uint32_t> record_count GPROF_IN_ARENA{0};
uint32_t told GPROF_IN_ARENA = 0;

template <class T>
T* MapArray(std::size_t count) {
  return static_cast<T*>(MapMemory(count * sizeof(T)));
}

// An object of libcupti for one chip.
class Host {
 public:
  explicit Host(const char* chip) {
    GPROF_PARAMETERS(CUpti_Profiler_Host_Initialize, p);
    p.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    p.pChipName = chip;
    result_ = Profiler().cuptiProfilerHostInitialize(&p);
    if (result_ == CUPTI_SUCCESS) host_ = p.pHostObject;
  }
  ~Host() {
    if (host_ == nullptr) return;
    GPROF_PARAMETERS(CUpti_Profiler_Host_Deinitialize, p);
    p.pHostObject = host_;
    Profiler().cuptiProfilerHostDeinitialize(&p);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // To ask takes microseconds, where to try a metric takes tens of milliseconds. Null where the chip lacks it.
  const char* UnitOf(const char* metric) const {
    GPROF_PARAMETERS(CUpti_Profiler_Host_GetMetricProperties, p);
    p.pHostObject = host_;
    p.pMetricName = metric;
    const bool is_known = Profiler().cuptiProfilerHostGetMetricProperties(&p) == CUPTI_SUCCESS;
    return !is_known ? nullptr : p.pDimUnit == nullptr ? "" : p.pDimUnit;
  }

  CUptiResult result() const { return result_; }
  CUpti_Profiler_Host_Object* get() const { return host_; }
  CUpti_Profiler_Host_Object* Release() {
    CUpti_Profiler_Host_Object* host = host_;
    host_ = nullptr;
    return host;
  }

  // All at once: each call schedules passes of its own.
  CUptiResult Add(const char** metrics, std::size_t count) const {
    GPROF_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics, p);
    p.pHostObject = host_;
    p.ppMetricNames = metrics;
    p.numMetrics = count;
    return Profiler().cuptiProfilerHostConfigAddMetrics(&p);
  }

 private:
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUptiResult result_ = CUPTI_SUCCESS;
};

// A metric that is asked for: the names that it has on different chips, and the one that counts here.
struct Wanted {
  const char* names = nullptr;  // the next ones to try, separated by spaces
  const char* name = nullptr;   // that is tried, or known
  bool is_known = false;
};

// Takes the next name, if there is one.
bool TakeName(Wanted* wanted) {
  const std::size_t size = std::strcspn(wanted->names, " ");
  if (size == 0 || size >= kMaxMetricBytes) return false;
  char* name = MapArray<char>(size + 1);
  if (name == nullptr) return false;
  std::memcpy(name, wanted->names, size);
  wanted->names += size;
  if (*wanted->names == ' ') ++wanted->names;
  wanted->name = name;
  return true;
}

// The next one that the chip has, as far as libcupti says.
bool TakeLikelyName(const Host& host, Wanted* wanted) {
  while (TakeName(wanted)) {
    if (host.get() == nullptr || host.UnitOf(wanted->name) != nullptr) return true;
  }
  return false;
}

// The unit that a counter or a ratio is in. libcupti 12.8 and 12.9 know that of names with a rollup alone.
const char* BaseUnitOf(const Host& host, const char* metric) {
  for (const char* const rollup : {"", ".sum", ".ratio"}) {
    char name[kMaxMetricBytes + sizeof ".ratio"];
    const std::size_t size = std::strcspn(metric, ".");
    std::memcpy(name, metric, size);
    std::strcpy(name + size, rollup);
    if (const char* const unit = host.UnitOf(name); unit != nullptr) return unit;
  }
  return nullptr;
}

// A metric that libcupti refuses spoils its object and takes the others of its call with it. So each call has an object
// of its own, and halves are tried where the whole was refused.
void FindKnown(const char* chip, Wanted** wanted, const char** names, std::size_t count) {
  if (count == 0) return;
  for (std::size_t i = 0; i < count; ++i) names[i] = wanted[i]->name;
  const Host host(chip);
  if (host.get() == nullptr) return;
  if (host.Add(names, count) == CUPTI_SUCCESS) {
    for (std::size_t i = 0; i < count; ++i) wanted[i]->is_known = true;
    return;
  }
  if (count == 1) return;
  FindKnown(chip, wanted, names, count / 2);
  FindKnown(chip, wanted + count / 2, names, count - count / 2);
}

class PlanMaker {
 public:
  PlanMaker(const CounterRequest& request, uint32_t device) : request_(request) { plan_.device = device; }

  bool Make(DevicePlan* plan) {
    if (!FindChip() || !ChooseMetrics() || !Schedule() || !ChooseReplay()) return false;
    Describe();
    plan_.id = record_count.load(std::memory_order_relaxed) + 1;
    *plan = plan_;
    Tell();
    return true;
  }

 private:
  bool FindChip() {
    GPROF_PARAMETERS(CUpti_Device_GetChipName, p);
    p.deviceIndex = plan_.device;
    const CUptiResult result = Profiler().cuptiDeviceGetChipName(&p);
    if (result != CUPTI_SUCCESS) SayProfilerFailed("cuptiDeviceGetChipName", result);
    chip_ = p.pChipName;
    return result == CUPTI_SUCCESS;
  }

  bool ChooseMetrics() {
    const uint32_t count = request_.metric_count;
    auto* wanted = MapArray<Wanted>(count + 1);
    auto** open = MapArray<Wanted*>(count + 1);
    plan_.metrics = MapArray<const char*>(count + 1);
    if (wanted == nullptr || open == nullptr || plan_.metrics == nullptr) return false;
    for (uint32_t i = 0; i < count; ++i) wanted[i].names = request_.metrics[i];
    // The likely names of all are tried together, then the next ones of those that the chip does not have after all.
    const Host host(chip_);
    for (uint32_t tried = 1; tried > 0;) {
      tried = 0;
      for (uint32_t i = 0; i < count; ++i) {
        if (!wanted[i].is_known && TakeLikelyName(host, &wanted[i])) open[tried++] = &wanted[i];
      }
      FindKnown(chip_, open, plan_.metrics, tried);
    }
    for (uint32_t i = 0; i < count; ++i) Take(wanted[i]);
    SayMissing();
    UnmapMemory(wanted, (count + 1) * sizeof(Wanted));
    UnmapMemory(open, (count + 1) * sizeof(Wanted*));
    if (plan_.metric_count > 0) return true;
    Message message;
    message << "no kernel counters: the chip " << chip_ << " has none of the requested metrics";
    Say(trace::NoticeLevel::kWarning, message);
    return false;
  }

  void Take(const Wanted& wanted) {
    if (!wanted.is_known) {
      if (missing_++ == 0) first_missing_ = wanted.name;
      return;
    }
    for (uint32_t i = 0; i < plan_.metric_count; ++i) {
      if (std::strcmp(plan_.metrics[i], wanted.name) == 0) return;
    }
    plan_.metrics[plan_.metric_count++] = wanted.name;
  }

  void SayMissing() const {
    if (missing_ == 0 || first_missing_ == nullptr) return;
    Message message;
    message << "the chip " << chip_ << " lacks " << missing_ << " of the requested metrics, " << first_missing_
            << (missing_ == 1 ? "" : " for example") << "; gprof-cli counters --dry-run --chip " << chip_
            << " lists them";
    Say(trace::NoticeLevel::kInfo, message);
  }

  bool Schedule() {
    Host host(chip_);
    CUptiResult result = host.result();
    const char* function = "cuptiProfilerHostInitialize";
    if (result == CUPTI_SUCCESS) {
      function = "cuptiProfilerHostConfigAddMetrics";
      result = host.Add(plan_.metrics, plan_.metric_count);
    }
    GPROF_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = host.get();
    if (result == CUPTI_SUCCESS) {
      function = "cuptiProfilerHostGetConfigImageSize";
      result = Profiler().cuptiProfilerHostGetConfigImageSize(&size);
    }
    plan_.config_size = size.configImageSize;
    plan_.config = result == CUPTI_SUCCESS ? MapArray<uint8_t>(size.configImageSize) : nullptr;
    GPROF_PARAMETERS(CUpti_Profiler_Host_GetConfigImage, image);
    image.pHostObject = host.get();
    image.configImageSize = plan_.config_size;
    image.pConfigImage = plan_.config;
    if (plan_.config != nullptr) {
      function = "cuptiProfilerHostGetConfigImage";
      result = Profiler().cuptiProfilerHostGetConfigImage(&image);
    }
    GPROF_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses, passes);
    passes.configImageSize = plan_.config_size;
    passes.pConfigImage = plan_.config;
    if (result == CUPTI_SUCCESS && plan_.config != nullptr) {
      function = "cuptiProfilerHostGetNumOfPasses";
      result = Profiler().cuptiProfilerHostGetNumOfPasses(&passes);
    }
    if (result != CUPTI_SUCCESS || plan_.config == nullptr) {
      SayProfilerFailed(function, result);
      return false;
    }
    plan_.passes = static_cast<uint32_t>(passes.numOfPasses);
    plan_.host = host.Release();
    return true;
  }

  bool ChooseReplay() {
    const bool has_one_pass = plan_.passes <= 1;
    plan_.replay = request_.replay == Replay::kRange    ? trace::ReplayMode::kRange
                   : request_.replay == Replay::kKernel ? trace::ReplayMode::kKernel
                   : has_one_pass                       ? trace::ReplayMode::kNone
                                                        : trace::ReplayMode::kKernel;
    if (has_one_pass || plan_.replay == trace::ReplayMode::kKernel) {
      if (has_one_pass || request_.replay == Replay::kAuto || request_.replay == Replay::kKernel) return true;
    }
    Message message;
    message << "no kernel counters: these metrics take " << plan_.passes << " passes on the chip " << chip_
            << ", but nothing may run again (--replay-mode none); use --replay-mode kernel or --set light";
    Say(trace::NoticeLevel::kWarning, message);
    return false;
  }

  void Describe() {
    plan_.names = MapArray<trace::StringId>(plan_.metric_count);
    plan_.units = MapArray<trace::StringId>(plan_.metric_count);
    const Host host(chip_);
    for (uint32_t i = 0; i < plan_.metric_count; ++i) {
      plan_.names[i] = Names().Intern(plan_.metrics[i]);
      plan_.units[i] = UnitOf(plan_.metrics[i], host.get() == nullptr ? nullptr : BaseUnitOf(host, plan_.metrics[i]));
    }
  }

  void Tell() const {
    Message library;
    const uint32_t version = Cupti().version;
    if (version < 100'000) {
      library << "libcupti (API version " << version << ")";
    } else {
      library << "libcupti " << version / 10'000 << "." << version / 100 % 100;
    }
    const uint32_t at = record_count.load(std::memory_order_relaxed);
    trace::CounterPlanRecord& record = records[at];
    record.time_ns = MonotonicNs();
    record.id = plan_.id;
    record.chip = Names().Intern(chip_);
    record.library = Names().Intern(library.c_str());
    record.metric_set = Names().Intern(request_.set);
    record.passes = plan_.passes;
    record.replay = static_cast<uint8_t>(plan_.replay);
    // All that libcupti 13.4 and 13.5 flush is L2.
    record.caches =
        static_cast<uint8_t>(request_.flushes_caches ? trace::CacheControl::kL2 : trace::CacheControl::kNone);
    record.clocks = static_cast<uint8_t>(ClocksNow());
    record_count.store(at + 1, std::memory_order_release);
  }

  const CounterRequest& request_;
  DevicePlan plan_;
  const char* chip_ = nullptr;
  uint32_t missing_ = 0;
  const char* first_missing_ = nullptr;
};

}  // namespace

const DevicePlan* PlanOf(uint32_t device) {
  if (device >= kMaxDevices) return nullptr;
  DevicePlan& plan = plans[device];
  if (!is_tried[device]) {
    is_tried[device] = true;
    PlanMaker(*TheCounterRequest(), device).Make(&plan);
  }
  return plan.id == 0 ? nullptr : &plan;
}

void ForgetPlansAfterFork() {
  for (uint32_t i = 0; i < kMaxDevices; ++i) is_tried[i] = false;
  for (DevicePlan& plan : plans) plan = {};
  record_count.store(0, std::memory_order_relaxed);
  told = 0;
}

void TellPlans() {
  for (const uint32_t count = record_count.load(std::memory_order_acquire); told < count && told < kMaxDevices;) {
    Output().Add(records[told], {&told, told + 1});
  }
}

void RetellPlans() { told = 0; }

}  // namespace gprof::tracer
#endif
