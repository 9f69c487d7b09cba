// Where on the timeline a finding is seen.
#pragma once

#include <span>
#include <vector>

#include "gprof/analysis.h"
#include "html/page/page.h"

namespace gprof {

// In the language of the page's filter box, as the catalogue of findings says; none for findings without a place.
std::vector<FindingPlace> PlacesOf(std::span<const Finding> findings);

}  // namespace gprof
