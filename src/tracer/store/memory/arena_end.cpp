// The section is mapped from a file in whole pages, so nothing else may share its last one. Linked last, this fills it.
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {

extern unsigned char arena_end[4096];
alignas(4096) unsigned char arena_end[4096] GPROF_IN_ARENA = {};

}  // namespace gprof::tracer
