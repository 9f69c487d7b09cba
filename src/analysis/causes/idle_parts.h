// The idle time of a device: gap by gap, part by part, or in runs of gaps, each with its cause.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "analysis/causes/shared_causes.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/shared_facts.h"
#include "gprof/analysis.h"

namespace gprof {

// One gap and its parts. Or gaps in a row, each explained from end to end by the call that launched what ended it: for
// the same cause, by calls of one kind in one NVTX range. They have one part, as long as all of them.
struct IdleRun {
  std::span<const Part> parts;
  Gap first;
  uint32_t gaps = 1;
  uint32_t last_after = kNone;  // Gap::after of the last one
  int64_t end_ns = 0;           // of the last one
  int64_t longest_ns = 0;       // of any of them
};

// Calls f(run) for the gaps of some pieces of the GapList, from `first` to before `last`, in order.
template <class F>
void ForEachIdleRun(const AnalysisInput& input, uint32_t device, size_t first, size_t last, F&& f) {
  const GapList& gaps = input.shared().gaps(device);
  if (first == last || !gaps.has_window()) return;
  const GapCauses& causes = input.causes().of_gaps(device);
  for (size_t piece = first; piece < last; ++piece) {
    const Part* next = causes.OfPiece(piece).data();
    const auto one = [&](const Gap& gap) {
      const Part* const begin = next;
      while (!next++->is_last) continue;
      f(IdleRun{{begin, next}, gap, 1, gap.after, gap.end_ns, gap.DurationNs()});
    };
    const Trace::Slice ops = gaps.Piece(piece);
    for (uint32_t op = ops.first; op < ops.last; ++op) {
      if (gaps.IdleBefore(op) == 0) continue;
      if (!gaps.is_throughout() || next->gaps == 1) {
        gaps.ForEachBefore(op, one);
        continue;
      }
      IdleRun run{{next, 1}, gaps.GapEndedBy(op), next->gaps, op, 0, 0};
      for (uint32_t left = run.gaps; left > 0; ++op) {
        const int64_t idle_ns = gaps.IdleBefore(op);
        run.longest_ns = std::max(run.longest_ns, idle_ns);
        left -= idle_ns != 0;
      }
      run.last_after = --op;
      run.end_ns = gaps.GapEndedBy(op).end_ns;
      f(run);
      ++next;
    }
    gaps.ForEachAtEndOf(piece, one);
  }
}

template <class F>
void ForEachIdleRun(const AnalysisInput& input, uint32_t device, F&& f) {
  ForEachIdleRun(input, device, 0, input.shared().gaps(device).pieces(), f);
}

// Calls f(gap, parts) for every gap of a run, in order.
template <class F>
void ForEachGapOf(const AnalysisInput& input, const IdleRun& run, F&& f) {
  if (run.gaps == 1) return f(run.first, run.parts);
  const GapList& gaps = input.shared().gaps(run.first.device);
  for (uint32_t op = run.first.after; op <= run.last_after; ++op) {
    if (gaps.IdleBefore(op) == 0) continue;
    Part part(run.parts.front().cause, gaps.IdleBefore(op), input.shared().ops().CallOf(op));
    part.is_last = true;
    f(gaps.GapEndedBy(op), std::span<const Part>(&part, 1));
  }
}

// Calls f(gap, parts) for every gap of the device, in order. Returns the length of the window.
template <class F>
int64_t ForEachExplainedGap(const AnalysisInput& input, uint32_t device, F&& f) {
  ForEachIdleRun(input, device, [&](const IdleRun& run) { ForEachGapOf(input, run, f); });
  return input.shared().gaps(device).window_ns();
}

// Calls f(start_ns, end_ns, part) for every part of a gap.
template <class F>
void ForEachPartOf(const Gap& gap, std::span<const Part> parts, F&& f) {
  int64_t at_ns = gap.start_ns;
  for (const Part& part : parts) {
    f(at_ns, at_ns + part.duration_ns, part);
    at_ns += part.duration_ns;
  }
}

// The same for every gap of the device. Returns the length of the window.
template <class F>
int64_t ForEachIdlePart(const AnalysisInput& input, uint32_t device, F&& f) {
  return ForEachExplainedGap(input, device,
                             [&](const Gap& gap, std::span<const Part> parts) { ForEachPartOf(gap, parts, f); });
}

}  // namespace gprof
