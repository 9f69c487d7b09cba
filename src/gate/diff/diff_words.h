// What a comparison found, in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/diff/diff.h"

namespace gprof {

std::string_view ChangeName(Change change);        // "improved"
std::string_view PresenceName(Presence presence);  // "new", "gone", "renamed?"; empty for both

// "improved: …", "not judged: one run each": the verdict and what it rests on.
std::string VerdictText(const Diff& diff);

// "NEW is 68.71 ms (70.1%) faster …: copies -56.15 ms (pageable to pinned), idle: copy -12.96 ms, the rest +0.40 ms".
// The changes that are named and the rest sum to that of the GPU time. Empty where there is no GPU work.
std::string GpuText(const Diff& diff);
// The same for the wall time.
std::string WallText(const Diff& diff);
// "10 steps of 2.83 ms instead of 10 of 1.64 ms (medians): …", by what the GPU did in a step.
std::string StepText(const Diff& diff);
// "1 worse: sync.count 0 to 10; 2 better: …", of figures that do not depend on timing; empty where none changed for
// better or worse.
std::string CounterText(const Diff& diff);
// "120 kernels instead of 240": times of other work say little. Empty where both did the same.
std::string WorkText(const Diff& diff);

// "550 -> 110 (-440); 55.0 -> 11.0 kernels a step, kernels 1.20 ms -> 0.90 ms, idle 3.40 ms -> 0.10 ms". Empty where
// launches and kernels are as many as before.
std::string LaunchText(const Diff& diff);
// "9 gone: softmax 8.00 ms in 40 launches, …; 2 new: fmha 3.00 ms in 20 launches": what was fused, or replaced by
// what. Empty unless there are some of both.
std::string ReplacedText(const Diff& diff);

// Everything in one line.
std::string OneLine(const Diff& diff);

}  // namespace gprof
