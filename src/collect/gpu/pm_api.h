// The part of CUPTI that samples performance monitors, and of the driver that it needs, opened when they are asked for.
// Parameters are declared here as in the headers of CUDA 12.8 and later, so that those are not needed to build; a test
// compares the two (tests/unit/collect/pm_layout_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gprof/library_symbols.h"

namespace gprof::pm {

struct Sampler;  // CUpti_PmSampling_Object
struct Host;     // CUpti_Profiler_Host_Object

// What functions of CUPTI return.
inline constexpr int kSuccess = 0, kOutOfMemory = 8, kHardwareBusy = 26, kNotPermitted = 35;
inline constexpr int kNotFound = -1;  // ours: this libcupti has no such function

enum class Trigger : int { kSysClock = 0, kTime = 1 };
enum class Append : int { kKeepOldest = 0, kKeepLatest = 1 };
enum class DecodeStop : int { kOther = 0, kImageFull = 1, kEndOfRecords = 2 };
inline constexpr int kProfilerTypePmSampling = 1;

// All parameters begin with their size up to their last field, and a null pointer.
struct Head {
  std::size_t size = 0;
  void* reserved = nullptr;
};
struct InitializeParams : Head {};
struct ChipNameParams : Head {
  std::size_t device = 0;
  const char* name = nullptr;
};
struct AvailabilityParams : Head {
  std::size_t device = 0, image_size = 0;
  uint8_t* image = nullptr;
};
struct HostInitializeParams : Head {
  int type = kProfilerTypePmSampling;
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  Host* host = nullptr;
};
struct HostDeinitializeParams : Head {
  Host* host = nullptr;
};
struct AddMetricsParams : Head {
  Host* host = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
};
struct ConfigImageSizeParams : Head {
  Host* host = nullptr;
  std::size_t image_size = 0;
};
struct ConfigImageParams : Head {
  Host* host = nullptr;
  std::size_t image_size = 0;
  uint8_t* image = nullptr;
};
struct PassesParams : Head {
  std::size_t image_size = 0;
  uint8_t* image = nullptr;
  std::size_t passes = 0;
};
struct EvaluateParams : Head {
  Host* host = nullptr;
  const uint8_t* data = nullptr;
  std::size_t data_size = 0, range = 0;
  const char** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};
struct EnableParams : Head {
  std::size_t device = 0;
  Sampler* sampler = nullptr;
};
struct SamplerParams : Head {  // of Disable, Start and Stop
  Sampler* sampler = nullptr;
};
struct SetConfigParams : Head {
  Sampler* sampler = nullptr;
  std::size_t config_size = 0;
  const uint8_t* config = nullptr;
  std::size_t hardware_buffer_size = 0;
  uint64_t interval = 0;
  Trigger trigger = Trigger::kTime;
  Append append = Append::kKeepOldest;
};
struct DataSizeParams : Head {
  Sampler* sampler = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
  uint32_t most_samples = 0;
  std::size_t data_size = 0;
};
struct DataInitializeParams : Head {
  Sampler* sampler = nullptr;
  std::size_t data_size = 0;
  uint8_t* data = nullptr;
};
struct DecodeParams : Head {
  Sampler* sampler = nullptr;
  uint8_t* data = nullptr;
  std::size_t data_size = 0;
  DecodeStop stop = DecodeStop::kOther;
  uint8_t overflow = 0;
};
struct DataInfoParams : Head {
  const uint8_t* data = nullptr;
  std::size_t data_size = 0, total = 0, populated = 0, completed = 0;
};
struct SampleInfoParams : Head {
  Sampler* sampler = nullptr;
  const uint8_t* data = nullptr;
  std::size_t data_size = 0, index = 0;
  uint64_t start = 0, end = 0;
};

// Sizes as libcupti wants them: up to the last field.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
template <class P>
constexpr std::size_t SizeOfParams() {
  return sizeof(P);
}
template <>
constexpr std::size_t SizeOfParams<DecodeParams>() {
  return offsetof(DecodeParams, overflow) + sizeof(uint8_t);
}
#pragma GCC diagnostic pop

struct Api {
  LibrarySymbols in;
  int (*cuptiProfilerInitialize)(InitializeParams*) = in("cuptiProfilerInitialize");
  int (*cuptiDeviceGetChipName)(ChipNameParams*) = in("cuptiDeviceGetChipName");
  int (*cuptiPmSamplingGetCounterAvailability)(AvailabilityParams*) = in("cuptiPmSamplingGetCounterAvailability");
  int (*cuptiProfilerHostInitialize)(HostInitializeParams*) = in("cuptiProfilerHostInitialize");
  int (*cuptiProfilerHostDeinitialize)(HostDeinitializeParams*) = in("cuptiProfilerHostDeinitialize");
  int (*cuptiProfilerHostConfigAddMetrics)(AddMetricsParams*) = in("cuptiProfilerHostConfigAddMetrics");
  int (*cuptiProfilerHostGetConfigImageSize)(ConfigImageSizeParams*) = in("cuptiProfilerHostGetConfigImageSize");
  int (*cuptiProfilerHostGetConfigImage)(ConfigImageParams*) = in("cuptiProfilerHostGetConfigImage");
  int (*cuptiProfilerHostGetNumOfPasses)(PassesParams*) = in("cuptiProfilerHostGetNumOfPasses");
  int (*cuptiProfilerHostEvaluateToGpuValues)(EvaluateParams*) = in("cuptiProfilerHostEvaluateToGpuValues");
  int (*cuptiPmSamplingEnable)(EnableParams*) = in("cuptiPmSamplingEnable");
  int (*cuptiPmSamplingDisable)(SamplerParams*) = in("cuptiPmSamplingDisable");
  int (*cuptiPmSamplingSetConfig)(SetConfigParams*) = in("cuptiPmSamplingSetConfig");
  int (*cuptiPmSamplingStart)(SamplerParams*) = in("cuptiPmSamplingStart");
  int (*cuptiPmSamplingStop)(SamplerParams*) = in("cuptiPmSamplingStop");
  int (*cuptiPmSamplingGetCounterDataSize)(DataSizeParams*) = in("cuptiPmSamplingGetCounterDataSize");
  int (*cuptiPmSamplingCounterDataImageInitialize)(DataInitializeParams*) =
      in("cuptiPmSamplingCounterDataImageInitialize");
  int (*cuptiPmSamplingDecodeData)(DecodeParams*) = in("cuptiPmSamplingDecodeData");
  int (*cuptiPmSamplingGetCounterDataInfo)(DataInfoParams*) = in("cuptiPmSamplingGetCounterDataInfo");
  int (*cuptiPmSamplingCounterDataGetSampleInfo)(SampleInfoParams*) = in("cuptiPmSamplingCounterDataGetSampleInfo");
  int (*cuptiGetVersion)(uint32_t*) = in.Optional("cuptiGetVersion");
  int (*cuptiGetResultString)(int, const char**) = in.Optional("cuptiGetResultString");
  std::string path = {};  // of the library
};

template <class P>
int Call(int (*function)(P*), P* params) {
  params->size = SizeOfParams<P>();
  return function == nullptr ? kNotFound : function(params);
}

// The text that libcupti has for a result.
std::string TextOf(const Api& api, int result);

// Opens the first of the files that has everything, and the libraries beside it that it would look for by name alone
// and find, if any, elsewhere. False with the reason.
bool Open(const std::vector<std::string>& files, Api* api, std::string* why);
// Where libcupti is looked for: the file that the user names, what the loader finds, the toolkit, Python environments,
// the folder of the tracer.
std::vector<std::string> CuptiFiles(const std::string& chosen);
// libcupti as a process has it loaded; empty: it has none.
std::string CuptiOf(int pid);

// GPUs in the order that CUDA numbers them for this process.
struct Gpu {
  int index = 0;
  std::string uuid;
};
// Starts the driver. False with the reason.
bool FindGpus(std::vector<Gpu>* gpus, std::string* why);

}  // namespace gprof::pm
