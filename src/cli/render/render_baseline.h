// Baselines for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "gate/baseline.h"

namespace gprof::cli {

std::string RenderBaseline(const Baseline& baseline, const Terminal& terminal);

// A line each; empty for none.
std::string RenderBaselines(const std::vector<Baseline>& baselines, const Terminal& terminal);
// "schema": "gprof.baselines/1".
std::string RenderBaselinesJson(const std::vector<Baseline>& baselines);

}  // namespace gprof::cli
