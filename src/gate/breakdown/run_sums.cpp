#include "gate/breakdown/run_sums.h"

namespace gprof {
namespace {

TimeParts TimePartsOf(const DeviceTime& device) {
  TimeParts parts{};
  parts[kPartBefore] = device.before_ns;
  parts[kPartAfter] = device.after_ns;
  parts[kPartUnrecorded] = device.unrecorded_ns;
  parts[kPartKernels] = device.KernelNs();
  parts[kPartGraphs] = device.GraphNs();
  parts[kPartCopies] = device.CopyNs();
  parts[kPartFills] = device.FillNs();
  parts[kPartOverlap] = -device.hidden_ns;
  for (size_t cause = 0; cause < kCauseCount; ++cause) parts[kPartIdle + cause] = device.idle_ns[cause];
  return parts;
}

void Add(const DeviceSums& device, DeviceSums* all) {
  all->wall_ns += device.wall_ns;
  all->window_ns += device.window_ns;
  for (size_t part = 0; part < kPartCount; ++part) all->parts[part] += device.parts[part];
}

}  // namespace

std::string PartKey(size_t part) {
  constexpr std::string_view kKeys[] = {"before", "after",  "unrecorded", "kernels",
                                        "graphs", "copies", "fills",      "overlap"};
  if (part < kPartIdle) return std::string(kKeys[part]);
  return "idle." + std::string(InfoOf(static_cast<Cause>(part - kPartIdle)).name);
}

std::string PartLabel(size_t part) {
  constexpr std::string_view kLabels[] = {"start-up", "tear-down",           "not captured or not selected",
                                          "kernels",  "CUDA graphs",         "copies",
                                          "memsets",  "overlap (subtracted)"};
  if (part < kPartIdle) return std::string(kLabels[part]);
  return "idle: " + std::string(InfoOf(static_cast<Cause>(part - kPartIdle)).name);
}

RunSums::RunSums(const Measurement& measured) : run(&measured), kernels(KernelsOf(measured.breakdown)) {
  for (const DeviceTime& device : measured.breakdown.devices) {
    const DeviceSums sums{device.WallNs(), device.window_ns, TimePartsOf(device)};
    devices[device.device] = sums;
    Add(sums, &all);
    for (const TransferTime& row : device.transfers) {
      TransferTime& transfer = transfers[{row.direction, row.memory}];
      transfer.count += row.count;
      transfer.total_ns += row.total_ns;
      transfer.size_bytes += row.size_bytes;
    }
    for (const PathTime& row : device.paths) {
      PathSums& path = paths[row.path];
      path.busy_ns += row.operation_ns - row.hidden_ns;
      path.idle_ns += row.idle_ns;
    }
  }
  for (const RangeTime& row : measured.breakdown.ranges) {
    paths[row.path].count = row.count;
    paths[row.path].host_ns = row.host_ns;
  }
}

}  // namespace gprof
