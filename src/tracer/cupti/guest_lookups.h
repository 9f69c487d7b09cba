// Profilers that look for functions of libcupti while they run (JAX, Triton Proton) find the copy that we use, and
// there what a guest is given. [starting thread]
#pragma once

namespace gprof::tracer {

void WrapLookups();

}  // namespace gprof::tracer
