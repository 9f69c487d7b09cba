// What hooks of frameworks tell the tracer of places in a program, as plain C: the functions that libgprof-tracer.so
// exports for them, and what they take. src/launch/hooks/gprof_graphs.py lays it out with ctypes, so that a field is
// only ever appended.
#pragma once

#include <cstdint>

//   void GprofTellPlace(const char* place): the calling thread is there now, at "A / B"; empty: nowhere in particular
//   void GprofTellGeneratedLines(const GeneratedLinesCall*)
namespace gprof::trace {

// Texts end with a zero; what is not known is null.
struct GeneratedLinesCall {
  const char* file = nullptr;
  uint64_t first_line = 0, last_line = 0;
  const char* source_file = nullptr;
  uint64_t source_line = 0;
  const char* function = nullptr;
  const char* place = nullptr;  // modules of the source, outermost first: "A / B"
};

}  // namespace gprof::trace
