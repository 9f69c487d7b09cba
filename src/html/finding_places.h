// Where on the timeline a finding is seen.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "html/page.h"

namespace gprof {

// For findings of an id: what to look for, in the language of the page's filter box, or why there is nothing to look
// at.
struct PlaceOfId {
  std::string_view id;      // with a dot at its end: all that begin so
  std::string_view query;   // empty: no place
  std::string_view reason;  // why there is none
  // What the finding names among the rows of a table, the first row where it names none, narrows the query: `key` is a
  // key of the filter. nullptr: nothing does.
  const char* table = nullptr;
  const char* column = nullptr;
  const char* key = nullptr;
};

const PlaceOfId* FindPlace(std::string_view finding_id);

std::vector<FindingPlace> PlacesOf(std::span<const Finding> findings, std::span<const Table* const> tables);

}  // namespace gprof
