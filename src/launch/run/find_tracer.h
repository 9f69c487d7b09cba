#pragma once

#include <string>

namespace gprof {

// Absolute path of libgprof-tracer.so, which lies at a fixed place relative to this executable, installed or built.
std::string FindTracer();

}  // namespace gprof
