// A comparison for machines: schema gprof.diff/1.
#include <algorithm>
#include <iterator>

#include "cli/render/diff/diff_report.h"
#include "gate/diff/diff_words.h"
#include "gate/runs/measurement_json.h"
#include "gprof/version.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

Json SideJson(const DiffSide& side) {
  return {{"name", side.name},
          {"runs", side.sources},
          {"shown", side.sources[side.shown]},
          {"gpus", side.gpus},
          {"complete", side.is_complete},
          {"missing", side.missing},
          {"notes", side.notes},
          {"fingerprint", FingerprintJson(side.fingerprint)}};
}

Json JudgedJson(const std::optional<SampleComparison>& judged) {
  if (!judged) return nullptr;
  return {{"verdict", ChangeName(judged->change)},      {"evidence", judged->evidence},
          {"p_value", NumberJson(judged->p_value)},     {"shift", NumberJson(judged->shift)},
          {"shift_low", NumberJson(judged->shift_low)}, {"shift_high", NumberJson(judged->shift_high)},
          {"runs_needed", judged->runs_needed}};
}

Json TimeJson(const TimeChange& time) {
  return {{"base_ns", time.base_ns},
          {"new_ns", time.new_ns},
          {"change_ns", time.ChangeNs()},
          {"judged", JudgedJson(time.judged)}};
}

bool IsForPeople(const std::string& key) { return key.ends_with("_text") || key == "is" || key == "metric"; }

bool IsOfJudged(const std::string& key) {
  static constexpr std::string_view kKeys[] = {"verdict",   "evidence",   "p_value",    "shift",
                                               "shift_low", "shift_high", "runs_needed"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Json RowJson(const DiffTable& table, const std::vector<Cell>& row) {
  Json json = Json::object(), judged = Json::object();
  bool is_judged = false, can_be_judged = false;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string& key = table.columns[i].key;
    if (IsOfJudged(key)) {
      can_be_judged = true;
      is_judged |= key == "verdict" && row[i].index() != 0;
      judged[key] = CellJson(row[i]);
    } else if (key == "in_window" || key == "deterministic") {
      json[key] = CellJson(row[i]) == Json(1);
    } else if (!IsForPeople(key)) {
      json[key] = CellJson(row[i]);
    }
  }
  if (can_be_judged) json["judged"] = is_judged ? std::move(judged) : Json();
  return json;
}

Json RowsJson(const DiffTable& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) rows.push_back(RowJson(table, row));
  return rows;
}

Json StepJson(const Diff& diff, const DiffTable& table) {
  if (!diff.steps) return nullptr;
  const StepChange& steps = *diff.steps;
  return {{"base_path", steps.base_path},
          {"new_path", steps.new_path},
          {"base_count", steps.base_count},
          {"new_count", steps.new_count},
          {"base_median_ns", NumberJson(steps.base_median_ns)},
          {"new_median_ns", NumberJson(steps.new_median_ns)},
          {"base_total_ns", steps.base_total_ns},
          {"new_total_ns", steps.new_total_ns},
          {"judged", JudgedJson(steps.judged)},
          {"parts", RowsJson(table)}};
}

}  // namespace

std::string RenderDiffJson(const Diff& diff, const DiffView& view) {
  Json json;
  json["schema"] = "gprof.diff/1";
  json["gprof_cli"] = kVersion;
  json["verdict"] = diff.is_judged ? Json(ChangeName(diff.verdict)) : Json("not judged");
  json["figure"] = diff.figure;
  json["evidence"] = diff.evidence;
  json["line"] = OneLine(diff);
  json["selected"] = view.selected;
  json["base"] = SideJson(diff.base);
  json["new"] = SideJson(diff.now);
  json["differences"] = diff.differences;
  json["other_differences"] = diff.other_differences;
  json["explanation"] = Json::array();
  for (const std::string& text : {StepText(diff), GpuText(diff), WallText(diff), WorkText(diff), CounterText(diff)}) {
    if (!text.empty()) json["explanation"].push_back(text);
  }
  json["worse_counters"] = diff.worse_counters;
  json["better_counters"] = diff.better_counters;
  json["base_launches"] = diff.base_launches;
  json["new_launches"] = diff.new_launches;
  json["wall"] = TimeJson(diff.wall);
  json["window"] = TimeJson(diff.window);
  json["gpu_wall"] = TimeJson(diff.gpu_wall);
  for (const DiffTable& table : DiffTables(diff, view)) {
    json[table.id] = table.id == "steps" ? StepJson(diff, table) : RowsJson(table);
  }
  return ToText(json);
}

}  // namespace gprof::cli
