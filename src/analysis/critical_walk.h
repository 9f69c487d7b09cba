// The critical path: what the end of the program waited for, and what that waited for, back to its first CUDA call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
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
    if (first == last) return;
    int64_t at_ns = StartOf(size_ - 1 - first);
    for (size_t i = size_ - first; i > size_ - last; --i) {
      const Block& block = blocks_[(i - 1) / kStepsOfABlock];
      const size_t step = (i - 1) % kStepsOfABlock;
      const int64_t from_ns = std::exchange(at_ns, at_ns + LengthOf(i - 1));
      PathPiece piece{from_ns, at_ns, block.kinds[step], kNone, kNone, kNone};
      const bool is_op = piece.kind == PathKind::kOperation || piece.kind == PathKind::kQueue;
      (is_op ? piece.op : piece.kind == PathKind::kHost ? piece.thread : piece.call) = block.indexes[step];
      f(piece);
    }
  }

  // From the end to the beginning: a piece from `from_ns` to where the one before it began, or to the end. `index`: the
  // operation, call or thread, whichever the kind is about.
  void AddBefore(int64_t from_ns, PathKind kind, uint32_t index);

 private:
  // 9 bytes a step, in blocks so that it grows without a copy of what there is.
  static constexpr size_t kStepsOfABlock = 65'536;
  static constexpr uint32_t kLong = UINT32_MAX;  // 4.3 s and more: in long_ns_
  struct Block {
    int64_t end_ns;  // of its first step, the last in time
    std::vector<uint32_t> lengths_ns, indexes;
    std::vector<PathKind> kinds;
  };

  int64_t LengthOf(size_t i) const {
    const uint32_t ns = blocks_[i / kStepsOfABlock].lengths_ns[i % kStepsOfABlock];
    return ns != kLong ? ns : LongLengthOf(i);
  }
  int64_t LongLengthOf(size_t i) const;
  int64_t StartOf(size_t i) const;

  std::vector<Block> blocks_;
  size_t size_ = 0;
  int64_t begin_ns_ = 0;                             // of the step added last
  std::vector<std::pair<size_t, int64_t>> long_ns_;  // by step
};

// Of the process whose work ended last. Without calls and operations there is no piece.
CriticalPath FindCriticalPath(const AnalysisInput& input);

}  // namespace gprof
