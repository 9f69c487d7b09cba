// The verdict on many ranks as a page: findings, tables, and a heat map of ranks and steps (`ranks --format html`).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/verdict/fleet_verdict.h"
#include "html/page/page.h"

namespace gprof {

struct FleetWords {
  std::string title;
  std::vector<std::string> lines;            // how many ranks there are, how good their clocks are
  std::map<std::string, std::string> paths;  // of traces, by the names of their files
};

PageContents PageOfFleet(const FleetVerdict& verdict, const FleetWords& words);

}  // namespace gprof
