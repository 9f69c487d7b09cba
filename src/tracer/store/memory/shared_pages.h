// Pages that the processes of a run share, in its folder (include/gprof/trace/run_folder.h).
#pragma once

#include <cstddef>

namespace gprof::tracer {

// Made by the first that asks, full of zeros. Null where there is none.
void* MapSharedPage(const char* name, std::size_t bytes);

}  // namespace gprof::tracer
