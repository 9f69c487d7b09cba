// The causes of all gaps of a device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analysis/causes/gaps/gap_explainer.h"
#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/host/host_facts.h"
#include "gprof/trace.h"

namespace gprof {

// Holds the parts of the gaps, which a GapList has, in the same order and the same pieces.
class GapCauses {
 public:
  GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
            const GapList& gaps, size_t threads);

  std::span<const Part> OfPiece(size_t piece) const { return pieces_[piece]; }
  // Calls f(part) for every part of every gap, in order.
  template <class F>
  void ForEach(F&& f) const {
    for (const std::vector<Part>& piece : pieces_) {
      for (const Part& part : piece) f(part);
    }
  }

 private:
  std::vector<std::vector<Part>> pieces_;
};

}  // namespace gprof
