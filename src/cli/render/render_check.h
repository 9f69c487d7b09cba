// What a gate says, for people and for programs.
#pragma once

#include <string>

#include "base/terminal.h"
#include "gate/check/verdict.h"

namespace gprof::cli {

// A line for each rule that did not pass, with what is the case below it; `is_verbose`: for each rule. The verdict
// last.
std::string RenderCheckText(const CheckResult& result, bool is_verbose, const Terminal& terminal);

// "schema": "gprof.check/1", docs/schema/check.schema.json.
std::string RenderCheckJson(const CheckResult& result);

}  // namespace gprof::cli
