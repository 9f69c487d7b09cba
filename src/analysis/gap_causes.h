// The causes of all gaps of a device, kept in little room.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/gap_explainer.h"
#include "analysis/gap_list.h"
#include "gprof/trace.h"

namespace gprof {

// Holds what does not follow from the gaps, which a GapList has, in the same order and the same pieces.
class GapCauses {
 public:
  GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
            const GapList& gaps, size_t threads);

  class Cursor;

 private:
  // A tag: what the cause is and, where it is not known, why; whose call or which path goes with it; whether it is the
  // last of its gap, whose length is what the others leave.
  static constexpr uint8_t kCodeBits = 0x1F, kLast = 0x80;
  static constexpr uint8_t kLaunchingCall = 0x20, kCall = 0x40, kPath = 0x60, kOf = 0x60;
  // The operation had been launched before the gap, and nothing is known to have held it up.
  static constexpr uint8_t kAllQueued = static_cast<uint8_t>(Cause::kQueue) | kLaunchingCall | kLast;

  // Where a program launches ahead nearly all gaps are `queue` from end to end: these have a bit that is 0 and nothing
  // else. Those of the other operations have, for one part after the other, the call or path, and the length where the
  // tag says so.
  struct Piece {
    Trace::Slice ops;
    std::vector<uint64_t> others;  // a bit for each operation
    std::vector<uint8_t> tags;
    std::vector<uint32_t> short_ns, calls_and_paths;
    std::vector<int64_t> long_ns;
    void Shrink();
  };

  Piece MakePiece(const GapList& gaps, size_t number, bool is_sequence, GapExplainer* explainer) const;
  void Add(const Gap& gap, std::span<const Part> parts, Piece* piece) const;

  const OpFacts& ops_;
  std::vector<Piece> pieces_;
};

// Goes along the gaps of a piece in order.
class GapCauses::Cursor {
 public:
  Cursor(const GapCauses& causes, size_t piece) : Cursor(causes, causes.pieces_[piece]) {}

  // The first operation from `op` on that may have ended a gap which is not `queue` from end to end; the end of the
  // piece where there is none. Next() knows nothing of gaps before the operations in between.
  uint32_t NextOther(uint32_t op) const {
    if (op == ops_.last) return op;
    size_t word = (op - ops_.first) / 64;
    uint64_t bits = others_[word] >> (op - ops_.first) % 64 << (op - ops_.first) % 64;
    while (bits == 0 && ++word < others_.size()) bits = others_[word];
    if (bits == 0) return ops_.last;
    return ops_.first + static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
  }
  // The parts of the next gap, valid until the next call.
  std::span<const Part> Next(const Gap& gap);
  // Goes past the next gap if all of it is `queue`, and says whether it did.
  bool SkipIfQueued() {
    if (*tag_ != kAllQueued) return false;
    ++tag_;
    return true;
  }

 private:
  Cursor(const GapCauses& causes, const Piece& piece)
      : causes_(causes),
        ops_(piece.ops),
        others_(piece.others),
        tag_(piece.tags.data()),
        short_ns_(piece.short_ns.data()),
        call_or_path_(piece.calls_and_paths.data()),
        long_ns_(piece.long_ns.data()) {}
  int64_t NextLength();

  const GapCauses& causes_;
  Trace::Slice ops_;
  std::span<const uint64_t> others_;
  const uint8_t* tag_;  // what is left of the piece
  const uint32_t *short_ns_, *call_or_path_;
  const int64_t* long_ns_;
  std::vector<Part> parts_;
};

}  // namespace gprof
