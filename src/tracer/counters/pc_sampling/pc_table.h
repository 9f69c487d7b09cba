// Samples of program counters, added up by instruction and reason in memory that outlives the process.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

struct SampledInstruction {
  uint64_t cubin = 0, offset = 0;
  trace::StringId kernel;
};
struct SourceLine {
  trace::StringId file;
  uint32_t line = 0;
};

// Once. False: there is no memory for it.
bool MakeRoomForPcSamples();
// `line_of` is asked once for each instruction and reason. False: there is no room for one more. [one thread at a time]
bool AddPcSamples(const SampledInstruction& at, trace::StringId reason, uint32_t samples,
                  SourceLine (*line_of)(const SampledInstruction&));
// What came since it was told last. [writer thread, or salvage]
void TellPcSamples();
void ForgetPcSamplesAfterFork();

}  // namespace gprof::tracer
