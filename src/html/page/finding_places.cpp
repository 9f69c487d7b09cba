#include "html/page/finding_places.h"

#include <string>
#include <string_view>

#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"

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

// The page numbers threads: "loader (4711)" and "thread 4711" are "thread:4711".
std::string ThreadTerm(std::string_view thread) {
  constexpr std::string_view kDecimals = "0123456789";
  const std::size_t end = thread.find_last_of(kDecimals);
  if (end == std::string_view::npos) return {};
  const std::size_t before = thread.substr(0, end).find_last_not_of(kDecimals);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return " thread:" + std::string(thread.substr(begin, end + 1 - begin));
}

std::string QueryOf(const Finding& finding, const WhereSeen& place) {
  std::string query(place.query);
  // Calls of the operating system are those of the thread that waited.
  const std::string of_thread = query == "kind:os_call" ? ThreadTerm(finding.subject.thread) : "";
  if (place.name == nullptr) return query;
  const std::string& name = finding.subject.*place.name;
  if (place.name == &Subject::direction) return query.append(KindEndOf(name));
  if (place.name == &Subject::thread) return query.append(ThreadTerm(name));
  if (!name.empty()) query += " " + Term(place.key, name);
  return query + of_thread;
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
