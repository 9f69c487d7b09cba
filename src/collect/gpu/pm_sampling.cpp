#include "collect/gpu/pm_sampling.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "collect/gpu/monitor_owners.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

constexpr int64_t kNever = INT64_MAX;
// Each call has a price of its own, so they are rare; rows of all GPUs between two of them must fit into the journal.
constexpr int64_t kPollNs = 100 * kMillisecondNs, kLeastPollNs = 10 * kMillisecondNs;
constexpr int64_t kRowsAPoll = 8000;
// What sampling may take of a processor, and where somebody asked for a higher rate.
constexpr int64_t kMostPercent = 30, kMostPercentAsked = 90;
constexpr double kUsualHz = 1000;
constexpr int64_t kLongestIntervalNs = 20 * kMillisecondNs;
// From here on the price is that of the counters, not of the samples: those of the chip are narrow, and the GPU writes
// a record whenever one of them is full, however seldom samples are taken.
constexpr int64_t kSlowIntervalNs = kMillisecondNs;
constexpr std::size_t kFewestCounters = 4;
constexpr int kMostDecodes = 20;
// Of a burst that recording ends in.
constexpr std::size_t kRowsAtClose = 40'000;
// Programs load libcupti when they first use CUDA.
constexpr int64_t kPatienceNs = 30 * kSecondNs;
// A sample that ended so far from now was not taken on the clock that is expected.
constexpr int64_t kWrongClockNs = 10 * kSecondNs;

// The quickest of some tries: a process that is held up between the two clocks would move samples by as much.
int64_t RealtimeOffset() {
  constexpr int kTries = 5;
  int64_t offset_ns = 0, quickest_ns = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const int64_t before_ns = MonotonicNs(), real_ns = ClockNs(CLOCK_REALTIME), after_ns = MonotonicNs();
    if (after_ns - before_ns >= quickest_ns) continue;
    quickest_ns = after_ns - before_ns;
    offset_ns = real_ns - before_ns - quickest_ns / 2;
  }
  return offset_ns;
}

std::string BusyText() {
  const std::string owners = KnownMonitorOwners();
  return "another program uses the performance monitors" +
         (owners.empty() ? std::string(", such as DCGM (dcgmi profile --pause) or another profiler")
                         : ", probably " + owners);
}

// Results of CUPTI by their numbers, and what they mean for whoever asked.
struct Refusal {
  int result;
  const char* why;
  trace::MetricLossReason reason;
};
constexpr Refusal kRefusals[] = {
    {pm::kNotPermitted,
     "not permitted: run as root, give CAP_SYS_ADMIN, or have the administrator set the module option "
     "NVreg_RestrictProfilingToAdminUsers=0 (docs/commands/profile.md)",
     trace::MetricLossReason::kNotAllowed},
    {40,
     "not permitted: the administrator has to enable profiling for this virtual GPU (vGPU parameter "
     "enable_profiling=1)",
     trace::MetricLossReason::kNotAllowed},
    {27, "this GPU, or its driver, cannot sample performance monitors", trace::MetricLossReason::kUnknown},
    {33, "virtual GPUs of this kind have no performance monitors", trace::MetricLossReason::kUnknown},
    {41, "performance monitors are off while the GPU is in confidential computing mode",
     trace::MetricLossReason::kNotAllowed},
    {43, "the GPU is divided by MIG, and its instances have no performance monitors of their own",
     trace::MetricLossReason::kUnknown},
    {45, "performance monitors cannot be sampled under WSL", trace::MetricLossReason::kUnknown},
};

bool OpenCupti(const std::string& chosen, const std::string& more, pm::Api* api, std::string* why) {
  std::vector<std::string> files = pm::CuptiFiles(chosen);
  if (!more.empty() && chosen.empty()) files.push_back(more);
  return pm::Open(files, api, why);
}

}  // namespace

bool IsPmSamplingWanted(const CollectorOptions& options) { return !options.gpu_metrics.devices.empty(); }

std::unique_ptr<Collector> MakePmSampling(const CollectorOptions& options) {
  PmSamplingOptions own;
  own.wanted = options.gpu_metrics;
  return std::make_unique<PmSampling>(std::move(own));
}

PmSampling::PmSampling(PmSamplingOptions options) : options_(std::move(options)), own_cost_(options_.own_cpu_clock) {
  if (!options_.realtime_offset) options_.realtime_offset = RealtimeOffset;
  if (!options_.now) options_.now = MonotonicNs;
  if (!options_.open) {
    options_.open = [chosen = options_.wanted.cupti_path](const std::string& more, pm::Api* api, std::string* why) {
      return OpenCupti(chosen, more, api, why);
    };
  }
}

bool PmSampling::Start(const RunView& run, std::string* /*why*/) {
  run_ = run;
  give_up_ns_ = options_.now() + kPatienceNs;
  // The driver numbers GPUs for this process as nvidia-smi does, unless those of the program are meant.
  if (options_.wanted.devices != "cuda-visible") unsetenv("CUDA_VISIBLE_DEVICES");
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  Open();
  return true;
}

// May be called again when libcupti was not found.
void PmSampling::Open() {
  std::string why;
  const std::string of_program = pm::CuptiOf(run_.program);
  if (!options_.open(of_program, &api_, &why)) {
    if (options_.now() >= give_up_ns_ || !options_.wanted.cupti_path.empty()) {
      Fail(why + "; install the CUDA Toolkit 12.8 or later, or choose a libcupti with --cupti", failure_reason_);
    }
    return;
  }
  is_open_ = true;
  std::vector<pm::Gpu> gpus;
  if (!options_.find_gpus(&gpus, &why)) return Fail(why, failure_reason_);
  pm::InitializeParams initialize;
  if (const int result = pm::Call(api_.cuptiProfilerInitialize, &initialize); result != pm::kSuccess)
    return Fail("cuptiProfilerInitialize: " + pm::TextOf(api_, result), failure_reason_);
  if (!SelectGpus(&gpus)) return;
  for (const pm::Gpu& gpu : gpus) {
    Gpu own;
    own.index = gpu.index;
    own.uuid = gpu.uuid;
    own.interval_ns = static_cast<int64_t>(static_cast<double>(kSecondNs) / options_.wanted.hz);
    own.bursts =
        Bursts(static_cast<int64_t>(options_.wanted.burst_seconds * static_cast<double>(kSecondNs)), kMostPercent);
    own.wanted =
        options_.wanted.metrics.empty() ? pm::SetOf(options_.wanted.set) : pm::WantedOf(options_.wanted.metrics);
    if (PrepareGpu(&own)) gpus_.push_back(std::move(own));
  }
  const auto count = static_cast<int64_t>(gpus_.size());
  for (Gpu& gpu : gpus_) {
    const auto counters = static_cast<int64_t>(gpu.sampler->plan().counters.size());
    gpu.poll_ns = std::clamp(kRowsAPoll / (counters * count) * gpu.interval_ns, kLeastPollNs, kPollNs);
  }
}

bool PmSampling::SelectGpus(std::vector<pm::Gpu>* gpus) {
  const std::string& devices = options_.wanted.devices;
  if (devices == "all" || devices == "cuda-visible") return true;
  std::vector<pm::Gpu> selected;
  std::string_view rest = devices;
  while (!rest.empty()) {
    const std::string one(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const auto is_it = [&one](const pm::Gpu& gpu) {
      return one == std::to_string(gpu.index) || (one.starts_with("GPU-") && gpu.uuid.starts_with(one));
    };
    const auto found = std::find_if(gpus->begin(), gpus->end(), is_it);
    if (found == gpus->end()) {
      Fail("there is no GPU " + one, trace::MetricLossReason::kUnknown);
      return false;
    }
    selected.push_back(*found);
  }
  *gpus = std::move(selected);
  return true;
}

bool PmSampling::PrepareGpu(Gpu* gpu) {
  gpu->sampler = std::make_unique<pm::GpuSampler>(&api_, gpu->index);
  std::string function;
  const int result = gpu->sampler->Prepare(gpu->wanted, &function);
  for (const std::string& name : gpu->sampler->missing()) {
    // Most GPUs have no NVLink, which is not worth a word unless it was asked for.
    if (name.starts_with("NVLink") && options_.wanted.set == "default") continue;
    if (std::find(missing_.begin(), missing_.end(), name) == missing_.end()) missing_.push_back(name);
  }
  if (result == pm::kSuccess) return true;
  if (result == pm::kNotFound) {
    Fail("GPU " + std::to_string(gpu->index) + " has none of the metrics", trace::MetricLossReason::kUnknown);
  } else {
    FailCall(*gpu, function, result);
  }
  return false;
}

void PmSampling::Fail(const std::string& why, trace::MetricLossReason reason) {
  if (failure_.find(why) != std::string::npos) return;
  failure_ += (failure_.empty() ? "" : "; ") + why;
  failure_reason_ = reason;
  is_failure_told_ = false;
  is_open_ = true;
}

void PmSampling::FailCall(const Gpu& gpu, const std::string& function, int result) {
  const std::string of_gpu = "GPU " + std::to_string(gpu.index) + ": ";
  if (result == pm::kHardwareBusy) return Fail(of_gpu + BusyText(), trace::MetricLossReason::kTaken);
  for (const Refusal& known : kRefusals) {
    if (result == known.result) return Fail(of_gpu + known.why, known.reason);
  }
  Fail(of_gpu + function + ": " + pm::TextOf(api_, result), trace::MetricLossReason::kUnknown);
}

void PmSampling::TellFailure(int64_t now_ns, Journal* journal) {
  if (failure_.empty() || is_failure_told_) return;
  is_failure_told_ = true;
  Note(now_ns, trace::NoticeLevel::kWarning, "GPU metrics are missing or incomplete: " + failure_, journal);
  if (!gpus_.empty()) return;
  journal->AddLoss(failure_reason_, on_since_ns_);
}

void PmSampling::Note(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal) {
  journal->Add(trace::NoticeRecord{static_cast<uint64_t>(now_ns), static_cast<uint8_t>(level), journal->Name(text)});
}

void PmSampling::Switch(bool is_on, int64_t now_ns) {
  on_since_ns_ = now_ns;
  own_cost_.Restart();
  is_failure_told_ = is_missing_told_ = false;
  for (Gpu& gpu : gpus_) {
    if (!is_on) continue;
    gpu.covered_ns = now_ns;
    gpu.gap_reason = trace::MetricLossReason::kPaused;
  }
}

void PmSampling::Reset() {
  for (auto& [name, source] : sources_) source.is_told = false;
}

int64_t PmSampling::Drain(int64_t now_ns, Journal* journal) {
  if (!is_open_) {
    Open();
    for (Gpu& gpu : gpus_) gpu.covered_ns = on_since_ns_;
  }
  TellFailure(now_ns, journal);
  if (!missing_.empty() && !is_missing_told_) {
    Note(now_ns, trace::NoticeLevel::kInfo, "GPU metrics not available here: " + Joined(missing_), journal);
    is_missing_told_ = true;
  }
  if (!is_open_) return now_ns + kPollNs;
  int64_t next_ns = kNever;
  bool has_bursts = false;
  for (Gpu& gpu : gpus_) {
    if (gpu.sampler == nullptr) continue;
    has_bursts |= gpu.bursts.is_wanted();
    next_ns = std::min(next_ns, DrainGpu(&gpu, now_ns, journal));
  }
  if (next_ns != kNever && !has_bursts) WatchOwnCost(now_ns, journal);
  return next_ns;
}

int64_t PmSampling::DrainGpu(Gpu* gpu, int64_t now_ns, Journal* journal) {
  if (gpu->bursts.is_wanted()) return DrainBurst(gpu, now_ns, journal);
  if (gpu->is_running) {
    Take(gpu, journal);
  } else {
    StartGpu(gpu, journal);
  }
  return gpu->is_running ? now_ns + gpu->poll_ns : kNever;
}

int64_t PmSampling::DrainBurst(Gpu* gpu, int64_t now_ns, Journal* journal) {
  Bursts& bursts = gpu->bursts;
  if (bursts.is_reading()) {
    const std::size_t counters = gpu->sampler->plan().counters.size();
    if (ReadBurst(gpu, static_cast<std::size_t>(kRowsAPoll) / counters + 1, journal))
      bursts.Plan(options_.now(), own_cost_.CpuNs());
    return std::max(bursts.begin_ns(), now_ns);
  }
  if (gpu->is_running) {
    if (now_ns < bursts.end_ns()) return bursts.end_ns();
    EndBurst(gpu, now_ns, journal);
    return gpu->sampler == nullptr ? kNever : now_ns;
  }
  if (now_ns < bursts.begin_ns()) return bursts.begin_ns();
  gpu->gap_reason = trace::MetricLossReason::kPaused;
  StartGpu(gpu, journal);
  bursts.Begin(options_.now(), own_cost_.CpuNs());
  return gpu->is_running ? bursts.end_ns() : kNever;
}

// Stops, and decodes all that the GPU has of it.
void PmSampling::EndBurst(Gpu* gpu, int64_t now_ns, Journal* journal) {
  gpu->sampler->Stop();
  gpu->is_running = false;
  const pm::DecodeResult result = gpu->sampler->Decode();
  if (result.error != pm::kSuccess && !result.has_overflowed)
    return GiveUp(gpu, "cuptiPmSamplingDecodeData", result.error, journal);
  gpu->bursts.Decoded(result.samples);
  if (result.samples == 0) gpu->bursts.Plan(now_ns, own_cost_.CpuNs());
  if (!result.has_overflowed && !result.was_full) return;
  // What is there is read; a buffer that was full works again after a new start alone.
  ReadBurst(gpu, result.samples, journal);
  gpu->bursts.Shorten(static_cast<int64_t>(result.samples) * gpu->interval_ns);
  gpu->bursts.Plan(now_ns, own_cost_.CpuNs());
  gpu->sampler->Disable();
  gpu->is_enabled = false;
  Note(now_ns, trace::NoticeLevel::kInfo,
       "bursts of GPU metrics of GPU " + std::to_string(gpu->index) + " were " +
           std::to_string(gpu->bursts.length_ns() / kMillisecondNs) +
           " ms long from then on: there was no room for more",
       journal);
}

// True: all of it is read.
bool PmSampling::ReadBurst(Gpu* gpu, std::size_t most, Journal* journal) {
  const int64_t offset_ns = options_.realtime_offset();
  const Bursts::Slice slice = gpu->bursts.Next(most);
  gpu->sampler->Evaluate(slice.first, slice.last, [&](const pm::SampleTimes& times, const double* values) {
    AddSample(gpu, times, offset_ns, values, journal);
  });
  return !gpu->bursts.is_reading();
}

bool PmSampling::EnableGpu(Gpu* gpu, Journal* journal) {
  if (gpu->is_enabled) return true;
  const std::size_t counters = gpu->sampler->plan().counters.size();
  const pm::SamplingPlan plan = gpu->bursts.is_wanted() ? gpu->bursts.PlanOf(gpu->interval_ns, counters)
                                                        : pm::ContinuousPlan(gpu->interval_ns, gpu->poll_ns, counters);
  std::string function;
  const int result = gpu->sampler->Enable(plan, &function);
  gpu->is_enabled = result == pm::kSuccess;
  if (!gpu->is_enabled) GiveUp(gpu, function, result, journal);
  return gpu->is_enabled;
}

void PmSampling::StartGpu(Gpu* gpu, Journal* journal) {
  if (!EnableGpu(gpu, journal)) return;
  const int result = gpu->sampler->Start();
  gpu->is_running = result == pm::kSuccess;
  gpu->is_first = true;
  if (!gpu->is_running) GiveUp(gpu, "cuptiPmSamplingStart", result, journal);
}

// Samples no more of it.
void PmSampling::GiveUp(Gpu* gpu, const std::string& function, int result, Journal* journal) {
  if (gpu->is_running) gpu->sampler->Stop();
  gpu->is_running = gpu->is_enabled = false;
  FailCall(*gpu, function, result);
  gpu->gap_reason = failure_reason_;
  AddLoss(gpu, options_.now(), journal);
  TellFailure(options_.now(), journal);
  gpu->sampler.reset();
}

void PmSampling::Take(Gpu* gpu, Journal* journal) {
  const int64_t offset_ns = options_.realtime_offset();
  for (int i = 0; i < kMostDecodes; ++i) {
    const pm::DecodeResult result = gpu->sampler->Decode();
    if (result.error != pm::kSuccess && !result.has_overflowed)
      return GiveUp(gpu, "cuptiPmSamplingDecodeData", result.error, journal);
    gpu->sampler->Evaluate(0, result.samples, [&](const pm::SampleTimes& times, const double* values) {
      AddSample(gpu, times, offset_ns, values, journal);
    });
    if (result.was_full) gpu->gap_reason = trace::MetricLossReason::kTooSlow;
    if (result.has_overflowed) {
      gpu->gap_reason = trace::MetricLossReason::kOverflow;
      return StepDown(gpu, "the buffer of the GPU was full", journal);
    }
    if (result.samples == 0 || !result.was_full) return;
  }
}

void PmSampling::AddSample(Gpu* gpu, const pm::SampleTimes& times, int64_t offset_ns, const double* values,
                           Journal* journal) {
  // The first is over the time since the monitors were set up.
  if (std::exchange(gpu->is_first, false)) {
    const int64_t away_ns = options_.now() + offset_ns - static_cast<int64_t>(times.end);
    gpu->clock_shift_ns = std::abs(away_ns) > kWrongClockNs ? away_ns : 0;
    if (gpu->clock_shift_ns != 0) {
      Note(options_.now(), trace::NoticeLevel::kWarning,
           "times of GPU metrics are uncertain by up to 100 ms: they are not on the host clock", journal);
    }
    return;
  }
  const int64_t start_ns = static_cast<int64_t>(times.start) - offset_ns + gpu->clock_shift_ns;
  const int64_t end_ns = static_cast<int64_t>(times.end) - offset_ns + gpu->clock_shift_ns;
  if (end_ns <= on_since_ns_ || end_ns <= gpu->covered_ns) return;
  // The offset between the clocks is taken anew at each call, and differs by some nanoseconds.
  if (start_ns - gpu->covered_ns > gpu->interval_ns / 2) AddLoss(gpu, start_ns, journal);
  if (gpu->period_ns == 0) SetPeriod(gpu, end_ns - start_ns, journal);
  gpu->gap_reason = trace::MetricLossReason::kTooSlow;
  const std::vector<pm::Counter>& counters = gpu->sampler->plan().counters;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    const double value = values[i] * counters[i].factor;
    if (!std::isfinite(value)) continue;
    journal->Add(trace::MetricBlockRecord{static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns - start_ns),
                                          SourceOf(*gpu, counters[i], journal), std::llround(value)});
  }
  gpu->covered_ns = end_ns;
}

// The monitors may have periods of their own: what is told is that of the samples.
void PmSampling::SetPeriod(Gpu* gpu, int64_t sample_ns, Journal* journal) {
  constexpr int64_t kTolerated = 50;  // of so many parts
  gpu->period_ns = gpu->interval_ns;
  if (std::abs(sample_ns - gpu->interval_ns) * kTolerated <= gpu->interval_ns) return;
  gpu->period_ns = sample_ns;
  Note(options_.now(), trace::NoticeLevel::kInfo,
       "GPU metrics of GPU " + std::to_string(gpu->index) + " were sampled every " + std::to_string(sample_ns) +
           " ns: the GPU has no period of " + std::to_string(gpu->interval_ns) + " ns",
       journal);
}

void PmSampling::AddLoss(Gpu* gpu, int64_t until_ns, Journal* journal) {
  if (until_ns < gpu->covered_ns) return;
  const int64_t lost_ns = until_ns - gpu->covered_ns;
  journal->AddLoss(gpu->gap_reason, gpu->covered_ns, until_ns, 0, static_cast<uint64_t>(lost_ns / gpu->interval_ns));
  gpu->covered_ns = until_ns;
}

uint32_t PmSampling::SourceOf(const Gpu& gpu, const pm::Counter& counter, Journal* journal) {
  Source& own = sources_[gpu.uuid + counter.metric];
  if (own.id == 0) own.id = next_source_++;
  if (own.is_told) return own.id;
  own.is_told = true;
  trace::MetricSourceRecord source;
  source.id = own.id;
  source.name = journal->Name(counter.name);
  source.unit = journal->Name(counter.unit);
  source.origin = journal->Name("pm");
  source.metric_kind = static_cast<uint8_t>(counter.kind);
  source.scope = static_cast<uint8_t>(trace::MetricScope::kDevice);
  source.scale = counter.scale;
  source.period_ns = static_cast<uint64_t>(gpu.period_ns);
  source.device_uuid = journal->Name(gpu.uuid);
  journal->Add(source);
  return own.id;
}

void PmSampling::StepDown(Gpu* gpu, const std::string& why, Journal* journal) {
  gpu->sampler->Stop();
  gpu->sampler->Disable();
  gpu->is_running = gpu->is_enabled = false;
  gpu->period_ns = 0;
  std::string what, function;
  const bool is_rate_high = gpu->interval_ns < kSlowIntervalNs;
  const std::string dropped = is_rate_high ? "" : gpu->sampler->DropCounters(kFewestCounters, &gpu->wanted);
  if (!dropped.empty() && gpu->sampler->Prepare(gpu->wanted, &function) == pm::kSuccess) {
    what = "sampled without " + dropped;
  } else if (gpu->interval_ns < kLongestIntervalNs) {
    gpu->interval_ns = std::min(gpu->interval_ns * 2, kLongestIntervalNs);
    what = "sampled at " + std::to_string(kSecondNs / gpu->interval_ns) + " Hz";
  }
  if (gpu->gap_reason != trace::MetricLossReason::kOverflow) gpu->gap_reason = trace::MetricLossReason::kStepDown;
  if (!what.empty()) {
    Note(options_.now(), trace::NoticeLevel::kInfo,
         "GPU metrics of GPU " + std::to_string(gpu->index) + " were " + what + " from then on: " + why, journal);
  }
  StartGpu(gpu, journal);
}

void PmSampling::WatchOwnCost(int64_t now_ns, Journal* journal) {
  const auto percent = static_cast<int64_t>(own_cost_.Percent(now_ns, kSecondNs).value_or(0));
  if (percent <= (options_.wanted.hz > kUsualHz ? kMostPercentAsked : kMostPercent)) return;
  for (Gpu& gpu : gpus_) {
    const bool can_drop = gpu.sampler && gpu.sampler->plan().counters.size() > kFewestCounters;
    if (gpu.is_running && (gpu.interval_ns < kLongestIntervalNs || can_drop))
      StepDown(&gpu, "reading took " + std::to_string(percent) + "% of a core", journal);
  }
  own_cost_.Restart();
}

void PmSampling::Close(int64_t now_ns, Journal* journal) {
  if (!is_open_) {
    give_up_ns_ = 0;
    Open();
    TellFailure(now_ns, journal);
  }
  for (Gpu& gpu : gpus_) {
    if (gpu.sampler == nullptr || !gpu.is_enabled) continue;
    const int64_t stop_ns = options_.now();
    if (gpu.bursts.is_wanted()) {
      if (gpu.is_running) EndBurst(&gpu, stop_ns, journal);
      if (gpu.sampler != nullptr && gpu.bursts.is_reading())
        ReadBurst(&gpu, kRowsAtClose / gpu.sampler->plan().counters.size(), journal);
    } else if (gpu.is_running) {
      gpu.sampler->Stop();
      Take(&gpu, journal);
    }
    if (gpu.sampler == nullptr) continue;
    // The sample that was not complete when it ended.
    gpu.gap_reason = trace::MetricLossReason::kPaused;
    if (stop_ns - gpu.covered_ns > gpu.interval_ns) AddLoss(&gpu, stop_ns, journal);
    gpu.sampler->Disable();
    gpu.is_running = gpu.is_enabled = false;
    gpu.bursts.Decoded(0);
  }
}

}  // namespace gprof
