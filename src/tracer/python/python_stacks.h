// The stack of Python calls at a CUDA call: read from the frames of the calling thread, which cannot change while it is
// in C, with or without the GIL. Nothing of Python is called that takes a lock or counts a reference.
#pragma once

#include "tracer/core/collectors.h"
#include "tracer/python/python_functions.h"

namespace gprof::tracer {

void StartPythonStacks();
// A program may load its Python after it has begun to use CUDA.
void LookForPython(DrainRound* round);

inline constexpr Collector kPythonCollector = {
    .start = StartPythonStacks,
    .drain = LookForPython,
    .row_types = SetOf(RowType::kPythonFunction, RowType::kPythonStack),
    .convert = ConvertPythonRow,
};

}  // namespace gprof::tracer
