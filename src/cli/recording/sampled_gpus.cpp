#include "cli/recording/sampled_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "cli/arguments/options.h"

namespace gprof::cli {
namespace {

struct PresentGpu {
  std::string bus, model, uuid;
};

std::string ValueOf(const std::string& line, std::string_view key) {
  if (!line.starts_with(key)) return "";
  const std::size_t at = line.find_first_not_of(" \t", key.size());
  return at == std::string::npos ? "" : line.substr(at);
}

// In the order of their buses, by which nvidia-smi numbers them. Empty where the driver does not say.
std::vector<PresentGpu> PresentGpus(const std::string& folder) {
  std::vector<PresentGpu> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    PresentGpu gpu{entry.path().filename().string(), "", ""};
    std::ifstream file(entry.path() / "information");
    for (std::string line; std::getline(file, line);) {
      if (const std::string model = ValueOf(line, "Model:"); !model.empty()) gpu.model = model;
      if (const std::string uuid = ValueOf(line, "GPU UUID:"); !uuid.empty()) gpu.uuid = uuid;
    }
    if (!gpu.model.empty()) gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(), [](const PresentGpu& a, const PresentGpu& b) { return a.bus < b.bus; });
  return gpus;
}

std::string GpusText(const std::string& devices, const std::vector<PresentGpu>& gpus) {
  if (devices == "cuda-visible") return "the GPUs of CUDA_VISIBLE_DEVICES";
  const std::vector<std::string> wanted = devices == "all" ? std::vector<std::string>() : SplitList(devices);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const bool is_wanted =
        devices == "all" || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
          return one == std::to_string(i) || (one.starts_with("GPU-") && gpus[i].uuid.starts_with(one));
        });
    if (is_wanted) names.push_back(fmt::format("GPU {} ({})", i, gpus[i].model));
  }
  if (!names.empty()) return Joined(names);
  return devices == "all" ? "all GPUs" : "GPU " + devices;
}

}  // namespace

std::string SampledGpusText(const GpuMetricsOptions& wanted, const std::string& folder) {
  const std::string what = wanted.metrics.empty() ? "set " + wanted.set : Joined(wanted.metrics);
  return fmt::format("sampling GPU metrics, {} at {:g} Hz: {}", what, wanted.hz,
                     GpusText(wanted.devices, PresentGpus(folder)));
}

}  // namespace gprof::cli
