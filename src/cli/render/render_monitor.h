// Readings of GPUs as text, JSON lines and Prometheus metrics.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "collect/gpu/gpu_watch.h"

namespace gprof::cli {

// How busy each GPU was, for the line that shows it over time.
class MonitorHistory {
 public:
  void Add(const std::vector<GpuReading>& readings);
  // Blocks of eight heights, the newest at the right.
  std::string Line(const std::string& uuid) const;

 private:
  std::map<std::string, std::deque<double>> percents_;
};

std::string MonitorText(const std::vector<GpuReading>& readings, const MonitorHistory& history,
                        const Terminal& terminal);
// One line.
std::string MonitorJson(const std::vector<GpuReading>& readings, int64_t unix_ns);
std::string MonitorPrometheus(const std::vector<GpuReading>& readings);

}  // namespace gprof::cli
