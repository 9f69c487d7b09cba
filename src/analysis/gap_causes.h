// The causes of all gaps of a device, kept in little room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/gap_explainer.h"
#include "analysis/gap_list.h"
#include "gprof/trace.h"

namespace gprof {

// Holds the parts alone: the list has the gaps, in the same order.
class GapCauses {
 public:
  GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
            const GapList& gaps);

  class Cursor {
   public:
    explicit Cursor(const GapCauses& causes) : causes_(causes) {}
    // The parts of the next gap, valid until the next call.
    const std::vector<Part>& Next();
    void Skip() {
      while (!causes_.parts_[next_++].is_last) {
      }
    }

   private:
    const GapCauses& causes_;
    size_t next_ = 0;
    std::vector<Part> parts_;
  };

 private:
  // A part has a call or a path, never both.
  struct PackedPart {
    int64_t duration_ns;
    uint32_t call_or_path;
    Cause cause;
    UnknownReason reason;
    bool has_path, is_last;  // is_last: of its gap
  };
  static_assert(sizeof(PackedPart) == 16);

  void Add(const std::vector<Part>& parts);

  std::vector<PackedPart> parts_;
};

}  // namespace gprof
