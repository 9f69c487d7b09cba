// The idle time of a device, gap by gap or in pieces, each with its cause.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/facts/shared_facts.h"
#include "analysis/idle/gaps.h"
#include "gprof/analysis.h"

namespace gprof {

// Fetches the operations whose gaps no run tells of, and those beside them, some words of bits before they are reached:
// who adds up runs looks at nothing between.
class OthersAhead {
 public:
  OthersAhead(const Trace& trace, const DeviceSweep& sweep, uint32_t first)
      : items_(trace.ops.items().data() + sweep.ops.first),
        others_(sweep.others),
        first_(sweep.ops.first),
        next_((first - first_) / kBits) {}

  // For operations in order.
  void Reach(uint32_t op) {
    const size_t end = std::min(others_.size(), (op - first_) / kBits + kWordsAhead);
    for (; next_ < end; ++next_) {
      for (uint64_t left = others_[next_]; left != 0; left &= left - 1) {
        const PackedOps::Item* const item = items_ + next_ * kBits + static_cast<size_t>(std::countr_zero(left));
        for (const int beside : {-1, 0, 1}) __builtin_prefetch(item + beside);
      }
    }
  }

 private:
  static constexpr size_t kBits = 64, kWordsAhead = 4;

  const PackedOps::Item* items_;
  std::span<const uint64_t> others_;  // a bit for each operation
  uint32_t first_;
  size_t next_;  // word of them
};

// Goes over pieces of the GapList, from `first` to before `last`, in order. Calls plain(cause, first, last) for
// operations in a row: where the device was idle before them (GapList::ShortIdleBefore; none is kLong) it was for that
// cause from end to end, `queue` or `launch`, by the call that launched the operation. Calls f(gap, causes) for the
// gaps before the others, which has to call causes.Next(gap) unless causes.SkipWithout() got past it, then seen(op),
// where it is given, for the operation.
template <class Plain, class F, class... Seen>
void ForEachGapOfPieces(const AnalysisInput& input, uint32_t device, size_t first, size_t last, Plain&& plain, F&& f,
                        Seen&&... seen) {
  if (first == last) return;
  const GapCauses& all_causes = input.shared().gap_causes(device);
  const GapList& gaps = input.shared().gaps(device);
  for (size_t piece = first; piece < last; ++piece) {
    GapCauses::Cursor causes(all_causes, piece);
    const auto explain = [&](const Gap& gap) { f(gap, causes); };
    const Trace::Slice ops = gaps.Piece(piece);
    OthersAhead others(input.trace(), input.shared().ops().of_device(device), ops.first);
    for (uint32_t op = ops.first; op < ops.last;) {
      others.Reach(op);
      const GapCauses::Cursor::Run run = causes.RunFrom(op);
      if (op < run.last) {
        plain(run.cause, op, run.last);
        op = run.last;
      } else {
        gaps.ForEachBefore(op, explain);
        (seen(op), ...);
        ++op;
      }
    }
    gaps.ForEachAtEndOf(piece, explain);
  }
}

// Calls f(gap, parts) for the gaps before operations in a row that are of the cause from end to end, and seen(op) for
// every operation.
template <class F, class... Seen>
void ForEachPlainGap(const AnalysisInput& input, uint32_t device, Cause cause, uint32_t first, uint32_t last, F&& f,
                     Seen&&... seen) {
  const std::span<const uint32_t> idle_ns = input.shared().gaps(device).ShortIdleBefore(first, last);
  for (uint32_t op = first; op < last; ++op) {
    if (const int64_t gap_ns = idle_ns[op - first]; gap_ns != 0) {
      const int64_t end_ns = input.trace().ops[op].start_ns;
      const Part part{cause, gap_ns, input.shared().ops().CallOf(op), {}, UnknownReason::kIsKnown};
      f(Gap{end_ns - gap_ns, end_ns, op, false, false, device}, std::span<const Part>(&part, 1));
    }
    (seen(op), ...);
  }
}

// Calls f(gap, parts) for every gap of the device, in order, and seen(op), where it is given, for every operation once
// the gaps before it are done with. Returns the length of the window.
template <class F, class... Seen>
int64_t ForEachExplainedGap(const AnalysisInput& input, uint32_t device, F&& f, Seen&&... seen) {
  const GapList& gaps = input.shared().gaps(device);
  ForEachGapOfPieces(
      input, device, 0, gaps.pieces(),
      [&](Cause cause, uint32_t first, uint32_t last) {
        ForEachPlainGap(input, device, cause, first, last, f, seen...);
      },
      [&](const Gap& gap, GapCauses::Cursor& causes) { f(gap, causes.Next(gap)); }, seen...);
  return gaps.window_ns();
}

// The same for gaps that have a part of one of the causes, neither `queue` nor `launch`: few are looked at.
template <class F>
void ForEachGapWith(const AnalysisInput& input, uint32_t device, CauseMask wanted, F&& f) {
  const GapCauses& all_causes = input.shared().gap_causes(device);
  const GapList& gaps = input.shared().gaps(device);
  for (size_t piece = 0; piece < gaps.pieces(); ++piece) {
    GapCauses::Cursor causes(all_causes, piece);
    const auto is_wanted = [&] { return !causes.SkipWithout(wanted); };
    const auto explain = [&](const Gap& gap) { f(gap, causes.Next(gap)); };
    causes.ForEachOther([&](uint32_t op) { gaps.ForEachWantedBefore(op, is_wanted, explain); });
    gaps.ForEachAtEndOf(piece, [&](const Gap& gap) { is_wanted() ? explain(gap) : void(); });
  }
}

// The same as ForEachExplainedGap with f(start_ns, end_ns, part) for every part of every gap.
template <class F, class... Seen>
int64_t ForEachIdlePart(const AnalysisInput& input, uint32_t device, F&& f, Seen&&... seen) {
  const auto add = [&](const Gap& gap, std::span<const Part> parts) {
    int64_t at_ns = gap.start_ns;
    for (const Part& part : parts) {
      f(at_ns, at_ns + part.duration_ns, part);
      at_ns += part.duration_ns;
    }
  };
  return ForEachExplainedGap(input, device, add, seen...);
}

}  // namespace gprof
