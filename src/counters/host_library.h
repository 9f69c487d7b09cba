// The host part of CUPTI's profiler: metrics of every chip that the library knows, and passes. It needs neither a GPU
// nor a driver. Opened when it is asked for, from CUDA 12.8 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gprof::counters {

enum class MetricType : int { kCounter = 0, kRatio = 1, kThroughput = 2 };
inline constexpr MetricType kMetricTypes[] = {MetricType::kCounter, MetricType::kRatio, MetricType::kThroughput};

struct MetricProperties {
  std::string description, unit;
};

struct Functions;  // of the library
class Host;        // an object of CUPTI for one chip

class Chip {
 public:
  Chip(std::shared_ptr<const Functions> functions, std::string name);

  const std::string& name() const { return name_; }
  std::vector<std::string> BaseMetrics(MetricType type) const;
  // What may follow a base metric: ".sum", ".avg.pct_of_peak_sustained_elapsed", …
  std::vector<std::string> SubMetrics(MetricType type, const std::string& metric) const;
  // Of a base metric.
  MetricProperties PropertiesOf(const std::string& metric) const;
  // To ask takes microseconds, where to try a metric takes tens of milliseconds. True: it may be refused all the same.
  bool MayHave(const std::string& metric) const;
  // Those of the metrics that the chip has, in their order.
  std::vector<std::string> KnownOf(std::span<const std::string> metrics) const;

  struct Cost {
    std::size_t passes = 0, config_bytes = 0;
  };
  // Nothing where the chip lacks one of them, or they cannot be collected together.
  std::optional<Cost> CostOf(const std::vector<std::string>& metrics) const;

 private:
  bool Describe(const std::string& metric, MetricProperties* properties) const;
  std::vector<std::string> TakenOf(std::span<const std::string> metrics) const;

  std::shared_ptr<const Functions> functions_;
  std::string name_;
  std::shared_ptr<Host> lists_;  // asked for names alone
};

class HostLibrary {
 public:
  // `chosen`: the file of libcupti, or empty to look for it. Throws Error where there is none, or one that is too old.
  explicit HostLibrary(const std::string& chosen = {});

  const std::string& path() const { return path_; }
  std::string Version() const;  // "libcupti 13.0"
  std::vector<std::string> Chips() const;
  // Whatever the case of its letters is. Throws Error, with the names of all, for one that it does not know.
  Chip Find(const std::string& name) const;

 private:
  std::shared_ptr<const Functions> functions_;
  std::string path_;
};

}  // namespace gprof::counters
