#include "html/finding_places.h"

#include <algorithm>
#include <string>
#include <variant>

#include "analysis/result/display_names.h"
#include "base/demangle.h"

namespace gprof {
namespace {

constexpr PlaceOfId kPlaces[] = {
    {"api.errors", "kind:api", "", "api_errors", "function", "name"},
    {"balance.uneven", "kind:kernel", ""},
    {"critical.kernel", "kind:kernel", "", "kernels", "name", "name"},
    {"graphs.instantiate", "kind:api name:GraphInstantiate", ""},
    {"health.", "", "is about the trace itself"},
    {"idle.", "", "", nullptr, nullptr, "cause"},
    {"kernels.chain", "kind:kernel max:50us", "", "kernel_chains", "stream", "track"},
    {"kernels.small", "kind:kernel max:10us", ""},
    {"launch.bound", "cause:launch,api,host", ""},
    {"memcpy.overlap", "kind:copy", ""},
    {"memcpy.pageable", "kind:pageable", ""},
    {"memcpy.small", "kind:copy max:50us", ""},
    {"memory.churn", "kind:api_memory", ""},
    {"memory.growth", "kind:api_memory name:alloc", ""},
    {"memory.leaked", "kind:api_memory name:alloc", ""},
    {"memory.migrations", "cause:memory", ""},
    {"memory.page_faults", "cause:memory", ""},
    {"nccl.", "kind:kernel name:nccl", ""},
    {"occupancy.", "kind:kernel", "", "kernels", "name", "name"},
    {"startup.load", "kind:api_load,overhead", ""},
    {"startup.slow", "",
     "is about the time before the first operation, in which nothing of the program need be recorded"},
    {"steps.", "kind:nvtx", "", "steps", "path", "nvtx"},
    {"streams.default_splits", "track:\"default stream\"", ""},
    {"streams.event_waits", "cause:dependency", ""},
    {"streams.no_overlap", "kind:kernel,copy,pageable", ""},
    {"streams.one_only", "kind:kernel,copy,pageable", "", "streams", "name", "track"},
    {"streams.one_used", "kind:kernel,copy,pageable", "", "streams", "name", "track"},
    {"streams.overlap", "kind:kernel,copy,pageable", ""},
    {"sync.drains", "cause:sync", ""},
    {"sync.implied", "kind:api_memory", ""},
    {"sync.polling", "kind:api_query", ""},
    {"sync.site", "kind:api_sync", "", "sync_sites", "function", "name"},
    {"traces.straggler", "", "compares whole traces, which have tracks of their own"},
};

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

// The text of a column that the message has in it, in full or as reports shorten it: the longest of them.
std::string NamedIn(std::string_view message, const PlaceOfId& place, std::span<const Table* const> tables) {
  std::string_view found;
  std::string first;
  for (const Table* table : tables) {
    if (table->id != place.table) continue;
    const auto column = std::find_if(table->columns.begin(), table->columns.end(),
                                     [&](const Column& c) { return c.key == place.column; });
    if (column == table->columns.end()) continue;
    const auto at = static_cast<std::size_t>(column - table->columns.begin());
    for (const auto& row : table->rows) {
      const auto* text = std::get_if<std::string>(&row[at]);
      if (text == nullptr || text->empty()) continue;
      if (first.empty()) first = *text;
      const bool is_named = message.find(*text) != std::string_view::npos || message.find(ShortName(*text)) == 0;
      if (is_named && text->size() > found.size()) found = *text;
    }
  }
  return found.empty() ? first : std::string(found);
}

std::string QueryOf(const Finding& finding, const PlaceOfId& place, std::span<const Table* const> tables) {
  std::string query(place.query);
  if (place.table != nullptr) {
    const std::string name = NamedIn(finding.message, place, tables);
    return name.empty() ? query : query + " " + Term(place.key, name);
  }
  if (place.id == "idle.") return "cause:" + finding.id.substr(place.id.size());
  if (place.id == "memcpy.pageable" && finding.message.find(DirectionName(Direction::kH2d)) != std::string::npos)
    return query + "_h2d";
  if (place.id == "memcpy.pageable" && finding.message.find(DirectionName(Direction::kD2h)) != std::string::npos)
    return query + "_d2h";
  return query;
}

}  // namespace

const PlaceOfId* FindPlace(std::string_view finding_id) {
  for (const PlaceOfId& place : kPlaces) {
    if (place.id.ends_with('.') ? finding_id.starts_with(place.id) : finding_id == place.id) return &place;
  }
  return nullptr;
}

std::vector<FindingPlace> PlacesOf(std::span<const Finding> findings, std::span<const Table* const> tables) {
  std::vector<FindingPlace> places;
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const PlaceOfId* const place = FindPlace(findings[i].id);
    if (place == nullptr || !place->reason.empty()) continue;
    places.push_back({i, QueryOf(findings[i], *place, tables)});
  }
  return places;
}

}  // namespace gprof
