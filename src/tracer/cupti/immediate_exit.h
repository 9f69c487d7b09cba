// Processes that leave by _exit, as children of Python's multiprocessing do: no handler of theirs runs, or of ours.
#pragma once

namespace gprof::tracer {

// Has CUPTI deliver what is finished before such a process ends. [starting thread]
void WrapImmediateExits();

}  // namespace gprof::tracer
