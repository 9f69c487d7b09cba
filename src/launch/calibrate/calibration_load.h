// A small CUDA program of our own: does each kind of operation in turns with recording (between cuProfilerStart and
// cuProfilerStop) and without, and says what took longer. Runs under the tracer, in a process of its own.
#pragma once

#include <string>

namespace gprof {

enum class LoadKind {
  kOperations,  // all but what follows
  kGraphNodes,  // a graph that is recorded node by node
};

// Writes lines of gprof/trace/calibration_file.h to the file. Throws Error.
void RunCalibrationLoad(LoadKind kind, const std::string& out_path);

}  // namespace gprof
