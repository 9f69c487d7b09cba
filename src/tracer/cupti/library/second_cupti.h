// Two copies of libcupti in one process get in each other's way: only one of them hears of the GPU.
#pragma once

namespace gprof::tracer {

// [writer thread] Says so when there is a second one. Called at every flush; looks at growing intervals and at the
// last.
void LookForSecondCupti(bool is_last);

}  // namespace gprof::tracer
