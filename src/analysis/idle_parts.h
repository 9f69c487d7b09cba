// The idle time of a device, gap by gap or in pieces, each with its cause.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/gaps.h"
#include "analysis/shared_facts.h"
#include "gprof/analysis.h"

namespace gprof {

// Calls f(gap, parts) for every gap of the device, in order, and seen(op), where it is given, for every operation once the gaps before it
// are done with. Returns the length of the window.
template <class F, class... Seen>
int64_t ForEachExplainedGap(const AnalysisInput& input, uint32_t device, F&& f, Seen&&... seen) {
  GapCauses::Cursor causes(input.shared().gap_causes(device));
  return input.shared().gaps(device).ForEach([&](const Gap& gap) { f(gap, causes.Next(gap)); }, seen...);
}

// The same for the pieces of the GapList from `first` to before `last`.
template <class F>
void ForEachExplainedGapOf(const AnalysisInput& input, uint32_t device, size_t first, size_t last, F&& f) {
  if (first == last) return;
  GapCauses::Cursor causes(input.shared().gap_causes(device), first);
  for (size_t piece = first; piece < last; ++piece) {
    input.shared().gaps(device).ForEachOfPiece(
        piece, [&](const Gap& gap) { f(gap, causes.Next(gap)); }, [](uint32_t) {});
  }
}

// The same as the first without gaps that are `queue` from end to end, which most are: for those who look for other causes.
template <class F>
void ForEachGapNotQueued(const AnalysisInput& input, uint32_t device, F&& f) {
  GapCauses::Cursor causes(input.shared().gap_causes(device));
  input.shared().gaps(device).ForEachWanted([&] { return !causes.SkipIfQueued(); },
                                            [&](const Gap& gap) { f(gap, causes.Next(gap)); });
}

// The same as the first with f(start_ns, end_ns, part) for every part of every gap.
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
