// The critical path: what the end of the program waited for, and what that waited for, back to its first CUDA call.
#pragma once

#include <cstddef>
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

class CriticalPath {
 public:
  uint32_t process = kNone;
  int64_t start_ns = 0, end_ns = 0;  // first call or operation of the process; its last end

  // How many pieces it has.
  size_t size() const { return size_; }

  // Calls f(piece) in order of time; the pieces cover all between, and none overlap.
  template <class F>
  void ForEach(F&& f) const {
    ForEach(0, size_, f);
  }
  // The same for those from `first` to before `last`.
  template <class F>
  void ForEach(size_t first, size_t last, F&& f) const {
    for (size_t i = size_ - first; i > size_ - last; --i) {
      const Step& step = At(i - 1);
      PathPiece piece{step.start_ns, i == 1 ? end_ns : At(i - 2).start_ns, step.kind, kNone, kNone, kNone};
      const bool is_op = step.kind == PathKind::kOperation || step.kind == PathKind::kQueue;
      (is_op ? piece.op : step.kind == PathKind::kHost ? piece.thread : piece.call) = step.index;
      f(piece);
    }
  }

  // From the end to the beginning: a piece from `from_ns` to where the one before it began, or to the end. `index`: the
  // operation, call or thread, whichever the kind is about.
  void AddBefore(int64_t from_ns, PathKind kind, uint32_t index) {
    if (size_ % kStepsOfABlock == 0) blocks_.emplace_back().reserve(kStepsOfABlock);
    blocks_.back().push_back({from_ns, index, kind});
    ++size_;
  }

 private:
  struct Step {
    int64_t start_ns;
    uint32_t index;
    PathKind kind;
  };
  // Blocks of 1 MiB, so that it grows without a copy of what there is.
  static constexpr size_t kStepsOfABlock = 65'536;
  const Step& At(size_t i) const { return blocks_[i / kStepsOfABlock][i % kStepsOfABlock]; }

  std::vector<std::vector<Step>> blocks_;
  size_t size_ = 0;
};

// Of the process whose work ended last. Without calls and operations there is no piece.
CriticalPath FindCriticalPath(const AnalysisInput& input);

}  // namespace gprof
