// For one of several processes that share the cores of a machine.
#pragma once

#include <cstddef>

namespace gprof {

// From now on UsableCores (parallel.h) is no more than this in this process: others have the rest.
void UseCores(std::size_t most);

}  // namespace gprof
