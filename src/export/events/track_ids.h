// Numbers for processes and threads where viewers know nothing else: each is given out once. They are those of the
// trace, but where two hosts or two processes have the same one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class TrackIds {
 public:
  explicit TrackIds(const Trace& trace);

  uint32_t Pid(uint32_t process) const { return pids_[process]; }
  uint32_t Tid(uint32_t thread) const { return tids_[thread]; }
  uint32_t NewTid() { return next_++; }  // for a lane
  // GPUs stand beside the processes, with a number of their own, and streams beside the threads.
  uint32_t DevicePid(uint32_t device) const { return device_pids_[device]; }
  uint32_t StreamTid(uint32_t device, uint32_t stream);

 private:
  static uint32_t Take(uint32_t wanted, std::set<uint32_t>* taken, uint32_t* next);

  const Trace& trace_;
  uint32_t next_ = 1'000'000'000;  // above what Linux numbers processes and threads with
  std::vector<uint32_t> pids_, tids_, device_pids_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stream_tids_;  // device and stream
  std::map<uint32_t, std::set<uint32_t>> taken_streams_;           // by device
};

// "name", or where it has none "process 4711".
std::string ProcessTitle(const Trace& trace, uint32_t process);
// Where the process of a stream has to be told, by device.
std::vector<bool> DevicesOfSeveralProcesses(const Trace& trace);
// "train (4711)", with its stream named as in reports. `process` is told where several use the GPU.
std::string StreamTitle(const Trace& trace, uint32_t stream, bool has_several_processes);
// "gpu0 NVIDIA H200"
std::string DeviceTitle(const Trace& trace, uint32_t device);

}  // namespace gprof
