// What ncu printed of the 13 kernels of tests/data/counters.
#pragma once

#include <string>

#include "gprof/trace.h"

namespace gprof {

// A file of that folder, unpacked.
std::string Captured(const std::string& name);

const Trace& FullCapture();
const Trace& BasicCapture();

// "k_saxpy(float, …)": "saxpy".
std::string KernelWord(const std::string& name);

}  // namespace gprof
