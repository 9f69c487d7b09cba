// A part of a trace: the same model with less in it, so that every analysis works on it as on the whole.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Which kernels, by their demangled names. What a text means is known to who reads it from the command line.
struct KernelPattern {
  std::string text;
  std::function<bool(std::string_view)> matches;
};

struct Selection {
  std::vector<uint32_t> devices;       // by ordinal
  std::vector<std::string> processes;  // pid or name
  std::vector<std::string> threads;    // tid or name
  std::vector<std::string> streams;    // id or name
  KernelPattern kernel;                // without text: all
  std::string nvtx;                    // path of ranges, * and ? stand for any characters and any one
  std::optional<Interval> time;        // from the start of the trace
  std::optional<uint32_t> capture;     // number
  bool IsEmpty() const {
    return devices.empty() && processes.empty() && threads.empty() && streams.empty() && kernel.text.empty() &&
           nvtx.empty() && !time && !capture;
  }
};

// What is left of `trace`:
//   devices, streams, kernel   operations on the GPU; the calls and ranges of the host stay, as they explain the gaps
//   processes, threads         what these did, and the operations that they launched
//   nvtx                       the ranges with that path, what is within them, and the operations launched there; idle
//                              time counts inside the ranges only
//   time, capture              what overlaps with it, clipped to it, to the nanosecond. The call of an operation
//                              that is left stays, without a length where it lies before
// Health, losses, notices and the span of the trace are those of the whole. Throws Error for what selects nothing.
Trace Select(Trace trace, const Selection& selection);

}  // namespace gprof
