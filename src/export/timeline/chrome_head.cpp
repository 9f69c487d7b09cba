#include "export/timeline/chrome_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "export/output/json_text.h"
#include "gprof/version.h"

namespace gprof {
namespace {

void AddVersions(const Trace& trace, std::string* line) {
  if (trace.processes.empty()) return;
  const Process& process = trace.processes.front();
  const auto add = [&](std::string_view key, uint32_t version) {
    if (version != 0) fmt::format_to(std::back_inserter(*line), "\"{}\": {},\n", key, version);
  };
  add("cupti_version", process.cupti_version);
  add("cuda_runtime_version", process.runtime_version);
  add("cuda_driver_version", process.driver_version);
}

// A reader of several files tells them apart by their rank, and takes one rank a file.
void AddRanks(const Trace& trace, std::string* line) {
  std::set<std::pair<int32_t, uint32_t>> ranks;
  for (const Process& process : trace.processes) {
    if (process.rank >= 0) ranks.insert({process.rank, process.world_size});
  }
  const auto [rank, world_size] = ranks.size() == 1 ? *ranks.begin() : std::pair<int32_t, uint32_t>{0, 1};
  fmt::format_to(std::back_inserter(*line),
                 "\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n", rank,
                 std::max<uint32_t>(world_size, 1));
}

void AddDevices(const Trace& trace, std::string* line) {
  *line += "\"deviceProperties\": [";
  for (uint32_t i = 0; i < trace.devices.size(); ++i) {
    const Device& device = trace.devices[i];
    const trace::DeviceRecord& f = device.properties;
    fmt::format_to(std::back_inserter(*line), "{}\n  {{\"id\": {}, \"name\": ", i == 0 ? "" : ",", device.ordinal);
    AppendJsonString(Utf8(trace.Text(device.name)), line);
    fmt::format_to(std::back_inserter(*line),
                   ", \"totalGlobalMem\": {}, \"computeMajor\": {}, \"computeMinor\": {}, \"maxThreadsPerBlock\": {}, "
                   "\"maxThreadsPerMultiprocessor\": {}, \"regsPerBlock\": {}, \"warpSize\": {}, "
                   "\"sharedMemPerBlock\": {}, \"numSms\": {}, \"regsPerMultiprocessor\": {}, "
                   "\"sharedMemPerMultiprocessor\": {}}}",
                   f.memory_bytes, f.compute_major, f.compute_minor, f.max_threads_per_block, f.max_threads_per_sm,
                   f.max_registers_per_block, f.warp_size, f.max_shared_bytes_per_block, f.sm_count,
                   f.max_registers_per_sm, f.max_shared_bytes_per_sm);
  }
  *line += "],\n";
}

}  // namespace

std::string ChromeHead(const Trace& trace, int64_t base_ns) {
  std::string line = "{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ns\",\n\"traceName\": ";
  AppendJsonString(Utf8(trace.path), &line);
  line += ",\n\"generator\": ";
  AppendJsonString(std::string("gprof-cli ") + kVersion, &line);
  line += ",\n";
  if (base_ns != 0) fmt::format_to(std::back_inserter(line), "\"baseTimeNanoseconds\": {},\n", base_ns);
  AddVersions(trace, &line);
  AddRanks(trace, &line);
  AddDevices(trace, &line);
  line += "\"traceEvents\": [";
  return line;
}

}  // namespace gprof
