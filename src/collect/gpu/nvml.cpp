#include "collect/gpu/nvml.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

#include "collect/run/percent_units.h"

namespace gprof {
namespace {

// What takes milliseconds of its own, or changes slowly. Where it takes longer than that share of the time, as with
// many GPUs, it is read less often: meanwhile calls of the program into the driver may have to wait.
constexpr int64_t kRarePeriodNs = kSecondNs, kLongestRarePeriodNs = 10 * kSecondNs, kRareShare = 100;
// GPM needs 100 ms between two of its samples.
constexpr int64_t kGpmPeriodNs = 100'000'000;
// Driver 580 on an H200 counts up to ticks of its own, 100 ms apart, and tells of each 44 ms later: what is read is 44
// to 144 ms old. Which of them does not show in a sample; this is the middle.
constexpr int64_t kGpmAgeNs = 94'000'000;
constexpr CostLimit kCostLimit = {2, kSecondNs};
constexpr int32_t kMilli = -3;

struct Description {
  const char *name, *unit, *origin;
  trace::MetricKind kind;
  int32_t scale;
};
using enum trace::MetricKind;

// In the order of GpuTrack. Where Nsight Systems has a counter of the same meaning, it is named as there.
constexpr Description kDescriptions[] = {
    {"power", "W", "nvml", kGauge, kMilli},
    {"SM clock", "MHz", "nvml", kGauge, 0},
    {"memory clock", "MHz", "nvml", kGauge, 0},
    {"temperature", "°C", "nvml", kGauge, 0},
    {"memory temperature", "°C", "nvml", kGauge, 0},
    {"clock limits", "mask", "nvml", kGauge, 0},
    {"utilization", "%", "nvml", kGauge, 0},
    {"memory utilization", "%", "nvml", kGauge, 0},
    {"memory used", "bytes", "nvml", kGauge, 0},
    {"energy", "J", "nvml", kCounter, kMilli},
    {"power limit", "W", "nvml", kGauge, kMilli},
    {"held down by power", "ns", "nvml", kCounter, 0},
    {"held down by heat", "ns", "nvml", kCounter, 0},
    {"held down by heat, in hardware", "ns", "nvml", kCounter, 0},
    {"held down by power brake", "ns", "nvml", kCounter, 0},
    {"uncorrected ECC errors", "", "nvml", kCounter, 0},
    {"Xid", "", "nvml", kGauge, 0},
    {"PCIe RX Throughput", "bytes/s", "nvml", kRate, 0},
    {"PCIe TX Throughput", "bytes/s", "nvml", kRate, 0},
    {"processes of the run", "", "nvml", kGauge, 0},
    {"other processes", "", "nvml", kGauge, 0},
    {"memory of other processes", "bytes", "nvml", kGauge, 0},
    {"SMs Active", "%", "gpm", kRate, kPercentScale},
    {"SM Warp Occupancy", "%", "gpm", kRate, kPercentScale},
    {"Tensor Active", "%", "gpm", kRate, kPercentScale},
    {"DRAM Bandwidth", "%", "gpm", kRate, kPercentScale},
    {"FP64 Active", "%", "gpm", kRate, kPercentScale},
    {"FP32 Active", "%", "gpm", kRate, kPercentScale},
    {"FP16 Active", "%", "gpm", kRate, kPercentScale},
    {"PCIe TX Throughput", "bytes/s", "gpm", kRate, 0},
    {"PCIe RX Throughput", "bytes/s", "gpm", kRate, 0},
    {"NVLink RX Throughput", "bytes/s", "gpm", kRate, 0},
    {"NVLink TX Throughput", "bytes/s", "gpm", kRate, 0},
};
static_assert(std::size(kDescriptions) == static_cast<std::size_t>(GpuTrack::kCount));

// Metrics of GPM by its numbers.
struct GpmMetric {
  unsigned id;
  GpuTrack track;
};
constexpr GpmMetric kGpmMetrics[] = {
    {2, GpuTrack::kSmActive},        {3, GpuTrack::kOccupancy},    {5, GpuTrack::kTensorActive},
    {10, GpuTrack::kDram},           {11, GpuTrack::kFp64},        {12, GpuTrack::kFp32},
    {13, GpuTrack::kFp16},           {20, GpuTrack::kGpmPcieSent}, {21, GpuTrack::kGpmPcieReceived},
    {60, GpuTrack::kNvlinkReceived}, {61, GpuTrack::kNvlinkSent},
};
// For how long the clocks were held down, and by what. Drivers that do not tell software from hardware have one counter
// of heat, the last one.
constexpr unsigned kThrottleFields[] = {nvml::kFieldPowerCapNs, nvml::kFieldSwThermalNs, nvml::kFieldHwThermalNs,
                                        nvml::kFieldPowerBrakeNs, nvml::kFieldThermalNs};
constexpr GpuTrack kThrottleTracks[] = {GpuTrack::kThrottledByPower, GpuTrack::kThrottledByHeat,
                                        GpuTrack::kThrottledByHardwareHeat, GpuTrack::kThrottledByBrake};

trace::MetricLossReason ReasonOf(int result) {
  return result == nvml::kNoPermission ? trace::MetricLossReason::kNotAllowed : trace::MetricLossReason::kUnknown;
}

}  // namespace

bool IsNvmlWanted(const CollectorOptions& options) { return options.nvml_hz > 0 && nvml::MayBeHere(); }

std::unique_ptr<Collector> MakeNvml(const CollectorOptions& options) {
  NvmlOptions own;
  own.period_ns = static_cast<int64_t>(static_cast<double>(kSecondNs) / std::max(options.nvml_hz, 0.001));
  return std::make_unique<NvmlCollector>(std::move(own));
}

NvmlCollector::NvmlCollector(NvmlOptions options)
    : options_(std::move(options)), period_ns_(options_.period_ns), own_cost_(options_.own_cpu_clock) {}

NvmlCollector::~NvmlCollector() {
  if (!slow_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  slow_.join();
}

bool NvmlCollector::Start(const RunView& run, std::string* why) {
  run_processes_ = std::make_unique<RunProcesses>(
      RunProcesses::Options{options_.proc, run.folder, run.program, run.follows_children});
  // A machine without a driver is not worth a word: others say that there is no GPU.
  std::string ignored;
  if (nvml::Load(&api_, &ignored)) {
    for (const nvml::Device gpu : nvml::FindGpus(api_)) {
      AddGpu(gpu, false);
      for (const nvml::Device instance : nvml::FindInstances(api_, gpu)) AddGpu(instance, true);
    }
  }
  if (gpus_.empty()) {
    why->clear();
    return false;
  }
  slow_period_ns_ = std::max(period_ns_, kGpmPeriodNs);
  if (options_.has_slow_thread) slow_ = std::thread([this] { RunSlowThread(); });
  return true;
}

void NvmlCollector::AddGpu(nvml::Device handle, bool is_instance) {
  Gpu gpu;
  gpu.handle = handle;
  gpu.is_instance = is_instance;
  gpu.uuid = nvml::UuidOf(api_, handle);
  if (gpu.uuid.empty()) return;
  const bool has_set = events_ != nullptr || nvml::Call(api_.nvmlEventSetCreate, &events_) == nvml::kSuccess;
  gpu.has_xids = has_set && !is_instance &&
                 nvml::Call(api_.nvmlDeviceRegisterEvents, handle, nvml::kXidEvent, events_) == nvml::kSuccess;
  gpu.has_gpm = !is_instance && nvml::MakeGpmSamples(api_, handle, &gpu.gpm);
  gpus_.push_back(std::move(gpu));
}

void NvmlCollector::Switch(bool is_on, int64_t /*now_ns*/) {
  first_ns_ = 0;
  own_cost_.Restart();
  {
    const std::lock_guard lock(mutex_);
    is_on_ = is_on;
    ++capture_;
    slow_answers_.clear();
    slow_processes_.clear();
  }
  changed_.notify_one();
}

void NvmlCollector::Reset() {
  for (Gpu& gpu : gpus_) {
    for (Track& track : gpu.tracks) track.is_told = false;
  }
}

int64_t NvmlCollector::Drain(int64_t now_ns, Journal* journal) {
  if (first_ns_ == 0) first_ns_ = now_ns;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    TakeFast(i, now_ns, journal);
    // Without a sample: nothing was logged, which is not the same as not known.
    Track& xids = gpus_[i].tracks[static_cast<std::size_t>(GpuTrack::kXid)];
    if (gpus_[i].has_xids && !xids.is_told) Tell(gpus_[i], GpuTrack::kXid, &xids, journal);
  }
  AddSlowAnswers(journal);
  WatchOwnCost(now_ns, journal);
  return first_ns_ + ((now_ns - first_ns_) / period_ns_ + 1) * period_ns_;
}

void NvmlCollector::Close(int64_t now_ns, Journal* journal) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    TakeFast(i, now_ns, journal);
    // How much energy the last second took is known from this alone.
    if (gpus_[i].is_instance) continue;
    const nvml::Answer energy = nvml::Read(api_.nvmlDeviceGetTotalEnergyConsumption, gpus_[i].handle);
    Add({i, GpuTrack::kEnergy, energy.result, MonotonicNs(), 0, static_cast<int64_t>(energy.value)}, journal);
  }
  AddSlowAnswers(journal);
  for (Gpu& gpu : gpus_) {
    for (Track& track : gpu.tracks) EndLoss(&track, now_ns, journal);
  }
}

// Calls of less than 10 us.
void NvmlCollector::TakeFast(std::size_t index, int64_t now_ns, Journal* journal) {
  const nvml::Device gpu = gpus_[index].handle;
  const auto add = [&](GpuTrack track, const nvml::Answer& answer) {
    Add({index, track, answer.result, now_ns, 0, static_cast<int64_t>(answer.value)}, journal);
  };
  if (!gpus_[index].is_instance) {
    constexpr unsigned kFields[] = {nvml::kFieldPowerInstant, nvml::kFieldMemoryTemperature};
    nvml::Answer fields[std::size(kFields)];
    nvml::ReadFields(api_, gpu, kFields, fields);
    const bool has_instant = fields[0].result == nvml::kSuccess || fields[0].result == nvml::kGpuIsLost;
    add(GpuTrack::kPower, has_instant ? fields[0] : nvml::Read(api_.nvmlDeviceGetPowerUsage, gpu));
    add(GpuTrack::kSmClock, nvml::Read(api_.nvmlDeviceGetClockInfo, gpu, nvml::kClockSm));
    add(GpuTrack::kMemoryClock, nvml::Read(api_.nvmlDeviceGetClockInfo, gpu, nvml::kClockMemory));
    add(GpuTrack::kTemperature, nvml::Read(api_.nvmlDeviceGetTemperature, gpu, nvml::kSensorGpu));
    add(GpuTrack::kMemoryTemperature, fields[1]);
    add(GpuTrack::kReasons, nvml::ReadClockLimits(api_, gpu));
    nvml::Utilization utilization = {};
    const int result = nvml::Call(api_.nvmlDeviceGetUtilizationRates, gpu, &utilization);
    add(GpuTrack::kUtilization, {result, utilization.gpu});
    add(GpuTrack::kMemoryUtilization, {result, utilization.memory});
  }
  nvml::Memory memory = {};
  const int result = nvml::Call(api_.nvmlDeviceGetMemoryInfo, gpu, &memory);
  add(GpuTrack::kMemoryUsed, {result, memory.used});
}

void NvmlCollector::TakeSlow(int64_t now_ns) {
  std::vector<TrackAnswer> answers;
  std::vector<Processes> processes;
  TakeXids(now_ns, &answers);
  uint32_t capture = 0;
  {
    const std::lock_guard lock(mutex_);
    capture = capture_;
  }
  const bool is_rare_due = rare_ns_ == 0 || now_ns - rare_ns_ >= rare_period_ns_;
  if (is_rare_due) rare_ns_ = now_ns;
  int64_t taken_ns = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].is_instance) continue;
    if (gpus_[i].has_gpm) TakeGpm(i, now_ns, &answers);
    if (!is_rare_due) continue;
    const int64_t start_ns = options_.clock();
    TakeRare(i, now_ns, &answers, &processes);
    taken_ns += options_.clock() - start_ns;
  }
  if (is_rare_due) rare_period_ns_ = std::clamp(kRareShare * taken_ns, kRarePeriodNs, kLongestRarePeriodNs);
  const std::lock_guard lock(mutex_);
  if (capture != capture_) return;
  slow_answers_.insert(slow_answers_.end(), answers.begin(), answers.end());
  std::move(processes.begin(), processes.end(), std::back_inserter(slow_processes_));
}

// What the driver has logged since the last look.
void NvmlCollector::TakeXids(int64_t now_ns, std::vector<TrackAnswer>* answers) {
  nvml::EventData event = {};
  while (events_ != nullptr && nvml::Call(api_.nvmlEventSetWait_v2, events_, &event, 0u) == nvml::kSuccess) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const bool is_it = gpus_[i].handle == event.device && event.type == nvml::kXidEvent;
      if (is_it) answers->push_back({i, GpuTrack::kXid, nvml::kSuccess, now_ns, 0, static_cast<int64_t>(event.data)});
    }
  }
}

void NvmlCollector::TakeGpm(std::size_t index, int64_t now_ns, std::vector<TrackAnswer>* answers) {
  Gpu& gpu = gpus_[index];
  // Samples of a capture before this one would make a mean over the time in between.
  const bool is_first = gpu.gpm_ns == 0 || now_ns - gpu.gpm_ns > 10 * slow_period_ns_;
  if (!is_first && now_ns - gpu.gpm_ns < kGpmPeriodNs * 9 / 10) return;
  const int64_t start_ns = gpu.gpm_ns;
  if (nvml::TakeGpmSample(api_, gpu.handle, &gpu.gpm) != nvml::kSuccess) return;
  gpu.gpm_ns = now_ns;
  if (is_first) return;
  unsigned ids[std::size(kGpmMetrics)];
  double values[std::size(kGpmMetrics)];
  std::transform(std::begin(kGpmMetrics), std::end(kGpmMetrics), ids,
                 [](const GpmMetric& metric) { return metric.id; });
  const int result = nvml::ReadGpm(api_, gpu.gpm, ids, values);
  for (std::size_t i = 0; i < std::size(kGpmMetrics); ++i) {
    const GpuTrack track = kGpmMetrics[i].track;
    const bool is_percent = kDescriptions[static_cast<std::size_t>(track)].scale == kPercentScale;
    // What nothing was counted for has no value, which is no loss.
    const bool has_value = !std::isnan(values[i]);
    if (result == nvml::kSuccess && !has_value) continue;
    const int64_t value = has_value ? std::llround(values[i] * (is_percent ? kUnitsAPercent : 1)) : 0;
    answers->push_back({index, track, result, start_ns - kGpmAgeNs, now_ns - start_ns, value});
  }
}

// Calls of up to 20 ms. Their time is that of their answer.
void NvmlCollector::TakeRare(std::size_t index, int64_t now_ns, std::vector<TrackAnswer>* answers,
                             std::vector<Processes>* processes) {
  const nvml::Device gpu = gpus_[index].handle;
  const auto time_ns = [&] { return options_.has_slow_thread ? MonotonicNs() : now_ns; };
  const auto add = [&](GpuTrack track, const nvml::Answer& answer) {
    answers->push_back({index, track, answer.result, time_ns(), 0, static_cast<int64_t>(answer.value)});
  };
  add(GpuTrack::kEnergy, nvml::Read(api_.nvmlDeviceGetTotalEnergyConsumption, gpu));
  add(GpuTrack::kPowerLimit, nvml::Read(api_.nvmlDeviceGetEnforcedPowerLimit, gpu));
  nvml::Answer held_ns[std::size(kThrottleFields)];
  nvml::ReadFields(api_, gpu, kThrottleFields, held_ns);
  for (std::size_t i = 0; i < std::size(kThrottleTracks); ++i) {
    const bool is_missing = held_ns[i].result != nvml::kSuccess && held_ns[i].result != nvml::kGpuIsLost;
    const bool is_heat = kThrottleTracks[i] == GpuTrack::kThrottledByHeat;
    add(kThrottleTracks[i], is_heat && is_missing ? held_ns[std::size(kThrottleTracks)] : held_ns[i]);
  }
  unsigned long long errors = 0;
  const int result =
      nvml::Call(api_.nvmlDeviceGetTotalEccErrors, gpu, nvml::kEccUncorrected, nvml::kEccVolatile, &errors);
  add(GpuTrack::kEccErrors, {result, errors});
  for (const auto& [counter, track] : {std::pair{0u, GpuTrack::kPcieSent}, {1u, GpuTrack::kPcieReceived}}) {
    if (gpus_[index].has_gpm) break;
    const int64_t start_ns = time_ns();
    const nvml::Answer kilobytes_s = nvml::Read(api_.nvmlDeviceGetPcieThroughput, gpu, counter);
    answers->push_back({index, track, kilobytes_s.result, start_ns, time_ns() - start_ns,
                        static_cast<int64_t>(kilobytes_s.value) * 1000});
  }
  Processes found;
  found.gpu = index;
  found.time_ns = time_ns();
  if (nvml::ReadProcesses(api_, gpu, &found.all) == nvml::kSuccess) processes->push_back(std::move(found));
}

void NvmlCollector::AddSlowAnswers(Journal* journal) {
  std::vector<TrackAnswer> answers;
  std::vector<Processes> processes;
  {
    const std::lock_guard lock(mutex_);
    answers.swap(slow_answers_);
    processes.swap(slow_processes_);
  }
  for (const TrackAnswer& answer : answers) Add(answer, journal);
  for (const Processes& of_gpu : processes) AddProcesses(of_gpu, journal);
}

// Where a container has process numbers of its own, those that NVML tells may be of the host: then none is of the run,
// which readers see.
void NvmlCollector::AddProcesses(const Processes& processes, Journal* journal) {
  // One that ended since the GPU was asked is still of the run.
  for (const auto& [pid, process] : run_processes_->Look(true)) of_run_.insert(pid);
  int64_t own_count = 0, other_count = 0, other_bytes = 0;
  for (const nvml::ProcessInfo& process : processes.all) {
    const bool is_own = of_run_.count(static_cast<pid_t>(process.pid)) != 0;
    ++(is_own ? own_count : other_count);
    if (!is_own && process.used_memory != nvml::kMemoryNotTold)
      other_bytes += static_cast<int64_t>(process.used_memory);
  }
  const auto add = [&](GpuTrack track, int64_t value) {
    Add({processes.gpu, track, nvml::kSuccess, processes.time_ns, 0, value}, journal);
  };
  add(GpuTrack::kOwnProcesses, own_count);
  add(GpuTrack::kOtherProcesses, other_count);
  add(GpuTrack::kOtherMemory, other_bytes);
}

void NvmlCollector::Add(const TrackAnswer& answer, Journal* journal) {
  Gpu& gpu = gpus_[answer.gpu];
  Track& track = gpu.tracks[static_cast<std::size_t>(answer.track)];
  if (track.is_absent) return;
  if (answer.result != nvml::kSuccess) {
    // What never worked is not there on this GPU, whatever the reason.
    if (!track.has_value) track.is_absent = true;
    if (track.has_value && track.failing_since_ns == 0) {
      track.failing_since_ns = answer.start_ns;
      track.failure = answer.result;
    }
    return;
  }
  track.has_value = true;
  if (!track.is_told) Tell(gpu, answer.track, &track, journal);
  EndLoss(&track, answer.start_ns, journal);
  journal->Add(trace::MetricBlockRecord{static_cast<uint64_t>(answer.start_ns),
                                        static_cast<uint64_t>(answer.duration_ns), track.id, answer.value});
}

void NvmlCollector::EndLoss(Track* track, int64_t now_ns, Journal* journal) {
  if (track->failing_since_ns == 0) return;
  journal->AddLoss(ReasonOf(track->failure), track->failing_since_ns, std::max(now_ns, track->failing_since_ns),
                   track->id, 0);
  track->failing_since_ns = 0;
}

void NvmlCollector::Tell(const Gpu& gpu, GpuTrack kind, Track* track, Journal* journal) {
  const Description& described = kDescriptions[static_cast<std::size_t>(kind)];
  if (track->id == 0) track->id = next_source_++;
  trace::MetricSourceRecord source;
  source.id = track->id;
  source.name = journal->Name(described.name);
  source.unit = journal->Name(described.unit);
  source.origin = journal->Name(described.origin);
  source.metric_kind = static_cast<uint8_t>(described.kind);
  source.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
  source.scale = described.scale;
  const bool is_rare = kind >= GpuTrack::kEnergy && kind <= GpuTrack::kOtherMemory;
  source.period_ns = static_cast<uint64_t>(is_rare ? kRarePeriodNs : options_.period_ns);
  source.device_uuid = journal->Name(gpu.uuid);
  journal->Add(source);
  track->is_told = true;
}

void NvmlCollector::WatchOwnCost(int64_t now_ns, Journal* journal) {
  constexpr int64_t kPeriods = 20;
  if (own_cost_.StepDown(kCostLimit, now_ns, kPeriods * period_ns_, &period_ns_, journal))
    slow_period_ns_ = std::max(period_ns_, kGpmPeriodNs);
}

void NvmlCollector::RunSlowThread() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (!is_on_) {
      rare_ns_ = 0;
      changed_.wait(lock);
      continue;
    }
    const auto next = std::chrono::steady_clock::now() + std::chrono::nanoseconds(slow_period_ns_.load());
    lock.unlock();
    TakeSlow(MonotonicNs());
    lock.lock();
    changed_.wait_until(lock, next, [this] { return is_over_ || !is_on_; });
  }
}

}  // namespace gprof
