// Where on the timeline a finding is seen.
#pragma once

#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "html/page.h"

namespace gprof {

// For findings of an id: what to look for, in the language of the page's filter box, or why there is nothing to look at.
struct PlaceOfId {
  std::string_view id;     // of the finding; "idle." and "health." at the end of which stands a dot: all that begin so
  std::string_view query;  // empty: no place
  std::string_view reason; // why there is none
};

const PlaceOfId* FindPlace(std::string_view finding_id);

std::vector<FindingPlace> PlacesOf(const std::vector<Finding>& findings);

}  // namespace gprof
