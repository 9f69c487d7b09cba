// The catalogue of findings: all that is the same whenever one of its kind is made.
#pragma once

#include <span>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

// How bad it is by the share that it has of the time it is about, which its analysis knows: of the window of the GPU as
// a rule.
struct SeverityRule {
  Severity least;
  double note_percent, warning_percent;  // from here on it is a note, a warning
  Severity Of(double percent) const;
};

// Where on the timeline it is seen, in the language of the page's filter box.
struct TimelinePlace {
  std::string_view query;     // empty: nowhere
  std::string_view why_none;  // then
  // Narrows the query to what the finding is about, where it says so: key:"name".
  std::string_view key{};
  std::string Subject::*name = nullptr;
};

struct FindingIds {
  static constexpr size_t kMost = 5;
  std::string_view ids[kMost]{};
  bool Has(std::string_view id) const;
};

struct FindingInfo {
  std::string_view id;
  std::string_view meaning;  // docs/commands/report.md
  SeverityRule severity;
  std::string_view table;  // that has the facts behind it; empty where none does
  TimelinePlace place;
  std::string_view advice{};  // what to do about it; empty where that depends on more than its kind
  // Findings that see the same thing from another side: their gains are about the same time, or one change wins both.
  // A pair is in the row of one of them.
  FindingIds overlaps{};
  bool overlaps_its_causes = false;  // and the findings of idle time with the causes that its subject names
};

std::span<const FindingInfo> FindingCatalogue();
const FindingInfo* FindFinding(std::string_view id);

// With the severity and the advice of the catalogue, which has to have the id. `percent`: see SeverityRule.
Finding NewFinding(std::string_view id, double percent = 0);

// Whether gains of the two must not be added.
bool AreAboutTheSame(const Finding& first, const Finding& second);

}  // namespace gprof
