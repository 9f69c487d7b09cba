#include "analysis/causes/gaps/gap_causes.h"

#include <optional>
#include <utility>

#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/operations/operations.h"
#include "base/machine/parallel.h"

namespace gprof {
namespace {

// Collects the parts of gaps, those in a row with one explanation as one (IdleRun).
class Runs {
 public:
  Runs(const Trace& trace, bool may_merge) : calls_(trace.api_calls), may_merge_(may_merge) {}

  void Add(const Gap& gap, GapExplainer* explainer) {
    explainer->Explain(gap, &parts_);
    const Part& part = parts_.back();
    const size_t first = parts_.size() - 1;
    // These causes have the launching call, and nothing but what is done to it comes beside them.
    const bool is_by_launch =
        part.cause == Cause::kQueue || part.cause == Cause::kDependency || part.cause == Cause::kLaunch;
    if (!may_merge_ || !is_by_launch || part.call() == kNone || part.duration_ns != gap.DurationNs()) {
      run_ = kNoRun;
      return;
    }
    const Call call(calls_, part.call());
    if (run_ != kNoRun && parts_[run_].cause == part.cause && parts_[run_].gaps != UINT16_MAX &&
        call.kind_number() == kind_number_ && call.range() == range_) {
      parts_[run_].duration_ns += part.duration_ns;
      ++parts_[run_].gaps;
      parts_.pop_back();
      return;
    }
    run_ = first, kind_number_ = call.kind_number(), range_ = call.range();
  }
  std::vector<Part> Take() {
    parts_.shrink_to_fit();
    return std::move(parts_);
  }

 private:
  static constexpr size_t kNoRun = SIZE_MAX;

  const PackedCalls& calls_;
  bool may_merge_;
  size_t run_ = kNoRun;                           // the part that the next gap may be of
  uint32_t kind_number_ = kNone, range_ = kNone;  // of its calls
  std::vector<Part> parts_;
};

std::vector<Part> PartsOf(const Trace& trace, const GapList& gaps, size_t piece, GapExplainer* explainer) {
  Runs runs(trace, gaps.is_throughout());
  const auto explain = [&](const Gap& gap) { runs.Add(gap, explainer); };
  const Trace::Slice slice = gaps.Piece(piece);
  for (uint32_t op = slice.first; op < slice.last; ++op) {
    gaps.ForEachBefore(op, explain);
    explainer->See(op);
  }
  gaps.ForEachAtEndOf(piece, explain);
  return runs.Take();
}

}  // namespace

GapCauses::GapCauses(const Trace& trace, const HostFacts& facts, const RecordedTime& recorded, const OpFacts& ops,
                     const GapList& gaps, size_t threads)
    : pieces_(gaps.pieces()) {
  // What an operation waits for depends on all before it, but only where there are waits.
  const bool is_sequence = !facts.event_waits.IsEmpty();
  std::optional<GapExplainer> of_all;
  if (is_sequence) of_all.emplace(trace, facts, recorded, ops);
  ForEachSideBySide(pieces_.size(), is_sequence ? 1 : threads, [&](size_t i) {
    std::optional<GapExplainer> of_piece;
    if (!is_sequence) of_piece.emplace(trace, facts, recorded, ops);
    pieces_[i] = PartsOf(trace, gaps, i, is_sequence ? &*of_all : &*of_piece);
  });
}

}  // namespace gprof
