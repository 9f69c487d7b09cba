#include "collect/gpu/pm_sampler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gprof::pm {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// An incomplete sample takes a place in the image as well, and a call may be late.
constexpr int64_t kImageReserve = 2, kFewestSamples = 64;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

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

int GpuSampler::Enable(int64_t interval_ns, int64_t poll_ns, std::string* function) {
  *function = "cuptiPmSamplingEnable";
  EnableParams enable;
  enable.device = static_cast<std::size_t>(device_);
  if (const int result = Call(api_->cuptiPmSamplingEnable, &enable); result != kSuccess) return result;
  sampler_ = enable.sampler;
  *function = "cuptiPmSamplingSetConfig";
  SetConfigParams config;
  config.sampler = sampler_;
  config.config = plan_.config.data();
  config.config_size = plan_.config.size();
  // 64 MB hold ten counters at 10 kHz for long enough.
  const int64_t tens = static_cast<int64_t>(plan_.counters.size() + 9) / 10;
  const int64_t rate = std::max<int64_t>(kSecondNs / std::max<int64_t>(interval_ns, 1) / 10'000, 1);
  config.hardware_buffer_size = static_cast<std::size_t>(std::clamp<int64_t>(tens * rate, 1, 4)) * 64 * kMegabyte;
  config.interval = static_cast<uint64_t>(interval_ns);
  if (const int result = Call(api_->cuptiPmSamplingSetConfig, &config); result != kSuccess) return result;
  *function = "cuptiPmSamplingGetCounterDataSize";
  DataSizeParams size;
  size.sampler = sampler_;
  size.names = plan_.names.data();
  size.count = plan_.names.size();
  size.most_samples = static_cast<uint32_t>(std::max(kImageReserve * poll_ns / interval_ns, kFewestSamples));
  if (const int result = Call(api_->cuptiPmSamplingGetCounterDataSize, &size); result != kSuccess) return result;
  image_.assign(size.data_size, 0);
  *function = "cuptiPmSamplingCounterDataImageInitialize";
  DataInitializeParams initialize;
  initialize.sampler = sampler_;
  initialize.data = image_.data();
  initialize.data_size = image_.size();
  if (const int result = Call(api_->cuptiPmSamplingCounterDataImageInitialize, &initialize); result != kSuccess)
    return result;
  empty_image_ = image_;
  return kSuccess;
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

DecodeResult GpuSampler::Decode(const Visit& visit) {
  DecodeResult out;
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
  for (std::size_t i = 0; i < info.completed; ++i) {
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
    ++out.samples;
  }
  // What is begun and not complete is decoded again.
  if (info.completed != 0 || out.was_full) std::memcpy(image_.data(), empty_image_.data(), image_.size());
  return out;
}

}  // namespace gprof::pm
