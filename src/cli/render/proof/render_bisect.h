// What a bisection has found, for people and programs.
#pragma once

#include <string>

#include "base/terminal.h"
#include "cli/proof/bisection.h"
#include "cli/proof/version_source.h"

namespace gprof::cli {

struct BisectPage {
  const BisectOutcome& outcome;
  const VersionSource& source;
  std::string program;  // command line
};

std::string RenderBisectText(const BisectPage& page, const Terminal& terminal);
std::string RenderBisectMarkdown(const BisectPage& page);
// "schema": "gprof.bisect/1".
std::string RenderBisectJson(const BisectPage& page);

}  // namespace gprof::cli
