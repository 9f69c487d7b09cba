// The HTML page: one file with the report, the timeline and the program that shows them. docs/html.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "export/output/output_stream.h"
#include "gprof/analysis.h"

namespace gprof {

// Events that match the query, in the language of the page's filter box, are what the finding is about.
struct FindingPlace {
  uint32_t finding = 0;  // index into the findings of the report
  std::string query;
};

struct PageTimeline {
  AnalysisInput input;
  std::string label;
  std::string step;  // as in AnalysisOptions
};

inline constexpr uint64_t kDefaultEventBudget = 5'000'000;

struct PageContents {
  std::string title;       // the program, or "A against B"
  std::string verdict;     // the first line of the report or of the comparison
  std::string report;      // document of `report --format json`, or empty
  std::string diff;        // document of `diff --format json`, or empty
  std::string fleet;       // of many ranks (fleet_page.h), or empty
  std::string fleet_blob;  // their heat map
  std::vector<FindingPlace> places;
  std::string flames;                           // flame_data.h, or empty
  std::string occupancy;                        // occupancy_data.h, or empty
  std::vector<PageTimeline> timelines;          // one; of a comparison two, or none
  uint64_t event_budget = kDefaultEventBudget;  // over all timelines
};

// Whether this build has the page in it.
bool HasPage();

// Throws Error in a build without.
void WritePage(const PageContents& contents, OutputStream& out);

// As it stands in an element.
std::string EscapeForText(std::string_view text);

}  // namespace gprof
