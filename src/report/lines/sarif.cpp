#include <algorithm>
#include <string_view>

#include "analysis/findings/finding_catalogue.h"
#include "gprof/version.h"
#include "report/json_values.h"
#include "report/lines/placed_findings.h"

namespace gprof {
namespace {

constexpr const char* kSchema = "https://json.schemastore.org/sarif-2.1.0.json";

std::string PercentEncoded(std::string_view path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return uri;
}

// A file of the checkout by its path there: code hosts know no other.
Json ArtifactJson(const std::string& root, const std::string& file) {
  const std::string path = PathWithin(root, file);
  if (path.starts_with('/')) return {{"uri", "file://" + PercentEncoded(path)}};
  return {{"uri", PercentEncoded(path)}, {"uriBaseId", "%SRCROOT%"}};
}

const char* LevelOf(Severity severity) { return severity == Severity::kWarning ? "warning" : "note"; }

Json ResultJson(const PlacedFinding& place, const std::string& root) {
  const Finding& finding = *place.named.ranked.finding;
  std::string text = finding.message + ". " + finding.advice;
  if (finding.gain_ns > 0) text += " " + GainText(place.named.ranked);
  const Json location = {{"artifactLocation", ArtifactJson(root, place.file)},
                         {"region", {{"startLine", std::max(place.line, 1U)}}}};
  return {{"ruleId", finding.id},
          {"level", LevelOf(finding.severity)},
          {"message", {{"text", text}}},
          {"locations", Json::array({{{"physicalLocation", location}}})},
          {"partialFingerprints", {{"finding/v1", finding.id + "@" + finding.subject.line}}},
          {"properties",
           {{"evidence", place.named.evidence},
            {"gain_at_most_ns", finding.gain_ns > 0 ? Json(place.named.ranked.GainNs()) : Json()}}}};
}

// Of the findings that there are, each kind once.
Json RulesJson(const std::vector<PlacedFinding>& places) {
  Json rules = Json::array();
  for (const FindingInfo& info : FindingCatalogue()) {
    const bool is_there = std::ranges::any_of(
        places, [&](const PlacedFinding& place) { return place.named.ranked.finding->id == info.id; });
    if (!is_there) continue;
    Json rule = {{"id", info.id}, {"shortDescription", {{"text", info.meaning}}}};
    if (!info.advice.empty()) rule["help"] = {{"text", info.advice}};
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

std::string RenderSarif(const Report& report, const std::string& root) {
  const PlacedFindings places = PlacesOfFindings(report);
  Json results = Json::array();
  for (const PlacedFinding& place : places.placed) results.push_back(ResultJson(place, root));
  const Json driver = {{"name", "gprof-cli"}, {"version", kVersion}, {"rules", RulesJson(places.placed)}};
  const Json run = {
      {"tool", {{"driver", driver}}},
      {"results", std::move(results)},
      {"properties", {{"trace", report.Whole().head->path}, {"findings_without_line", places.without_line}}}};
  return ToText({{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", Json::array({run})}});
}

}  // namespace gprof
