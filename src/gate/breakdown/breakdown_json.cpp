#include "gate/breakdown/breakdown_json.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gprof/error.h"

namespace gprof {
namespace {

// Causes and parts by name, without those that are 0: documents outlive the order of an enumeration.
Json CausesJson(const DeviceTime& device) {
  Json json = Json::object();
  ForEachCause([&](Cause cause) {
    const int64_t ns = device.idle_ns[static_cast<size_t>(cause)];
    if (ns != 0) json[std::string(InfoOf(cause).name)] = ns;
  });
  return json;
}

void ReadCauses(const Json& json, DeviceTime* device) {
  int64_t known_ns = 0, all_ns = 0;
  ForEachCause([&](Cause cause) {
    device->idle_ns[static_cast<size_t>(cause)] = json.value(std::string(InfoOf(cause).name), int64_t{0});
    known_ns += device->idle_ns[static_cast<size_t>(cause)];
  });
  for (const auto& item : json.items()) all_ns += item.value().get<int64_t>();
  device->idle_ns[static_cast<size_t>(Cause::kUnknown)] += all_ns - known_ns;  // a cause of a newer build
}

Json StepsJson(const StepSums& steps) {
  Json parts = Json::object();
  for (size_t part = 0; part < kStepPartCount; ++part) {
    if (steps.parts_ns[part] != 0) parts[StepPartKey(part)] = steps.parts_ns[part];
  }
  return {{"path", steps.path},
          {"count", steps.count},
          {"total_ns", steps.total_ns},
          {"median_ns", steps.median_ns},
          {"parts", std::move(parts)}};
}

StepSums StepsFrom(const Json& json) {
  StepSums steps;
  steps.path = json.at("path").get<std::string>();
  steps.count = json.at("count").get<int64_t>();
  steps.total_ns = json.at("total_ns").get<int64_t>();
  steps.median_ns = json.at("median_ns").get<double>();
  for (size_t part = 0; part < kStepPartCount; ++part) {
    steps.parts_ns[part] = json.at("parts").value(StepPartKey(part), int64_t{0});
  }
  return steps;
}

Json KernelsJson(const std::vector<KernelTime>& kernels) {
  Json json = Json::array();
  for (const KernelTime& kernel : kernels) {
    json.push_back({{"name", kernel.name},
                    {"shape", kernel.shape},
                    {"path", kernel.path},
                    {"place", kernel.place},
                    {"count", kernel.count},
                    {"total_ns", kernel.total_ns}});
  }
  return json;
}

Json TransfersJson(const std::vector<TransferTime>& transfers) {
  Json json = Json::array();
  for (const TransferTime& transfer : transfers) {
    json.push_back({{"direction", transfer.direction},
                    {"memory", transfer.memory},
                    {"count", transfer.count},
                    {"total_ns", transfer.total_ns},
                    {"bytes", transfer.size_bytes}});
  }
  return json;
}

Json PathsJson(const std::vector<PathTime>& paths) {
  Json json = Json::array();
  for (const PathTime& path : paths) {
    json.push_back({{"path", path.path},
                    {"operations", path.operations},
                    {"operation_ns", path.operation_ns},
                    {"hidden_ns", path.hidden_ns},
                    {"idle_ns", path.idle_ns}});
  }
  return json;
}

Json DeviceJson(const DeviceTime& device) {
  return {{"device", device.device},
          {"before_ns", device.before_ns},
          {"window_ns", device.window_ns},
          {"after_ns", device.after_ns},
          {"unrecorded_ns", device.unrecorded_ns},
          {"hidden_ns", device.hidden_ns},
          {"idle_ns", CausesJson(device)},
          {"kernels", KernelsJson(device.kernels)},
          {"transfers", TransfersJson(device.transfers)},
          {"paths", PathsJson(device.paths)}};
}

DeviceTime DeviceFrom(const Json& json) {
  DeviceTime device;
  device.device = json.at("device").get<std::string>();
  device.before_ns = json.at("before_ns").get<int64_t>();
  device.window_ns = json.at("window_ns").get<int64_t>();
  device.after_ns = json.at("after_ns").get<int64_t>();
  device.unrecorded_ns = json.at("unrecorded_ns").get<int64_t>();
  device.hidden_ns = json.at("hidden_ns").get<int64_t>();
  ReadCauses(json.at("idle_ns"), &device);
  for (const Json& row : json.at("kernels")) {
    device.kernels.push_back({row.at("name").get<std::string>(), row.at("shape").get<std::string>(),
                              row.at("path").get<std::string>(), row.at("place").get<int64_t>(),
                              row.at("count").get<int64_t>(), row.at("total_ns").get<int64_t>()});
  }
  for (const Json& row : json.at("transfers")) {
    device.transfers.push_back({row.at("direction").get<std::string>(), row.at("memory").get<std::string>(),
                                row.at("count").get<int64_t>(), row.at("total_ns").get<int64_t>(),
                                row.at("bytes").get<int64_t>()});
  }
  for (const Json& row : json.at("paths")) {
    device.paths.push_back({row.at("path").get<std::string>(), row.at("operations").get<int64_t>(),
                            row.at("operation_ns").get<int64_t>(), row.at("hidden_ns").get<int64_t>(),
                            row.at("idle_ns").get<int64_t>()});
  }
  return device;
}

bool AddsUp(const DeviceTime& device, int64_t wall_ns) {
  int64_t operations_ns = 0, path_operations_ns = 0, hidden_ns = 0, path_idle_ns = 0;
  for (const KernelTime& kernel : device.kernels) operations_ns += kernel.total_ns;
  for (const TransferTime& transfer : device.transfers) operations_ns += transfer.total_ns;
  for (const PathTime& path : device.paths) {
    path_operations_ns += path.operation_ns;
    hidden_ns += path.hidden_ns;
    path_idle_ns += path.idle_ns;
  }
  return device.WallNs() == wall_ns && device.window_ns == operations_ns - device.hidden_ns + device.IdleNs() &&
         path_operations_ns == operations_ns && hidden_ns == device.hidden_ns && path_idle_ns == device.IdleNs();
}

}  // namespace

Json BreakdownJson(const Breakdown& breakdown) {
  Json json = {{"wall_ns", breakdown.wall_ns}, {"launches", breakdown.launches}};
  json["devices"] = Json::array();
  for (const DeviceTime& device : breakdown.devices) json["devices"].push_back(DeviceJson(device));
  json["ranges"] = Json::array();
  for (const RangeTime& range : breakdown.ranges) {
    json["ranges"].push_back({{"path", range.path}, {"count", range.count}, {"host_ns", range.host_ns}});
  }
  json["steps"] = breakdown.steps ? StepsJson(*breakdown.steps) : Json();
  return json;
}

Breakdown BreakdownFrom(const Json& json) {
  Breakdown breakdown;
  breakdown.is_known = true;
  breakdown.wall_ns = json.at("wall_ns").get<int64_t>();
  breakdown.launches = json.at("launches").get<int64_t>();
  for (const Json& device : json.at("devices")) breakdown.devices.push_back(DeviceFrom(device));
  for (const Json& row : json.at("ranges")) {
    breakdown.ranges.push_back(
        {row.at("path").get<std::string>(), row.at("count").get<int64_t>(), row.at("host_ns").get<int64_t>()});
  }
  if (!json.at("steps").is_null()) breakdown.steps = StepsFrom(json.at("steps"));
  if (!AddsUp(breakdown)) {
    throw Error(ExitCode::kUnreadable, "the time breakdown of a run does not add up",
                "the file was modified after it was written; create it again from the traces");
  }
  return breakdown;
}

bool AddsUp(const Breakdown& breakdown) {
  return std::all_of(breakdown.devices.begin(), breakdown.devices.end(),
                     [&](const DeviceTime& device) { return AddsUp(device, breakdown.wall_ns); });
}

}  // namespace gprof
