// What trials of changes have shown, for people, programs and pull requests.
#pragma once

#include <string>

#include "base/terminal.h"
#include "cli/proof/trials.h"

namespace gprof::cli {

std::string RenderTrialsText(const TrialsResult& result, const std::string& program, const Terminal& terminal);
std::string RenderTrialsMarkdown(const TrialsResult& result, const std::string& program);
// "schema": "gprof.try/1".
std::string RenderTrialsJson(const TrialsResult& result, const std::string& program);

// The catalogue of changes.
std::string RenderChanges(const Terminal& terminal);

}  // namespace gprof::cli
