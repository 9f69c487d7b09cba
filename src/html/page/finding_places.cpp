#include "html/page/finding_places.h"

#include <string>
#include <string_view>

#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"

namespace gprof {
namespace {

// In quotes a value of the filter is the whole name.
std::string Term(std::string_view key, std::string_view value) {
  std::string term(key);
  term += ":\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') term += '\\';
    term += c;
  }
  return term + '"';
}

// Copies of each direction are a kind of their own: "kind:pageable_h2d".
std::string_view KindEndOf(std::string_view direction) {
  if (direction == DirectionName(Direction::kH2d)) return "_h2d";
  return direction == DirectionName(Direction::kD2h) ? "_d2h" : "";
}

std::string QueryOf(const Finding& finding, const TimelinePlace& place) {
  std::string query(place.query);
  if (place.name == nullptr) return query;
  const std::string& name = finding.subject.*place.name;
  if (place.name == &Subject::direction) return query.append(KindEndOf(name));
  return name.empty() ? query : query + " " + Term(place.key, name);
}

}  // namespace

std::vector<FindingPlace> PlacesOf(std::span<const Finding> findings) {
  std::vector<FindingPlace> places;
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const FindingInfo* const info = FindFinding(findings[i].id);
    if (info != nullptr && !info->place.query.empty()) places.push_back({i, QueryOf(findings[i], info->place)});
  }
  return places;
}

}  // namespace gprof
