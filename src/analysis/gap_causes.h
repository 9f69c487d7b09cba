// The causes of all gaps of a device, kept in little room.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Of one part after the other: the call or path, and the length, are there where the tag says so.
  struct Piece {
    std::vector<uint8_t> tags;
    std::vector<uint32_t> short_ns, calls_and_paths;
    std::vector<int64_t> long_ns;
    void Shrink();
  };

  void Add(const Gap& gap, const std::vector<Part>& parts, Piece* piece) const;

  const OpFacts& ops_;
  std::vector<Piece> pieces_;
};

// Goes along the gaps of the list, all of them and in order.
class GapCauses::Cursor {
 public:
  explicit Cursor(const GapCauses& causes) : causes_(causes) { BeginPiece(causes.pieces_.front()); }
  // The parts of the next gap, valid until the next call.
  const std::vector<Part>& Next(const Gap& gap);
  void Skip();

 private:
  void BeginPiece(const Piece& piece);
  uint8_t NextTag() {
    while (tag_ == last_tag_) BeginPiece(causes_.pieces_[++piece_]);
    return *tag_++;
  }
  int64_t NextLength();

  const GapCauses& causes_;
  size_t piece_ = 0;
  const uint8_t *tag_, *last_tag_;  // what is left of the piece
  const uint32_t *short_ns_, *call_or_path_;
  const int64_t* long_ns_;
  std::vector<Part> parts_;
};

}  // namespace gprof
