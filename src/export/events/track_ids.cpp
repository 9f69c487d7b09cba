#include "export/events/track_ids.h"

#include <fmt/format.h>

#include "analysis/result/display_names.h"
#include "base/text.h"

namespace gprof {

TrackIds::TrackIds(const Trace& trace) : trace_(trace) {
  // 0 is the idle process and thread.
  std::set<uint32_t> pids = {0}, tids = {0};
  for (const Process& process : trace.processes) pids_.push_back(Take(process.pid, &pids, &next_));
  for (const Thread& thread : trace.threads) tids_.push_back(Take(thread.tid, &tids, &next_));
  pids.erase(0);
  for (const Device& device : trace.devices) device_pids_.push_back(Take(device.ordinal, &pids, &next_));
}

uint32_t TrackIds::Take(uint32_t wanted, std::set<uint32_t>* taken, uint32_t* next) {
  if (taken->insert(wanted).second) return wanted;
  taken->insert(*next);
  return (*next)++;
}

uint32_t TrackIds::StreamTid(uint32_t device, uint32_t stream) {
  const auto [found, is_new] = stream_tids_.try_emplace({device, stream}, 0);
  if (is_new)
    found->second = stream == kNone ? NewTid() : Take(trace_.streams[stream].id, &taken_streams_[device], &next_);
  return found->second;
}

std::string ProcessTitle(const Trace& trace, uint32_t process) {
  const Process& p = trace.processes[process];
  const std::string name(trace.Text(p.name));
  const std::string title = name.empty() ? fmt::format("process {}", p.pid) : name;
  return Utf8(p.rank < 0 ? title : fmt::format("{} rank {}", title, p.rank));
}

std::vector<bool> DevicesOfSeveralProcesses(const Trace& trace) {
  std::vector<bool> has_several(trace.devices.size());
  std::vector<uint32_t> processes(trace.devices.size(), kNone);
  for (const Stream& stream : trace.streams) {
    if (stream.device == kNone || stream.process == kNone) continue;
    uint32_t& first = processes[stream.device];
    if (first == kNone) first = stream.process;
    if (first != stream.process) has_several[stream.device] = true;
  }
  return has_several;
}

std::string StreamTitle(const Trace& trace, uint32_t stream, bool has_several_processes) {
  if (stream == kNone) return "stream not known";
  const std::string name = StreamName(trace, stream);
  const uint32_t process = trace.streams[stream].process;
  if (!has_several_processes || process == kNone) return Utf8(name);
  return Utf8(fmt::format("{} of {} ({})", name, ProcessTitle(trace, process), trace.processes[process].pid));
}

std::string DeviceTitle(const Trace& trace, uint32_t device) {
  const std::string_view name = trace.Text(trace.devices[device].name);
  return Utf8(DeviceScope(trace, device) + (name.empty() ? "" : " ") + std::string(name));
}

}  // namespace gprof
