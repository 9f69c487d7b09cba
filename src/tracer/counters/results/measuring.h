// What is being measured now, for the launcher to show.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// A launch of the kernel with this mangled name is about to be measured. [one thread at a time]
void TellMeasuring(const char* symbol, uint32_t passes);
// It was.
void CountMeasured();

}  // namespace gprof::tracer
