#include "gate/baseline/baseline.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gate/runs/measurement_json.h"
#include "gate/statistics/rank_test.h"
#include "gprof/error.h"

namespace gprof {
namespace {

Json MediansJson(const std::map<std::string, double>& medians) {
  Json json = Json::object();
  for (const auto& [id, value] : medians) json[id] = NumberJson(value);
  return json;
}

Json ChangeJson(const BaselineChange& change) {
  return {{"time", change.time},     {"who", change.who},        {"reason", change.reason},
          {"commit", change.commit}, {"runs", change.run_count}, {"medians", MediansJson(change.medians)}};
}

BaselineChange ChangeFrom(const Json& json) {
  BaselineChange change;
  change.time = json.at("time").get<std::string>();
  change.who = json.value("who", "");
  change.reason = json.value("reason", "");
  change.commit = json.value("commit", "");
  change.run_count = json.value("runs", std::size_t{0});
  const Json medians = json.value("medians", Json::object());
  for (const auto& [id, value] : medians.items()) {
    if (!value.is_null()) change.medians.emplace(id, value.get<double>());
  }
  return change;
}

Baseline FromJson(const Json& json, const std::string& path) {
  Baseline baseline;
  baseline.name = json.at("name").get<std::string>();
  baseline.made = ChangeFrom(json.at("made"));
  for (const Json& change : json.at("history")) baseline.history.push_back(ChangeFrom(change));
  baseline.set.name = baseline.name;
  baseline.set.runs = RunsFrom(json, path);
  return baseline;
}

}  // namespace

Baseline ParseBaseline(const std::string& text, const std::string& path) {
  const Json json = ReadDocument(text, path, kBaselineSchema);
  try {
    return FromJson(json, path);
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kUnreadable, path + " is not a complete baseline: " + error.what(),
                "the file was modified: restore it from version control, or save the baseline again");
  }
}

std::string BaselineText(const Baseline& baseline) {
  Json json = {{"schema", kBaselineSchema}, {"name", baseline.name}, {"made", ChangeJson(baseline.made)}};
  json["history"] = Json::array();
  for (const BaselineChange& change : baseline.history) json["history"].push_back(ChangeJson(change));
  AddRuns(baseline.set, &json);
  return DocumentText(json);
}

void Accept(RunSet set, BaselineChange change, Baseline* baseline) {
  baseline->made.medians = MediansOf(baseline->set);
  baseline->history.push_back(std::move(baseline->made));
  change.run_count = set.runs.size();
  change.medians.clear();  // the runs themselves are in the document
  baseline->made = std::move(change);
  baseline->set = std::move(set);
}

std::map<std::string, double> MediansOf(const RunSet& set) {
  std::map<std::string, std::vector<double>> values;
  for (const Measurement& run : set.runs) {
    for (const Metric& metric : run.metrics) {
      if (metric.scope.empty()) values[std::string(metric.id)].push_back(metric.value);
    }
  }
  std::map<std::string, double> medians;
  for (const auto& [id, of_runs] : values) medians.emplace(id, MedianOf(of_runs));
  return medians;
}

void CheckBaselineName(const std::string& name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
  if (!name.empty() && name.find_first_not_of(kAllowed) == std::string::npos && name.front() != '.' &&
      name.size() <= 100)
    return;
  throw Error(ExitCode::kUsage, "'" + name + "' is not a valid baseline name",
              "use letters, digits and . _ - +, for example main or h200-nightly");
}

}  // namespace gprof
