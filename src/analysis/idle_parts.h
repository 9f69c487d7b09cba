// The idle time of a device, gap by gap or in pieces, each with its cause.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/gaps.h"
#include "analysis/shared_facts.h"
#include "gprof/analysis.h"

namespace gprof {

// Goes over pieces of the GapList, from `first` to before `last`, in order. Calls queued(first, last) for operations in a
// row: where the device was idle before them (GapList::ShortIdleBefore; none is kLong) that was `queue` from end to end.
// Calls f(gap, causes) for the gaps before the others, which has to call causes.Next(gap) or get past the gap with
// causes.SkipIfQueued(), then seen(op), where it is given, for the operation.
template <class Queued, class F, class... Seen>
void ForEachGapOfPieces(const AnalysisInput& input, uint32_t device, size_t first, size_t last, Queued&& queued, F&& f,
                        Seen&&... seen) {
  if (first == last) return;
  const GapCauses& all_causes = input.shared().gap_causes(device);
  const GapList& gaps = input.shared().gaps(device);
  for (size_t piece = first; piece < last; ++piece) {
    GapCauses::Cursor causes(all_causes, piece);
    const auto explain = [&](const Gap& gap) { f(gap, causes); };
    const Trace::Slice ops = gaps.Piece(piece);
    for (uint32_t op = ops.first; op < ops.last; ++op) {
      const uint32_t other = causes.NextOther(op);
      if (op < other) queued(op, other);
      op = other;
      if (op == ops.last) break;
      gaps.ForEachBefore(op, explain);
      (seen(op), ...);
    }
    gaps.ForEachAtEndOf(piece, explain);
  }
}

// Calls f(gap, parts) for every gap of the device, in order, and seen(op), where it is given, for every operation once
// the gaps before it are done with. Returns the length of the window.
template <class F, class... Seen>
int64_t ForEachExplainedGap(const AnalysisInput& input, uint32_t device, F&& f, Seen&&... seen) {
  const GapList& gaps = input.shared().gaps(device);
  const auto add_queued = [&](uint32_t first, uint32_t last) {
    const std::span<const uint32_t> idle_ns = gaps.ShortIdleBefore(first, last);
    for (uint32_t op = first; op < last; ++op) {
      if (const int64_t gap_ns = idle_ns[op - first]; gap_ns != 0) {
        const int64_t end_ns = input.trace().ops[op].start_ns;
        const Part part{Cause::kQueue, gap_ns, input.shared().ops().CallOf(op), {}, UnknownReason::kIsKnown};
        f(Gap{end_ns - gap_ns, end_ns, op, false, false, device}, std::span<const Part>(&part, 1));
      }
      (seen(op), ...);
    }
  };
  ForEachGapOfPieces(
      input, device, 0, gaps.pieces(), add_queued,
      [&](const Gap& gap, GapCauses::Cursor& causes) { f(gap, causes.Next(gap)); }, seen...);
  return gaps.window_ns();
}

// The same without gaps that are `queue` from end to end, which most are: for those who look for other causes.
template <class F>
void ForEachGapNotQueued(const AnalysisInput& input, uint32_t device, F&& f) {
  ForEachGapOfPieces(
      input, device, 0, input.shared().gaps(device).pieces(), [](uint32_t, uint32_t) {},
      [&](const Gap& gap, GapCauses::Cursor& causes) {
        if (!causes.SkipIfQueued()) f(gap, causes.Next(gap));
      });
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
