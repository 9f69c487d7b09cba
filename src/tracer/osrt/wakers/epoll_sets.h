// Which descriptor an event of epoll is about: programs say what they want to be told with it.
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Of the set, events with `data` are about the descriptor.
void RememberWatched(int set, uint64_t data, int descriptor);
// -1: not known.
int WatchedDescriptor(int set, uint64_t data);

}  // namespace gprof::tracer
