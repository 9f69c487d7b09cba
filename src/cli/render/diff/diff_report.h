// A comparison as people and machines read it.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "cli/render/diff/diff_tables.h"
#include "gate/diff/diff.h"

namespace gprof::cli {

struct DiffLine {
  std::string label, text;
};

// What stands above the tables: what is compared, what is doubtful about it, the verdict, and the changes in words.
std::vector<DiffLine> DiffHead(const Diff& diff, const DiffView& view);

std::string RenderDiffText(const Diff& diff, const DiffView& view, const Terminal& terminal);
std::string RenderDiffMarkdown(const Diff& diff, const DiffView& view);
// "schema": "gprof.diff/1", described in docs/commands/diff.md.
std::string RenderDiffJson(const Diff& diff, const DiffView& view);

}  // namespace gprof::cli
