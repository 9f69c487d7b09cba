// Lines of Python as ranges, told by src/launch/hooks/gprof_lines.py: delayed where they are what is delayed now.
#include <cstdint>

#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/nvtx/nvtx_row.h"
#include "tracer/system/system_calls.h"

// 0: nothing is recorded now, and there is nothing to end.
GPROF_EXPORT uint64_t GprofBeginLine(const char* name) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  return StartTracer() ? Start(0, PlainText(name), {}) : 0;
}

GPROF_EXPORT void GprofEndLine(uint64_t range) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  if (range != 0 && IsRecording()) End(0, range);
}
