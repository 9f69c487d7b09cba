// The causes of all gaps of a device, kept in little room.
#pragma once

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
  // Most gaps: the operation had been launched before it, and nothing is known to have held it up.
  static constexpr uint8_t kAllQueued = static_cast<uint8_t>(Cause::kQueue) | kLaunchingCall | kLast;

  // Of one part after the other: the call or path, and the length, are there where the tag says so.
  struct Piece {
    std::vector<uint8_t> tags;
    std::vector<uint32_t> short_ns, calls_and_paths;
    std::vector<int64_t> long_ns;
    void Shrink();
  };

  void Add(const Gap& gap, std::span<const Part> parts, Piece* piece) const;

  const OpFacts& ops_;
  std::vector<Piece> pieces_;
};

// Goes along the gaps of the list in order, from the first one of a piece.
class GapCauses::Cursor {
 public:
  explicit Cursor(const GapCauses& causes, size_t piece = 0) : causes_(causes), piece_(piece) {
    BeginPiece(causes.pieces_[piece]);
  }
  // The parts of the next gap, valid until the next call.
  std::span<const Part> Next(const Gap& gap) {
    const uint8_t tag = NextTag();
    if (tag != kAllQueued) return PartsFrom(tag, gap);
    queued_.duration_ns = gap.DurationNs();
    queued_.call = causes_.ops_.CallOf(gap.after);
    return {&queued_, 1};
  }
  // Goes past the next gap if all of it is `queue`, and says whether it did.
  bool SkipIfQueued() {
    if (tag_ == last_tag_) BeginPieceWithTags();
    if (*tag_ != kAllQueued) return false;
    ++tag_;
    return true;
  }

 private:
  void BeginPiece(const Piece& piece);
  void BeginPieceWithTags() {
    while (tag_ == last_tag_) BeginPiece(causes_.pieces_[++piece_]);
  }
  uint8_t NextTag() {
    if (tag_ == last_tag_) BeginPieceWithTags();
    return *tag_++;
  }
  int64_t NextLength();
  std::span<const Part> PartsFrom(uint8_t tag, const Gap& gap);

  const GapCauses& causes_;
  size_t piece_;
  const uint8_t *tag_, *last_tag_;  // what is left of the piece
  const uint32_t *short_ns_, *call_or_path_;
  const int64_t* long_ns_;
  Part queued_{Cause::kQueue, 0, kNone, {}, UnknownReason::kIsKnown};
  std::vector<Part> parts_;
};

}  // namespace gprof
