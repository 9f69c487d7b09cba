#include "export/timeline/chrome_memory.h"

#include <algorithm>
#include <iterator>

namespace gprof {

ChromeMemory::ChromeMemory(const Trace& trace) : trace_(trace) {
  if (trace.tensor_blocks.empty()) return;
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.device == kNone || trace.Text(source.origin) != "PyTorch") continue;
    tracks_[{source.process, source.device, trace.Text(source.name)}] = SampledCounter(trace, i).points;
  }
}

// What all blocks of the device held then.
void ChromeMemory::AddTotal(std::string_view key, const char* track, const TensorBlock& block, ArgSink& sink) const {
  const auto found = tracks_.find({block.process, block.device, track});
  if (found == tracks_.end()) return;
  const std::vector<CounterPoint>& points = found->second;
  const auto after = std::upper_bound(points.begin(), points.end(), block.time_ns,
                                      [](int64_t ns, const CounterPoint& point) { return ns < point.time_ns; });
  if (after != points.begin() && std::prev(after)->value != kNotMeasured) sink.Int(key, std::prev(after)->value);
}

void ChromeMemory::AddArgs(const TensorBlock& block, ArgSink& sink) const {
  constexpr int64_t kNoDevice = -1, kCpu = 0, kCuda = 1;
  if (!block.is_host) {
    AddTotal("Total Reserved", "PyTorch memory reserved", block, sink);
    AddTotal("Total Allocated", "PyTorch memory allocated", block, sink);
  }
  sink.Int("Bytes", block.size_bytes);
  if (block.address != 0) sink.Uint("Addr", block.address);
  sink.Int("Device Id", block.device == kNone ? kNoDevice : int64_t{trace_.devices[block.device].ordinal});
  sink.Int("Device Type", block.is_host ? kCpu : kCuda);
}

}  // namespace gprof
