// The causes of all gaps of a device, kept in little room.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/idle/gap_explainer.h"
#include "analysis/idle/gap_list.h"
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

  // Nearly all gaps are `queue` or `launch` from end to end, which bits of the DeviceSweep tell. The other gaps have,
  // for one part after the other, the call or path, and the length, where the tag says so.
  struct Piece {
    Trace::Slice ops;
    std::span<const uint64_t> others, launches;  // a bit for each operation
    std::vector<uint8_t> tags;
    std::vector<uint32_t> short_ns, calls_and_paths;
    std::vector<int64_t> long_ns;
    void Shrink();
  };

  Piece MakePiece(const GapList& gaps, size_t number, GapExplainer* explainer) const;
  void Add(const Gap& gap, std::span<const Part> parts, Piece* piece) const;

  const OpFacts& ops_;
  std::vector<Piece> pieces_;
};

// Goes along the gaps of a piece in order.
class GapCauses::Cursor {
 public:
  Cursor(const GapCauses& causes, size_t piece) : Cursor(causes, causes.pieces_[piece]) {}

  // Operations from `op` on whose gaps, where they ended any, are of that cause from end to end: until before `last`,
  // none where those of `op` are others.
  struct Run {
    uint32_t last;
    Cause cause;
  };
  Run RunFrom(uint32_t op) const {
    size_t word = (op - ops_.first) / 64;
    const uint32_t bit = (op - ops_.first) % 64;
    const bool is_launch = (launches_[word] >> bit & 1) != 0;
    const uint64_t same = is_launch ? ~uint64_t{0} : 0;
    uint64_t ends = (others_[word] | (launches_[word] ^ same)) >> bit << bit;
    while (ends == 0 && ++word < others_.size()) ends = others_[word] | (launches_[word] ^ same);
    const uint64_t length = word * 64 + (ends == 0 ? 0 : static_cast<uint64_t>(std::countr_zero(ends)));
    const uint32_t last = std::min(ops_.last, ops_.first + static_cast<uint32_t>(length));
    return {last, is_launch ? Cause::kLaunch : Cause::kQueue};
  }
  // Calls f(op) for the operations whose gaps, where they ended any, are others.
  template <class F>
  void ForEachOther(F&& f) const {
    for (size_t word = 0; word < others_.size(); ++word) {
      const uint32_t first = ops_.first + static_cast<uint32_t>(word * 64);
      for (uint64_t left = others_[word]; left != 0; left &= left - 1) {
        f(first + static_cast<uint32_t>(std::countr_zero(left)));
      }
    }
  }
  // Of the other gaps, in order: the parts of the next one, valid until the next call.
  std::span<const Part> Next(const Gap& gap);
  // Goes past the next one if it has no part of these causes, and says whether it did.
  bool SkipWithout(CauseMask wanted);

 private:
  Cursor(const GapCauses& causes, const Piece& piece)
      : causes_(causes),
        ops_(piece.ops),
        others_(piece.others),
        launches_(piece.launches),
        tag_(piece.tags.data()),
        short_ns_(piece.short_ns.data()),
        call_or_path_(piece.calls_and_paths.data()),
        long_ns_(piece.long_ns.data()) {}
  int64_t NextLength();

  const GapCauses& causes_;
  Trace::Slice ops_;
  std::span<const uint64_t> others_, launches_;
  const uint8_t* tag_;  // what is left of the piece
  const uint32_t *short_ns_, *call_or_path_;
  const int64_t* long_ns_;
  std::vector<Part> parts_;
};

}  // namespace gprof
