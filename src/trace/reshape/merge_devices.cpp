#include "trace/reshape/merge_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace gprof {
namespace {

std::string_view HostOf(const Trace& trace, const Device& device) {
  return device.process == kNone ? std::string_view() : trace.Text(trace.processes[device.process].host);
}

std::string PlaceOf(const Trace& trace, const Device& device) {
  return fmt::format("host {} ordinal {}", HostOf(trace, device), device.properties.device);
}

// By the place on the host, the key of the one device that has been described there; "" where several were.
std::unordered_map<std::string, std::string> DescribedDevices(const std::vector<Trace>& traces) {
  std::unordered_map<std::string, std::string> described;
  for (const Trace& trace : traces) {
    for (const Device& device : trace.devices) {
      if (device.uuid == NameId{}) continue;
      const std::string key = fmt::format("uuid {}", trace.Text(device.uuid));
      const auto [at, is_new] = described.emplace(PlaceOf(trace, device), key);
      if (!is_new && at->second != key) at->second.clear();
    }
  }
  return described;
}

struct Candidate {
  MergedDevices::Source source;  // `ordinal`: the lowest that a trace knows it by
  bool has_uuid = false;
};

// The order in which the devices of one trace are numbered as well (src/trace/join/join_devices.cpp).
auto OrderOf(const std::vector<Trace>& traces, const MergedDevices::Source& s) {
  const Trace& trace = traces[s.trace];
  const Device& d = trace.devices[s.device];
  return std::make_tuple(s.ordinal, HostOf(trace, d), d.properties.pcie_domain, d.properties.pcie_bus,
                         d.properties.pcie_device, trace.Text(d.uuid), s.trace, s.device);
}

// Devices of one trace stay apart, whatever their keys.
std::vector<std::vector<uint32_t>> FindSame(const std::vector<Trace>& traces, std::vector<Candidate>* candidates) {
  const auto described = DescribedDevices(traces);
  std::unordered_map<std::string, uint32_t> by_key;
  std::vector<std::vector<uint32_t>> index(traces.size());
  for (uint32_t t = 0; t < traces.size(); ++t) {
    for (uint32_t d = 0; d < traces[t].devices.size(); ++d) {
      const Device& device = traces[t].devices[d];
      const bool has_uuid = device.uuid != NameId{};
      std::string key = has_uuid ? fmt::format("uuid {}", traces[t].Text(device.uuid)) : PlaceOf(traces[t], device);
      const auto known = described.find(key);
      if (!has_uuid && known != described.end() && !known->second.empty()) key = known->second;
      auto at = by_key.find(key);
      const bool is_taken =
          at != by_key.end() && std::find(index[t].begin(), index[t].end(), at->second) != index[t].end();
      if (at == by_key.end() || is_taken) {
        const uint32_t place = static_cast<uint32_t>(candidates->size());
        candidates->push_back({{t, d, device.ordinal}, has_uuid});
        by_key.emplace(key, place);
        index[t].push_back(place);
        continue;
      }
      Candidate& c = (*candidates)[at->second];
      const uint32_t ordinal = std::min(c.source.ordinal, device.ordinal);
      if (!c.has_uuid && has_uuid) c = {{t, d, ordinal}, true};
      c.source.ordinal = ordinal;
      index[t].push_back(at->second);
    }
  }
  return index;
}

}  // namespace

MergedDevices MergeDevices(const std::vector<Trace>& traces) {
  std::vector<Candidate> candidates;
  MergedDevices merged;
  merged.index = FindSame(traces, &candidates);
  std::vector<uint32_t> order(candidates.size()), place(candidates.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return OrderOf(traces, candidates[a].source) < OrderOf(traces, candidates[b].source);
  });
  uint32_t next = 0;
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    MergedDevices::Source source = candidates[order[i]].source;
    source.ordinal = std::max(next, source.ordinal);
    next = source.ordinal == kNone ? kNone : source.ordinal + 1;
    merged.devices.push_back(source);
  }
  for (std::vector<uint32_t>& of_trace : merged.index) {
    for (uint32_t& device : of_trace) device = place[device];
  }
  return merged;
}

}  // namespace gprof
