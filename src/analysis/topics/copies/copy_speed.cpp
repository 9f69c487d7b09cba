#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <string>

#include "analysis/facts/operations/transfers.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/topics/copies/copy_overlap.h"
#include "base/saturate.h"

namespace gprof {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr size_t kDirections = 2;  // to the device, to the host
constexpr size_t kGroupsOfDevice = kDirections * kMemoryKinds * kMemoryKinds;

bool IsHostCopy(const GpuOp& op) {
  if (op.kind != OpKind::kMemcpy) return false;
  const Direction direction = DirectionOf(op);
  return direction == Direction::kH2d || direction == Direction::kD2h;
}

size_t GroupOf(const GpuOp& op) {
  const size_t direction = DirectionOf(op) == Direction::kD2h;
  return op.device * kGroupsOfDevice + (direction * kMemoryKinds + IndexOf(op.source_memory)) * kMemoryKinds +
         IndexOf(op.destination_memory);
}

Direction DirectionOfGroup(size_t group) {
  return group % kGroupsOfDevice < kMemoryKinds * kMemoryKinds ? Direction::kH2d : Direction::kD2h;
}

struct Speed {
  int64_t count = 0, latency_bound_count = 0;
  SaturatingSum time_ns, latency_bound_ns;
  uint64_t bytes = 0;
  double best_bytes_per_ns = 0;                    // of copies larger than kSmallCopyBytes, 0 for none
  int64_t latency_ns = -1;                         // median of copies up to kLatencyBytes, -1 for none
  uint64_t latency_bound_bytes = kSmallCopyBytes;  // up to this size a copy is mostly latency

  void Add(const GpuOp& op) {
    ++count;
    time_ns += op.DurationNs();
    bytes += op.size_bytes;
    if (op.size_bytes <= kSmallCopyBytes || op.DurationNs() <= 0) return;
    best_bytes_per_ns =
        std::max(best_bytes_per_ns, static_cast<double>(op.size_bytes) / static_cast<double>(op.DurationNs()));
  }
};

// Time = latency + bytes / bandwidth: a copy is latency-bound where the first is not the smaller part.
void Fit(const Reachable& reachable, const Samples::Slice& latencies, Speed* speed) {
  if (latencies.empty()) return;
  speed->latency_ns = static_cast<int64_t>(latencies.Median());
  const double bytes_per_ns = speed->best_bytes_per_ns > 0 ? speed->best_bytes_per_ns : reachable.bytes_per_ns;
  if (bytes_per_ns <= 0) return;
  // A copy of kLatencyBytes is latency by definition, and no host and GPU are a second apart.
  constexpr double kMost = 1e9;
  const double bytes = std::clamp(static_cast<double>(speed->latency_ns) * bytes_per_ns, double{kLatencyBytes}, kMost);
  speed->latency_bound_bytes = static_cast<uint64_t>(bytes);
}

std::vector<Speed> SpeedsOf(const Trace& trace, const PackedOps& transfers, const ReachableBandwidth& reachable) {
  std::vector<Speed> speeds(trace.devices.size() * kGroupsOfDevice);
  Groups latencies(speeds.size());
  for (const GpuOp& op : transfers) {
    if (!IsHostCopy(op)) continue;
    speeds[GroupOf(op)].Add(op);
    if (op.size_bytes <= kLatencyBytes) latencies.Count(GroupOf(op));
  }
  latencies.Seal();
  for (const GpuOp& op : transfers) {
    if (IsHostCopy(op) && op.size_bytes <= kLatencyBytes) latencies.Add(GroupOf(op), op.DurationNs());
  }
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (speeds[i].count > 0) Fit(reachable.InDirection(DirectionOfGroup(i)), latencies.Of(i), &speeds[i]);
  }
  for (const GpuOp& op : transfers) {
    if (!IsHostCopy(op)) continue;
    Speed& speed = speeds[GroupOf(op)];
    if (op.size_bytes > speed.latency_bound_bytes) continue;
    ++speed.latency_bound_count;
    speed.latency_bound_ns += op.DurationNs();
  }
  return speeds;
}

Cell PercentCell(double value, double whole) { return whole > 0 ? Cell(100 * value / whole) : Cell(); }

Cell BandwidthCell(double bytes_per_ns) { return bytes_per_ns > 0 ? Cell(bytes_per_ns * kNsPerSecond) : Cell(); }

std::string MemoryOf(size_t group) {
  const auto source = static_cast<trace::MemoryKind>(group / kMemoryKinds % kMemoryKinds);
  const auto destination = static_cast<trace::MemoryKind>(group % kMemoryKinds);
  return std::string(MemoryName(source)) + " to " + std::string(MemoryName(destination));
}

std::string LinksOf(const Trace& trace) {
  std::set<std::string> links;
  for (uint32_t i = 0; i < trace.device_ops.size(); ++i) {
    if (trace.device_ops[i].first == trace.device_ops[i].last) continue;
    const trace::DeviceRecord& properties = trace.devices[i].properties;
    links.insert(LinkBytesPerNs(properties) > 0 ? "PCIe Gen" + std::to_string(properties.pcie_generation) + " x" +
                                                      std::to_string(properties.pcie_lanes) + ", after line coding"
                                                : "unknown for " + DeviceScope(trace, i));
  }
  std::string text;
  for (const std::string& link : links) text += (text.empty() ? "" : "; ") + link;
  return text;
}

std::vector<Column> SpeedColumns(const Trace& trace) {
  return {{"device", "GPU", Unit::kText, true, ColumnRole::kOwn},
          {"time_ns", "Time", Unit::kNs, true},
          {"count", "Count", Unit::kCount, true},
          {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false},
          {"best_bytes_per_second", "Best", Unit::kBytesPerSecond, false, "fastest copy above 64 KiB"},
          {"percent_of_best", "% of best", Unit::kPercent, true, ColumnRole::kOwn},
          {"link_bytes_per_second", "Link", Unit::kBytesPerSecond, true},
          {"percent_of_link", "% of link", Unit::kPercent, false, ColumnRole::kOwn, LinksOf(trace)},
          {"latency_ns", "Latency", Unit::kNs, false, "median of copies of up to 4 KiB"},
          {"latency_bound_count", "Latency-bound", Unit::kCount, true},
          {"latency_bound_ns", "Latency-bound time", Unit::kNs, true},
          {"latency_bound_bytes", "Latency-bound up to", Unit::kBytes, true},
          {"direction", "Direction", Unit::kText, false},
          {"memory", "Memory", Unit::kText, false}};
}

std::vector<Cell> SpeedRow(const Trace& trace, size_t group, const Speed& speed) {
  const auto device = static_cast<uint32_t>(group / kGroupsOfDevice);
  const double link = LinkBytesPerNs(trace.devices[device].properties);
  const double mean = BytesPerSecond(speed.bytes, speed.time_ns) / kNsPerSecond;
  return {DeviceScope(trace, device),
          speed.time_ns,
          speed.count,
          mean * kNsPerSecond,
          BandwidthCell(speed.best_bytes_per_ns),
          PercentCell(mean, speed.best_bytes_per_ns),
          BandwidthCell(link),
          PercentCell(mean, link),
          speed.latency_ns < 0 ? Cell() : Cell(speed.latency_ns),
          speed.latency_bound_count,
          speed.latency_bound_ns,
          static_cast<int64_t>(speed.latency_bound_bytes),
          std::string(DirectionName(DirectionOfGroup(group))),
          MemoryOf(group)};
}

// 0 for up to 1 byte, 1 for up to 4, 2 for up to 16, …
size_t SizeStep(uint64_t bytes) { return bytes <= 1 ? 0 : (static_cast<size_t>(std::bit_width(bytes - 1)) + 1) / 2; }
constexpr size_t kSizeSteps = 33;

int64_t LargestOfStep(size_t step) { return step >= 32 ? INT64_MAX : static_cast<int64_t>(uint64_t{1} << (2 * step)); }

}  // namespace

void AddCopySpeed(const Trace& trace, const PackedOps& transfers, const ReachableBandwidth& reachable,
                  AnalysisResult* result) {
  Table table{"bandwidth", "Copy bandwidth", SpeedColumns(trace), {}, "", RowsOfRanks::kApart, true};
  std::map<Direction, double> best;
  int64_t latency_bound_count = 0;
  SaturatingSum latency_bound_ns;
  const std::vector<Speed> speeds = SpeedsOf(trace, transfers, reachable);
  for (size_t group = 0; group < speeds.size(); ++group) {
    const Speed& speed = speeds[group];
    if (speed.count == 0) continue;
    table.rows.push_back(SpeedRow(trace, group, speed));
    double& best_of_direction = best[DirectionOfGroup(group)];
    best_of_direction = std::max(best_of_direction, speed.best_bytes_per_ns);
    latency_bound_count += speed.latency_bound_count;
    latency_bound_ns += speed.latency_bound_ns;
  }
  result->tables.push_back(std::move(table));
  AddMetric(result, "memcpy.latency_bound_count", latency_bound_count);
  AddMetric(result, "memcpy.latency_bound_ns", latency_bound_ns);
  for (const auto& [direction, bytes_per_ns] : best) {
    if (bytes_per_ns <= 0) continue;
    AddMetric(result,
              direction == Direction::kH2d ? "memcpy.h2d_best_bytes_per_second" : "memcpy.d2h_best_bytes_per_second",
              bytes_per_ns * kNsPerSecond);
  }
  for (uint32_t i = 0; i < trace.device_ops.size(); ++i) {
    const double link = LinkBytesPerNs(trace.devices[i].properties);
    if (link <= 0 || trace.device_ops[i].first == trace.device_ops[i].last) continue;
    AddMetric(result, "memcpy.link_bytes_per_second", link * kNsPerSecond, DeviceScope(trace, i));
  }
}

Table CopySizeTable(const PackedOps& transfers) {
  struct Step {
    int64_t count = 0;
    SaturatingSum time_ns;
    uint64_t bytes = 0;
  };
  std::array<std::array<Step, kSizeSteps>, kDirectionCount> steps;
  for (const GpuOp& op : transfers) {
    if (!op.IsCopy()) continue;
    Step& step = steps[static_cast<size_t>(DirectionOf(op))][SizeStep(op.size_bytes)];
    ++step.count;
    step.time_ns += op.DurationNs();
    step.bytes += op.size_bytes;
  }
  Table table{"copy_sizes",
              "Copies by size",
              {{"above_bytes", "Above", Unit::kBytes, false, ColumnRole::kName},
               {"up_to_bytes", "Up to", Unit::kBytes, false, ColumnRole::kName},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"time_ns", "Time", Unit::kNs, false},
               {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false},
               {"direction", "Direction", Unit::kText, false}},
              {},
              "Size classes are powers of 4.",
              RowsOfRanks::kAddUpInOrder,
              true};
  for (size_t direction = 0; direction < kDirectionCount; ++direction) {
    for (size_t i = 0; i < kSizeSteps; ++i) {
      const Step& step = steps[direction][i];
      if (step.count == 0) continue;
      table.rows.push_back({i == 0 ? int64_t{0} : LargestOfStep(i - 1), LargestOfStep(i), step.count,
                            static_cast<int64_t>(step.bytes), step.time_ns, BytesPerSecond(step.bytes, step.time_ns),
                            std::string(DirectionName(static_cast<Direction>(direction)))});
    }
  }
  return table;
}

}  // namespace gprof
