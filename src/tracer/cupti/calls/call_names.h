// Names of CUDA functions as CUPTI has them, and as programs and their authors know them.
#pragma once

#include <cstddef>

namespace gprof::tracer {

// Length without "_v3020" and "_ptsz", which say how a function was declared and not which it is. Short versions
// ("_v2") stay: cuMemcpyHtoD and cuMemcpyHtoD_v2 are two functions.
std::size_t PlainLength(const char* name);

// From CUDA 13 on `<<<>>>` calls __cudaLaunchKernel, which everybody knows as cudaLaunchKernel.
const char* ShownName(const char* name);

}  // namespace gprof::tracer
