#include "counters/host_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "counters/host_api.h"
#include "gprof/error.h"
#include "gprof/library_symbols.h"

namespace gprof::counters {

struct Functions {
  LibrarySymbols in;
  int (*cuptiProfilerHostInitialize)(HostInitializeParams*) = in("cuptiProfilerHostInitialize");
  int (*cuptiProfilerHostDeinitialize)(HostDeinitializeParams*) = in("cuptiProfilerHostDeinitialize");
  int (*cuptiProfilerHostGetSupportedChips)(ChipsParams*) = in("cuptiProfilerHostGetSupportedChips");
  int (*cuptiProfilerHostGetBaseMetrics)(BaseMetricsParams*) = in("cuptiProfilerHostGetBaseMetrics");
  int (*cuptiProfilerHostGetSubMetrics)(SubMetricsParams*) = in("cuptiProfilerHostGetSubMetrics");
  int (*cuptiProfilerHostGetMetricProperties)(PropertiesParams*) = in("cuptiProfilerHostGetMetricProperties");
  int (*cuptiProfilerHostConfigAddMetrics)(AddMetricsParams*) = in("cuptiProfilerHostConfigAddMetrics");
  int (*cuptiProfilerHostGetConfigImageSize)(ConfigImageSizeParams*) = in("cuptiProfilerHostGetConfigImageSize");
  int (*cuptiProfilerHostGetConfigImage)(ConfigImageParams*) = in("cuptiProfilerHostGetConfigImage");
  int (*cuptiProfilerHostGetNumOfPasses)(PassesParams*) = in("cuptiProfilerHostGetNumOfPasses");
  int (*cuptiGetVersion)(uint32_t*) = in("cuptiGetVersion");
};

namespace {

constexpr int kRangeProfiler = 0;
// One that metrics of each type have. libcupti 12.8 and 12.9 know nothing of a name without one.
constexpr const char* kKnownRollups[] = {".sum", ".ratio", ".avg.pct_of_peak_sustained_elapsed"};

template <class P>
int Ask(int (*function)(P*), P* params) {
  params->size = SizeOf<P>();
  return function(params);
}

}  // namespace

class Host {
 public:
  Host(const Functions& functions, const std::string& chip) : functions_(functions) {
    HostInitializeParams params;
    params.type = kRangeProfiler;
    params.chip = chip.c_str();
    const int result = Ask(functions_.cuptiProfilerHostInitialize, &params);
    if (result != pm::kSuccess)
      throw Error(ExitCode::kUnreadable, fmt::format("libcupti cannot plan for chip {} (result {})", chip, result));
    host_ = params.host;
  }
  ~Host() {
    HostDeinitializeParams params;
    params.host = host_;
    Ask(functions_.cuptiProfilerHostDeinitialize, &params);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  pm::Host* get() const { return host_; }

  bool Add(std::span<const std::string> metrics) {
    std::vector<const char*> names;
    for (const std::string& metric : metrics) names.push_back(metric.c_str());
    AddMetricsParams params;
    params.host = host_;
    params.names = names.data();
    params.count = names.size();
    return Ask(functions_.cuptiProfilerHostConfigAddMetrics, &params) == pm::kSuccess;
  }

 private:
  const Functions& functions_;
  pm::Host* host_ = nullptr;
};

namespace {

// libcupti opens its other half by name, through the paths of the loader, which may lead to another version or nowhere.
void OpenCompanion(const std::string& library) {
  dlopen((library.substr(0, library.rfind('/') + 1) + "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

// Without a driver, the first call of libcupti 13.2 crashes, and every one of 13.5 fails (measured; 13.1 needs none).
// The function is new in 13.2.
bool NeedsDriver(void* library) { return dlsym(library, "cuptiProfilerHostGetSinglePassSets") != nullptr; }

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace

// ---- a chip ----

Chip::Chip(std::shared_ptr<const Functions> functions, std::string name)
    : functions_(std::move(functions)), name_(std::move(name)), lists_(std::make_shared<Host>(*functions_, name_)) {}

std::vector<std::string> Chip::BaseMetrics(MetricType type) const {
  BaseMetricsParams params;
  params.host = lists_->get();
  params.type = static_cast<int>(type);
  if (Ask(functions_->cuptiProfilerHostGetBaseMetrics, &params) != pm::kSuccess) return {};
  return {params.names, params.names + params.count};
}

std::vector<std::string> Chip::SubMetrics(MetricType type, const std::string& metric) const {
  for (const std::string& name : {metric, metric + kKnownRollups[static_cast<int>(type)]}) {
    SubMetricsParams params;
    params.host = lists_->get();
    params.type = static_cast<int>(type);
    params.metric = name.c_str();
    if (Ask(functions_->cuptiProfilerHostGetSubMetrics, &params) == pm::kSuccess)
      return {params.names, params.names + params.count};
  }
  return {};
}

bool Chip::Describe(const std::string& metric, MetricProperties* properties) const {
  PropertiesParams params;
  params.host = lists_->get();
  params.metric = metric.c_str();
  if (Ask(functions_->cuptiProfilerHostGetMetricProperties, &params) != pm::kSuccess) return false;
  const auto text = [](const char* from) { return std::string(from == nullptr ? "" : from); };
  *properties = {text(params.description), text(params.unit)};
  return true;
}

MetricProperties Chip::PropertiesOf(const std::string& metric) const {
  MetricProperties properties;
  if (Describe(metric, &properties)) return properties;
  for (const char* const rollup : kKnownRollups) {
    if (Describe(metric + rollup, &properties)) break;
  }
  return properties;
}

bool Chip::MayHave(const std::string& metric) const {
  MetricProperties properties;
  return Describe(metric, &properties);
}

std::vector<std::string> Chip::KnownOf(std::span<const std::string> metrics) const {
  std::vector<std::string> likely;
  std::copy_if(metrics.begin(), metrics.end(), std::back_inserter(likely),
               [&](const std::string& metric) { return MayHave(metric); });
  return TakenOf(likely);
}

// A metric that CUPTI refuses leaves its object unusable, and takes the others of its call with it. So each call has an
// object of its own, and halves are tried where the whole was refused.
std::vector<std::string> Chip::TakenOf(std::span<const std::string> metrics) const {
  if (metrics.empty() || Host(*functions_, name_).Add(metrics)) return {metrics.begin(), metrics.end()};
  if (metrics.size() == 1) return {};
  const std::size_t half = metrics.size() / 2;
  std::vector<std::string> taken = TakenOf(metrics.first(half));
  for (std::string& name : TakenOf(metrics.subspan(half))) taken.push_back(std::move(name));
  return taken;
}

std::optional<Chip::Cost> Chip::CostOf(const std::vector<std::string>& metrics) const {
  if (metrics.empty()) return Cost{};
  Host host(*functions_, name_);
  // All at once: each call schedules passes of its own.
  if (!host.Add(metrics)) return {};
  ConfigImageSizeParams size;
  size.host = host.get();
  std::vector<uint8_t> bytes;
  int result = Ask(functions_->cuptiProfilerHostGetConfigImageSize, &size);
  if (result == pm::kSuccess) {
    bytes.resize(size.image_size);
    ConfigImageParams image;
    image.host = host.get();
    image.image_size = bytes.size();
    image.image = bytes.data();
    result = Ask(functions_->cuptiProfilerHostGetConfigImage, &image);
  }
  PassesParams passes;
  passes.image_size = bytes.size();
  passes.image = bytes.data();
  if (result == pm::kSuccess) result = Ask(functions_->cuptiProfilerHostGetNumOfPasses, &passes);
  if (result != pm::kSuccess)
    throw Error(ExitCode::kUnreadable, fmt::format("libcupti cannot plan for chip {} (result {})", name_, result));
  return Cost{passes.passes, bytes.size()};
}

// ---- the library ----

HostLibrary::HostLibrary(const std::string& chosen) {
  std::string why =
      chosen.empty() ? "CUDA is not installed in any of the usual places" : "'" + chosen + "' cannot be opened";
  for (const std::string& file : pm::CuptiFiles(chosen)) {
    if (file.find('/') != std::string::npos) OpenCompanion(file);
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto functions = std::make_shared<Functions>(Functions{LibrarySymbols(library)});
    Dl_info info;
    if (functions->in.missing() != nullptr) {
      why = file + " is too old";
    } else if (NeedsDriver(library) && dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
      why = file + " is from CUDA 13.2 or later, which needs the driver even for planning";
    } else if (dladdr(reinterpret_cast<void*>(functions->cuptiProfilerHostInitialize), &info) != 0) {
      functions_ = functions;
      path_ = info.dli_fname;
      OpenCompanion(path_);
      return;
    }
  }
  throw Error(
      ExitCode::kUnreadable, "no libcupti to plan with: " + why,
      "install the CUDA Toolkit or the Python package of CUPTI, 12.8 or later, or name the file with --cupti FILE");
}

std::string HostLibrary::Version() const {
  uint32_t version = 0;
  functions_->cuptiGetVersion(&version);
  // 130001 is 13.0, 12.8's is 26: the API version of CUPTI was a counter before.
  if (version < 100'000) return fmt::format("libcupti (API version {})", version);
  return fmt::format("libcupti {}.{}", version / 10'000, version / 100 % 100);
}

std::vector<std::string> HostLibrary::Chips() const {
  ChipsParams params;
  const int result = Ask(functions_->cuptiProfilerHostGetSupportedChips, &params);
  if (result != pm::kSuccess)
    throw Error(ExitCode::kUnreadable, fmt::format("libcupti does not list the chips it supports (result {})", result));
  std::vector<std::string> names{params.names, params.names + params.count};
  std::sort(names.begin(), names.end());
  return names;
}

Chip HostLibrary::Find(const std::string& name) const {
  const std::vector<std::string> chips = Chips();
  for (const std::string& chip : chips) {
    if (Upper(chip) == Upper(name)) return {functions_, chip};
  }
  throw Error(ExitCode::kUsage, fmt::format("{} does not support chip '{}'", Version(), name),
              fmt::format("it knows {}", fmt::join(chips, ", ")));
}

}  // namespace gprof::counters
