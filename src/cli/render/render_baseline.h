// Baselines for people and for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/terminal.h"
#include "gate/baseline/baseline.h"

namespace gprof::cli {

std::string RenderBaseline(const Baseline& baseline, const Terminal& terminal);

// What people look at first; JSON has all.
std::span<const std::string_view> MainFigures();

// A line each; empty for none.
std::string RenderBaselines(const std::vector<Baseline>& baselines, const Terminal& terminal);
// "schema": "gprof.baselines/1".
std::string RenderBaselinesJson(const std::vector<Baseline>& baselines);

}  // namespace gprof::cli
