// Which part of training the ranges of a trace are: the forward pass, the backward pass, steps of an optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Autograd going once through what the forward pass left.
struct BackwardPass {
  uint32_t process = kNone;
  int64_t start_ns = 0, end_ns = 0;
  // Of each gradient that it gave to a parameter, in order; those whose operators do not tell are left out.
  std::vector<int64_t> gradient_bytes;
};

class TrainingParts {
 public:
  explicit TrainingParts(const Trace& trace);

  enum class Part : uint8_t { kOther, kForward, kBackward, kOptimizer };
  // By the innermost range around that is one of these.
  struct PartOfTraining {
    Part part = Part::kOther;
    // Of the forward pass, the backward pass in which the operator's gradient is computed; of the backward pass, that
    // one; of an optimizer, the range of its step.
    uint32_t index = kNone;
  };
  PartOfTraining PlaceOf(uint32_t range) const { return range < places_.size() ? places_[range] : PartOfTraining(); }

  // By process, then in order of time; they do not overlap.
  const std::vector<BackwardPass>& passes() const { return passes_; }
  std::span<const BackwardPass> PassesOf(uint32_t process) const;
  // End of the last step of an optimizer; nothing where there is none.
  std::optional<int64_t> LastStepEnd(uint32_t process) const;

 private:
  enum class Kind : uint8_t { kOther, kEngine, kBackward, kGradient, kOptimizer };
  struct Node;

  void ReadNames();
  Kind KindOf(uint32_t range) const { return kinds_[trace_.ranges.items()[range].traits]; }
  std::vector<Node> NodesOf(const std::vector<uint32_t>& links) const;
  void FindPasses(const std::vector<Node>& nodes);
  uint32_t PassAt(uint32_t process, int64_t time_ns) const;
  PartOfTraining OwnPlace(uint32_t range) const;
  uint32_t ProcessOf(uint32_t range) const;

  const Trace& trace_;
  std::vector<Kind> kinds_;           // by the traits of ranges
  std::vector<int64_t> first_bytes_;  // the same: what the first input takes, of kGradient
  std::vector<BackwardPass> passes_;
  std::vector<PartOfTraining> places_;  // by range
};

}  // namespace gprof
