#include "html/finding_places.h"

namespace gprof {
namespace {

constexpr std::string_view kWholeTrace = "is about the trace itself";

constexpr PlaceOfId kPlaces[] = {
    {"memcpy.pageable", "kind:pageable", ""},
    {"idle.", "", ""},
    {"health.", "", kWholeTrace},
};

}  // namespace

const PlaceOfId* FindPlace(std::string_view finding_id) {
  for (const PlaceOfId& place : kPlaces) {
    if (place.id.ends_with('.') ? finding_id.starts_with(place.id) : finding_id == place.id) return &place;
  }
  return nullptr;
}

std::vector<FindingPlace> PlacesOf(const std::vector<Finding>& findings) {
  std::vector<FindingPlace> places;
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const PlaceOfId* const place = FindPlace(findings[i].id);
    if (place != nullptr && !place->query.empty()) places.push_back({i, std::string(place->query)});
  }
  return places;
}

}  // namespace gprof
