// The section is mapped from a file in whole pages, so nothing else may share its last one. Linked last, this fills it.
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/largest_page.h"

namespace gprof::tracer {

extern unsigned char arena_end[kLargestPage];
alignas(kLargestPage) unsigned char arena_end[kLargestPage] GPROF_IN_ARENA = {};

}  // namespace gprof::tracer
