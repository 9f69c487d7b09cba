#include "collect/gpu/pm_metrics.h"

#include <iterator>

namespace gprof::pm {
namespace {

enum class Form : uint8_t { kPercent, kMegahertz, kBytesPerSecond, kPerSecond };

// Several names of the chip: the first that it has is taken. Counters of SMs are those that are called realtime where
// there are any: of the others only few fit into the monitors of an SM before these become narrow, so that the GPU
// writes a record each 65,536 cycles of each SM. Tensor and issue that way took half a core to read, on a busy GPU.
struct Row {
  const char* name;
  const char* metrics[3];
  Form form;
  const char* sets;
};

#define PERCENT ".avg.pct_of_peak_sustained_elapsed"
constexpr Row kRows[] = {
    {"SMs Active", {"sm__cycles_active" PERCENT}, Form::kPercent, "default kernels dram compute link"},
    {"GPC Clock Frequency", {"gpc__cycles_elapsed.avg.per_second"}, Form::kMegahertz, "default dram compute link"},
    {"DRAM Read Bandwidth", {"dram__read_throughput" PERCENT}, Form::kPercent, "default kernels dram"},
    {"DRAM Write Bandwidth", {"dram__write_throughput" PERCENT}, Form::kPercent, "default kernels dram"},
    {"Tensor Active",
     {"sm__pipe_tensor_cycles_active_realtime" PERCENT, "sm__pipe_tensor_cycles_active" PERCENT,
      "sm__pipe_tensor_cycles_active_v2" PERCENT},
     Form::kPercent,
     "default kernels compute"},
    {"SM Issue", {"sm__inst_executed_realtime" PERCENT}, Form::kPercent, "default kernels compute"},
    {"PCIe RX Throughput", {"pcie__read_bytes.sum.per_second"}, Form::kBytesPerSecond, "default link"},
    {"PCIe TX Throughput", {"pcie__write_bytes.sum.per_second"}, Form::kBytesPerSecond, "default link"},
    {"NVLink RX Throughput", {"nvlrx__bytes.sum.per_second"}, Form::kBytesPerSecond, "default link"},
    {"NVLink TX Throughput", {"nvltx__bytes.sum.per_second"}, Form::kBytesPerSecond, "default link"},
    {"GR Active", {"gr__cycles_active" PERCENT}, Form::kPercent, "default link"},
    {"Compute Warps in Flight", {"sm__warps_active_realtime" PERCENT}, Form::kPercent, "default kernels compute"},
    {"L2 Sectors", {"lts__t_sectors.sum.per_second"}, Form::kPerSecond, "default dram"},
    {"ALU Active",
     {"sm__inst_executed_pipe_alu_realtime" PERCENT, "sm__pipe_alu_cycles_active" PERCENT},
     Form::kPercent,
     "compute"},
    {"DRAM Read",
     {"dram__bytes_read.sum.per_second", "dram__bytes_op_read.sum.per_second"},
     Form::kBytesPerSecond,
     "dram"},
    {"DRAM Write",
     {"dram__bytes_write.sum.per_second", "dram__bytes_op_write.sum.per_second"},
     Form::kBytesPerSecond,
     "dram"},
};
#undef PERCENT
constexpr std::string_view kSets[] = {"default", "kernels", "dram", "compute", "link"};

Counter CounterOf(std::string name, std::string metric, Form form) {
  switch (form) {
    case Form::kPercent:
      return {std::move(name), "%", std::move(metric), trace::MetricKind::kRate, -2, 100};
    case Form::kMegahertz:
      return {std::move(name), "MHz", std::move(metric), trace::MetricKind::kRate, -2, 1e-4};
    case Form::kBytesPerSecond:
      return {std::move(name), "bytes/s", std::move(metric), trace::MetricKind::kRate, 0, 1};
    case Form::kPerSecond:
      break;
  }
  return {std::move(name), "1/s", std::move(metric), trace::MetricKind::kRate, 0, 1};
}

// A word of a list with spaces between.
bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view one = words.substr(0, words.find(' '));
    if (one == word) return true;
    words.remove_prefix(one.size() == words.size() ? one.size() : one.size() + 1);
  }
  return false;
}

}  // namespace

std::span<const std::string_view> SetNames() { return kSets; }

std::vector<Wanted> SetOf(std::string_view name) {
  std::vector<Wanted> wanted;
  for (const Row& row : kRows) {
    if (!HasWord(row.sets, name)) continue;
    Wanted one;
    for (const char* const metric : row.metrics) {
      if (metric != nullptr) one.candidates.push_back(CounterOf(row.name, metric, row.form));
    }
    wanted.push_back(std::move(one));
  }
  return wanted;
}

std::vector<Wanted> WantedOf(const std::vector<std::string>& metrics) {
  std::vector<Wanted> wanted;
  for (const std::string& metric : metrics) {
    // What is no percentage is kept to a thousandth.
    Counter counter{metric, "", metric, trace::MetricKind::kRate, -3, 1000};
    const std::string_view name = metric;
    if (name.find(".pct") != std::string_view::npos) counter = CounterOf(metric, metric, Form::kPercent);
    if (name.ends_with(".per_second")) counter = CounterOf(metric, metric, Form::kPerSecond);
    if (name.ends_with("bytes.sum.per_second")) counter = CounterOf(metric, metric, Form::kBytesPerSecond);
    wanted.push_back({{std::move(counter)}});
  }
  return wanted;
}

}  // namespace gprof::pm
