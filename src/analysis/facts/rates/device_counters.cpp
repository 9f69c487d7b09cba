#include "analysis/facts/rates/device_counters.h"

namespace gprof {
namespace {

// The less, the better.
int RankOf(std::string_view origin) { return origin == "nvml" ? 2 : origin == "gpm" ? 1 : 0; }

}  // namespace

int64_t ClockErrorNs(const Trace& trace, const MetricSource& source) {
  constexpr int64_t kGpmErrorNs = 50'000'000;
  return trace.Text(source.origin) == "gpm" ? kGpmErrorNs : 0;
}

uint32_t FindSource(const Trace& trace, uint32_t device, std::string_view name, std::string_view unit) {
  uint32_t found = kNone;
  ForEachSourceOf(trace, device, [&](uint32_t i) {
    const MetricSource& source = trace.metric_sources[i];
    if (trace.Text(source.name) != name || trace.Text(source.unit) != unit) return;
    const bool is_better =
        found == kNone || RankOf(trace.Text(source.origin)) < RankOf(trace.Text(trace.metric_sources[found].origin));
    if (is_better) found = i;
  });
  return found;
}

}  // namespace gprof
