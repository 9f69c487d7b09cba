// What is mapped over the tracer's own section is mapped in whole pages, of which kernels have several sizes.
#pragma once

#include <cstddef>

namespace gprof::tracer {

#ifdef __aarch64__
inline constexpr std::size_t kLargestPage = 64 * 1024;
#else
inline constexpr std::size_t kLargestPage = 4096;
#endif

}  // namespace gprof::tracer
