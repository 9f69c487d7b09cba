// Where the time of a run went, in parts that sum to the whole: what a comparison takes apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes.h"
#include "gprof/trace.h"

namespace gprof {

// A kernel by its name and launch shape.
struct KernelTime {
  std::string name;               // demangled
  std::string shape;              // "1024x1x1 of 256x1x1"
  int64_t count = 0, total_ns = 0;
};

// Copies and fills by direction and memory: "host to device, pageable to device".
struct TransferTime {
  std::string what;
  int64_t count = 0, total_ns = 0, size_bytes = 0;
};

// An NVTX path; empty is what lies in no range.
struct PathTime {
  std::string path;
  int64_t count = 0;              // ranges with this path
  int64_t host_ns = 0;            // in them, children included
  int64_t operation_ns = 0;       // of operations launched in them and in no inner range
  int64_t idle_ns = 0;            // idle time that the idle table gives to this path
};

// The time of a GPU: before_ns + window_ns + after_ns is the recorded time of the run, and
// window_ns = sum of idle_ns + sum of operation times - overlap_ns.
struct DeviceTime {
  std::string device;             // "gpu0"
  int64_t before_ns = 0, window_ns = 0, after_ns = 0;
  int64_t overlap_ns = 0;         // sum of all operations' times less the time with at least one running
  std::array<int64_t, kCauseCount> idle_ns{};  // by cause
  std::vector<KernelTime> kernels;             // sorted by name, then shape
  std::vector<TransferTime> transfers;         // sorted by what
  std::vector<PathTime> paths;                 // sorted by path
};

struct Breakdown {
  int64_t wall_ns = 0;            // from the first to the last record
  int64_t launches = 0;
  std::vector<DeviceTime> devices;
};

Breakdown BreakDown(const Trace& trace);

}  // namespace gprof
