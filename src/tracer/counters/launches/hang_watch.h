// Says which launch it is that is measured and does not end, perhaps as its kernel waits for another one.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// [the thread that measures; one at a time]
void WatchLaunch(const char* symbol, uint64_t now_ns);
void UnwatchLaunch();
bool IsLaunchWatched();
// [writer thread]
void SayIfLong();

}  // namespace gprof::tracer
