// The critical path: what the end of the program waited for, and what that waited for, back to its first CUDA call.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

enum class PathKind : uint8_t {
  kOperation,  // `op` ran
  kQueue,      // `op` was launched and nothing it is known to wait for was left, but it had not started
  kCall,       // `call` ran, and nothing on a GPU is known that it waited for
  kReturn,     // the operation that `call` waited for was done, and it had not returned
  kHost,       // `thread` was between calls
  kUnknown,    // nothing is known to lead there
};

struct PathPiece {
  int64_t start_ns = 0, end_ns = 0;
  PathKind kind = PathKind::kUnknown;
  uint32_t op = kNone, call = kNone, thread = kNone;
};

struct CriticalPath {
  uint32_t process = kNone;
  int64_t start_ns = 0, end_ns = 0;  // first call or operation of the process; its last end
  std::vector<PathPiece> pieces;     // in order of time; they cover all between, and none overlap
};

// Of the process whose work ended last. Without calls and operations there is no piece.
CriticalPath FindCriticalPath(const AnalysisInput& input);

}  // namespace gprof
