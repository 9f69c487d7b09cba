#include "collect/gpu/pm_sampler.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collect/run/system_clocks.h"

namespace gprof::pm {
namespace {

// An incomplete sample takes a place in the image as well, and a call may be late.
constexpr int64_t kImageReserve = 2, kFewestSamples = 64;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;
// A copy of an image without samples is the quickest way to clear one, and as large.
constexpr std::size_t kMostCopiedBytes = 64 * kMegabyte;
constexpr std::size_t kSmallestBufferBytes = 64 * kMegabyte;

// Adds the CPU time of its life.
class CostOf {
 public:
  explicit CostOf(int64_t* sum_ns) : sum_ns_(sum_ns), from_ns_(ClockNs(CLOCK_THREAD_CPUTIME_ID)) {}
  ~CostOf() { *sum_ns_ += ClockNs(CLOCK_THREAD_CPUTIME_ID) - from_ns_; }
  CostOf(const CostOf&) = delete;
  CostOf& operator=(const CostOf&) = delete;

 private:
  int64_t* sum_ns_;
  int64_t from_ns_;
};

Host* NewHost(const Api& api, const char* chip, const std::vector<uint8_t>& availability, int* result) {
  HostInitializeParams params;
  params.chip = chip;
  params.availability = availability.empty() ? nullptr : availability.data();
  *result = Call(api.cuptiProfilerHostInitialize, &params);
  return *result == kSuccess ? params.host : nullptr;
}

void DeleteHost(const Api& api, Host* host) {
  HostDeinitializeParams params;
  params.host = host;
  if (host != nullptr) Call(api.cuptiProfilerHostDeinitialize, &params);
}

int AddMetrics(const Api& api, Host* host, std::vector<const char*>* names) {
  AddMetricsParams params;
  params.host = host;
  params.names = names->data();
  params.count = names->size();
  return Call(api.cuptiProfilerHostConfigAddMetrics, &params);
}

int MakeConfig(const Api& api, Host* host, std::vector<uint8_t>* config, std::size_t* passes) {
  ConfigImageSizeParams size;
  size.host = host;
  if (const int result = Call(api.cuptiProfilerHostGetConfigImageSize, &size); result != kSuccess) return result;
  config->assign(size.image_size, 0);
  ConfigImageParams image;
  image.host = host;
  image.image_size = config->size();
  image.image = config->data();
  if (const int result = Call(api.cuptiProfilerHostGetConfigImage, &image); result != kSuccess) return result;
  PassesParams count;
  count.image_size = config->size();
  count.image = config->data();
  const int result = Call(api.cuptiProfilerHostGetNumOfPasses, &count);
  *passes = count.passes;
  return result;
}

// Metrics of the chip that are there: for each that is wanted the first of its names.
std::vector<Counter> Available(const Api& api, const char* chip, const std::vector<uint8_t>& availability,
                               const std::vector<Wanted>& wanted, std::vector<std::string>* missing, int* result) {
  std::vector<Counter> found;
  for (const Wanted& one : wanted) {
    bool is_there = false;
    for (const Counter& counter : one.candidates) {
      Host* const host = NewHost(api, chip, availability, result);
      if (host == nullptr) return {};
      std::vector<const char*> name = {counter.metric.c_str()};
      is_there = AddMetrics(api, host, &name) == kSuccess;
      DeleteHost(api, host);
      if (is_there) found.push_back(counter);
      if (is_there) break;
    }
    if (!is_there && !one.candidates.empty()) missing->push_back(one.candidates.front().name);
  }
  return found;
}

// A host object for the counters of the plan. False: they are not all there, or take more than one pass.
bool PlanForAll(const Api& api, const char* chip, const std::vector<uint8_t>& availability, Plan* plan, int* result) {
  plan->names.clear();
  for (const Counter& counter : plan->counters) plan->names.push_back(counter.metric.c_str());
  plan->host = NewHost(api, chip, availability, result);
  if (plan->host == nullptr) return false;
  std::size_t passes = 0;
  *result = AddMetrics(api, plan->host, &plan->names);
  if (*result == kSuccess) *result = MakeConfig(api, plan->host, &plan->config, &passes);
  if (*result == kSuccess && passes == 1) return true;
  DeleteHost(api, std::exchange(plan->host, nullptr));
  return false;
}

// What a chip has of the first names of all, as most have: to ask for each counter takes a host object each.
void TakeFirstNames(const std::vector<Wanted>& wanted, Plan* plan) {
  plan->counters.clear();
  for (const Wanted& one : wanted) {
    if (!one.candidates.empty()) plan->counters.push_back(one.candidates.front());
  }
}

}  // namespace

int MakePlan(const Api& api, const char* chip, const std::vector<uint8_t>& availability,
             const std::vector<Wanted>& wanted, Plan* plan, std::vector<std::string>* missing) {
  int result = kSuccess;
  TakeFirstNames(wanted, plan);
  if (!plan->counters.empty() && PlanForAll(api, chip, availability, plan, &result)) return kSuccess;
  plan->counters = Available(api, chip, availability, wanted, missing, &result);
  if (plan->counters.empty()) return result != kSuccess ? result : kNotFound;
  for (; !plan->counters.empty(); plan->counters.pop_back()) {
    if (PlanForAll(api, chip, availability, plan, &result)) return kSuccess;
    missing->push_back(plan->counters.back().name);
  }
  return result != kSuccess ? result : kNotFound;
}

GpuSampler::~GpuSampler() {
  Disable();
  DeleteHost(*api_, plan_.host);
}

int GpuSampler::Prepare(const std::vector<Wanted>& wanted, std::string* function) {
  if (!availability_.empty()) return MakeNewPlan(wanted, function);
  *function = "cuptiDeviceGetChipName";
  ChipNameParams chip;
  chip.device = static_cast<std::size_t>(device_);
  if (const int result = Call(api_->cuptiDeviceGetChipName, &chip); result != kSuccess) return result;
  chip_ = chip.name;
  // Without this, counters that the machine lacks are accepted, and no sample is ever complete.
  *function = "cuptiPmSamplingGetCounterAvailability";
  AvailabilityParams availability;
  availability.device = static_cast<std::size_t>(device_);
  if (const int result = Call(api_->cuptiPmSamplingGetCounterAvailability, &availability); result != kSuccess)
    return result;
  availability_.assign(availability.image_size, 0);
  availability.image = availability_.data();
  if (const int result = Call(api_->cuptiPmSamplingGetCounterAvailability, &availability); result != kSuccess)
    return result;
  return MakeNewPlan(wanted, function);
}

int GpuSampler::MakeNewPlan(const std::vector<Wanted>& wanted, std::string* function) {
  *function = "cuptiProfilerHostConfigAddMetrics";
  DeleteHost(*api_, std::exchange(plan_.host, nullptr));
  missing_.clear();
  const int result = MakePlan(*api_, chip_.c_str(), availability_, wanted, &plan_, &missing_);
  values_.assign(plan_.counters.size(), 0);
  return result;
}

SamplingPlan ContinuousPlan(int64_t interval_ns, int64_t poll_ns, std::size_t counters) {
  SamplingPlan plan;
  plan.interval_ns = interval_ns;
  plan.most_samples = static_cast<uint32_t>(std::max(kImageReserve * poll_ns / interval_ns, kFewestSamples));
  // 64 MB hold ten counters at 10 kHz for long enough.
  const int64_t tens = static_cast<int64_t>(counters + 9) / 10;
  const int64_t rate = std::max<int64_t>(kSecondNs / std::max<int64_t>(interval_ns, 1) / 10'000, 1);
  plan.buffer_bytes = static_cast<std::size_t>(std::clamp<int64_t>(tens * rate, 1, 4)) * kSmallestBufferBytes;
  return plan;
}

int GpuSampler::Enable(const SamplingPlan& plan, std::string* function) {
  *function = "cuptiPmSamplingEnable";
  costs_ = {};
  EnableParams enable;
  enable.device = static_cast<std::size_t>(device_);
  if (const int result = Call(api_->cuptiPmSamplingEnable, &enable); result != kSuccess) return result;
  sampler_ = enable.sampler;
  *function = "cuptiPmSamplingSetConfig";
  if (const int result = SetConfig(plan); result != kSuccess) return result;
  *function = "cuptiPmSamplingGetCounterDataSize";
  std::size_t bytes = 0;
  most_samples_ = plan.most_samples;
  if (const int result = ImageBytes(most_samples_, &bytes); result != kSuccess) return result;
  if (plan.most_image_bytes != 0 && bytes > plan.most_image_bytes) {
    most_samples_ = static_cast<uint32_t>(uint64_t{most_samples_} * plan.most_image_bytes / bytes);
    if (const int result = ImageBytes(most_samples_, &bytes); result != kSuccess) return result;
  }
  image_.assign(bytes, 0);
  empty_image_.clear();
  *function = "cuptiPmSamplingCounterDataImageInitialize";
  if (const int result = ClearImage(); result != kSuccess) return result;
  if (bytes <= kMostCopiedBytes) empty_image_ = image_;
  return kSuccess;
}

// Takes a smaller buffer where there is no room for the one that is asked for.
int GpuSampler::SetConfig(const SamplingPlan& plan) {
  SetConfigParams config;
  config.sampler = sampler_;
  config.config = plan_.config.data();
  config.config_size = plan_.config.size();
  config.hardware_buffer_size = plan.buffer_bytes;
  config.interval = static_cast<uint64_t>(plan.interval_ns);
  int result = Call(api_->cuptiPmSamplingSetConfig, &config);
  while (result == kOutOfMemory && config.hardware_buffer_size > kSmallestBufferBytes) {
    config.hardware_buffer_size /= 2;
    result = Call(api_->cuptiPmSamplingSetConfig, &config);
  }
  return result;
}

int GpuSampler::ImageBytes(uint32_t samples, std::size_t* bytes) const {
  DataSizeParams size;
  size.sampler = sampler_;
  size.names = const_cast<const char**>(plan_.names.data());
  size.count = plan_.names.size();
  size.most_samples = samples;
  const int result = Call(api_->cuptiPmSamplingGetCounterDataSize, &size);
  *bytes = size.data_size;
  return result;
}

int GpuSampler::ClearImage() {
  const CostOf cost(&costs_.reset_ns);
  is_image_used_ = false;
  if (!empty_image_.empty()) {
    std::memcpy(image_.data(), empty_image_.data(), image_.size());
    return kSuccess;
  }
  DataInitializeParams initialize;
  initialize.sampler = sampler_;
  initialize.data = image_.data();
  initialize.data_size = image_.size();
  return Call(api_->cuptiPmSamplingCounterDataImageInitialize, &initialize);
}

int GpuSampler::Start() {
  SamplerParams params;
  params.sampler = sampler_;
  return Call(api_->cuptiPmSamplingStart, &params);
}

int GpuSampler::Stop() {
  SamplerParams params;
  params.sampler = sampler_;
  return Call(api_->cuptiPmSamplingStop, &params);
}

void GpuSampler::Disable() {
  if (sampler_ == nullptr) return;
  SamplerParams params;
  params.sampler = std::exchange(sampler_, nullptr);
  Call(api_->cuptiPmSamplingDisable, &params);
}

std::string GpuSampler::DropCounters(std::size_t fewest, std::vector<Wanted>* wanted) const {
  const std::size_t count = plan_.counters.size();
  const std::size_t kept = std::max(count - (count + 3) / 4, fewest);
  std::string dropped;
  if (kept >= count) return dropped;
  wanted->clear();
  for (std::size_t i = 0; i < kept; ++i) wanted->push_back({{plan_.counters[i]}});
  for (std::size_t i = kept; i < count; ++i) dropped += (dropped.empty() ? "" : ", ") + plan_.counters[i].name;
  return dropped;
}

DecodeResult GpuSampler::Decode() {
  DecodeResult out;
  if (is_image_used_) out.error = ClearImage();
  if (out.error != kSuccess) return out;
  const CostOf cost(&costs_.decode_ns);
  DecodeParams decode;
  decode.sampler = sampler_;
  decode.data = image_.data();
  decode.data_size = image_.size();
  out.error = Call(api_->cuptiPmSamplingDecodeData, &decode);
  out.has_overflowed = decode.overflow != 0 || out.error == kOutOfMemory;
  out.was_full = out.error == kSuccess && decode.stop == DecodeStop::kImageFull;
  if (out.error != kSuccess && !out.has_overflowed) return out;
  DataInfoParams info;
  info.data = image_.data();
  info.data_size = image_.size();
  if (Call(api_->cuptiPmSamplingGetCounterDataInfo, &info) != kSuccess) return out;
  out.samples = info.completed;
  // What is begun and not complete is decoded again.
  is_image_used_ = info.completed != 0 || out.was_full;
  return out;
}

void GpuSampler::Evaluate(std::size_t first, std::size_t last, const Visit& visit) {
  const CostOf cost(&costs_.evaluate_ns);
  for (std::size_t i = first; i < last; ++i) {
    SampleInfoParams sample;
    sample.sampler = sampler_;
    sample.data = image_.data();
    sample.data_size = image_.size();
    sample.index = i;
    if (Call(api_->cuptiPmSamplingCounterDataGetSampleInfo, &sample) != kSuccess) continue;
    EvaluateParams evaluate;
    evaluate.host = plan_.host;
    evaluate.data = image_.data();
    evaluate.data_size = image_.size();
    evaluate.range = i;
    evaluate.names = plan_.names.data();
    evaluate.count = plan_.names.size();
    evaluate.values = values_.data();
    if (Call(api_->cuptiProfilerHostEvaluateToGpuValues, &evaluate) != kSuccess) continue;
    // Around a full image there are samples without a length.
    if (sample.end > sample.start) visit({sample.start, sample.end}, values_.data());
  }
}

}  // namespace gprof::pm
