#include "counters/throughput_parts.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

namespace gprof::counters {
namespace {

// Parameters as in the headers of CUDA 13.0. The functions are deprecated there, so any of them may be gone.
struct NvpwHead {
  std::size_t size = 0;
  void* reserved = nullptr;
};
struct InitializeHost : NvpwHead {};
struct ScratchSize : NvpwHead {
  const char* chip = nullptr;
  const uint8_t* availability = nullptr;
  std::size_t scratch_size = 0;
};
struct Evaluator;
struct Initialize : NvpwHead {
  uint8_t* scratch = nullptr;
  std::size_t scratch_size = 0;
  const char* chip = nullptr;
  const uint8_t *availability = nullptr, *data = nullptr;
  std::size_t data_size = 0;
  Evaluator* evaluator = nullptr;
};
struct Destroy : NvpwHead {
  Evaluator* evaluator = nullptr;
};
struct MetricNames : NvpwHead {
  Evaluator* evaluator = nullptr;
  uint8_t type = 0;
  const char* names = nullptr;
  const std::size_t* begins = nullptr;
  std::size_t count = 0;
};
struct Throughput : NvpwHead {
  Evaluator* evaluator = nullptr;
  std::size_t index = 0;
  const char* description = nullptr;
  uint32_t unit = 0;
  std::size_t counter_count = 0;
  const std::size_t* counters = nullptr;
  std::size_t part_count = 0;
  const std::size_t* parts = nullptr;
};

constexpr uint8_t kCounter = 0, kThroughput = 2;

// False: there is no such function, or it failed.
template <class P>
bool Call(const char* name, P* params) {
  const auto function = reinterpret_cast<int (*)(P*)>(dlsym(RTLD_DEFAULT, name));
  params->size = sizeof(P);
  return function != nullptr && function(params) == 0;
}

class Breakdown {
 public:
  explicit Breakdown(const std::string& chip) {
    InitializeHost host;
    ScratchSize size;
    size.chip = chip.c_str();
    if (!Call("NVPW_InitializeHost", &host)) return;
    if (!Call("NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize", &size)) return;
    scratch_.resize(size.scratch_size);
    Initialize initialize;
    initialize.scratch = scratch_.data();
    initialize.scratch_size = scratch_.size();
    initialize.chip = chip.c_str();
    if (!Call("NVPW_CUDA_MetricsEvaluator_Initialize", &initialize)) return;
    evaluator_ = initialize.evaluator;
    counters_ = NamesOf(kCounter);
    throughputs_ = NamesOf(kThroughput);
  }
  ~Breakdown() {
    Destroy destroy;
    destroy.evaluator = evaluator_;
    if (evaluator_ != nullptr) Call("NVPW_MetricsEvaluator_Destroy", &destroy);
  }
  Breakdown(const Breakdown&) = delete;
  Breakdown& operator=(const Breakdown&) = delete;

  std::vector<std::string> PartsOf(const std::string& throughput) {
    const auto at = std::find(throughputs_.begin(), throughputs_.end(), throughput);
    if (at != throughputs_.end()) Add(static_cast<std::size_t>(at - throughputs_.begin()));
    return std::move(parts_);
  }

 private:
  std::vector<std::string> NamesOf(uint8_t type) const {
    MetricNames params;
    params.evaluator = evaluator_;
    params.type = type;
    std::vector<std::string> names;
    if (!Call("NVPW_MetricsEvaluator_GetMetricNames", &params)) return names;
    for (std::size_t i = 0; i < params.count; ++i) names.emplace_back(params.names + params.begins[i]);
    return names;
  }

  void Add(std::size_t index) {
    Throughput params;
    params.evaluator = evaluator_;
    params.index = index;
    if (!seen_.insert(index).second || !Call("NVPW_MetricsEvaluator_GetThroughputMetricProperties", &params)) return;
    for (std::size_t i = 0; i < params.counter_count; ++i) {
      const std::string& name = counters_.at(params.counters[i]);
      if (std::find(parts_.begin(), parts_.end(), name) == parts_.end()) parts_.push_back(name);
    }
    for (std::size_t i = 0; i < params.part_count; ++i) Add(params.parts[i]);
  }

  std::vector<uint8_t> scratch_;
  Evaluator* evaluator_ = nullptr;
  std::vector<std::string> counters_, throughputs_, parts_;
  std::set<std::size_t> seen_;
};

}  // namespace

std::vector<std::string> ThroughputParts(const std::string& chip, const std::string& throughput) {
  return Breakdown(chip).PartsOf(throughput);
}

}  // namespace gprof::counters
