// The stacks of CPU samples, as profile viewers want them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// A function at a frame; where functions were inlined, a frame has several.
struct FrameLine {
  std::string name;         // demangled; "libwork.so+0x200" without a symbol
  std::string system_name;  // as the file has it
  std::string file;         // source file, empty when not known
  uint32_t line = 0;        // 0 when not known
  uint32_t first_line = 0;  // of the function
};
// The innermost first, at least one.
std::vector<FrameLine> LinesOf(const Trace& trace, uint32_t frame);

// Of the stack, the innermost first; without the ones that are not known.
std::vector<uint32_t> FramesOf(const Trace& trace, uint32_t stack);

// Samples of a thread that waited are no time of the processor.
inline bool IsOfRunning(const CpuSample& sample) {
  return sample.sample_kind != trace::SampleKind::kPythonWaiting && sample.thread != kNone;
}

// Whether samples stand for time; otherwise each counts as one.
bool HaveTime(const Trace& trace);

}  // namespace gprof
