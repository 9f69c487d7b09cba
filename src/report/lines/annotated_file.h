// What each line of a source file did with the GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

struct LineFigures {
  uint32_t line = 0;
  int64_t gpu_ns = 0;    // of operations that it launched
  int64_t idle_ns = 0;   // of the GPU before those, or during calls of the line
  int64_t wait_ns = 0;   // for the GPU
  int64_t launches = 0;  // of kernels, copies and memsets
  int64_t samples = 0;   // of instructions on the GPU
};

struct AnnotatedFile {
  std::string path;                // as the trace has it
  std::vector<LineFigures> lines;  // those that have any, in order
  LineFigures sum, others;         // of these, and of lines of other files and of none
  bool has_calls = false;          // some call of the trace has a line of Python
  bool has_samples = false;        // some instruction was sampled
};

// `word`: the file, by its path or the end of it. Throws Error: kUsage for a file that is not in the trace or several
// that are meant, kInconclusive where the trace has no lines at all.
AnnotatedFile AnnotateFile(const AnalysisInput& input, std::string_view word);

}  // namespace gprof
