#include "cli/render/proof/render_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_style.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/markdown.h"
#include "cli/render/proof/labelled_lines.h"
#include "gate/budget/value_text.h"
#include "gate/statistics/rank_test.h"

namespace gprof::cli {
namespace {

std::string Share(double part, double whole) { return whole == 0 ? "" : FormatPercentChange(100 * part / whole); }

bool HasFigures(const Tried& tried) { return tried.judged.new_count > 0; }

// "-12.3%", "-13.1%..-11.5%"; empty where it was not judged.
std::string EffectText(const Tried& tried) {
  return HasFigures(tried) ? Share(tried.judged.shift, tried.judged.base_median) : "";
}
std::string IntervalText(const Tried& tried) {
  if (!HasFigures(tried)) return "";
  const double base = tried.judged.base_median;
  return Share(tried.judged.shift_low, base) + ".." + Share(tried.judged.shift_high, base);
}

std::string VerdictText(const Tried& tried) {
  std::string text(OutcomeName(tried.outcome));
  if (!tried.why.empty()) text += ": " + tried.why;
  if (tried.outcome == Outcome::kCannotTell && tried.judged.runs_needed > 0) {
    text += fmt::format(": about {} rounds needed", FormatCount(tried.judged.runs_needed));
  }
  return text;
}

// What helps comes first, what does not apply last; the rest by what it does to the time.
std::vector<const Tried*> InOrder(const TrialsResult& result) {
  std::vector<const Tried*> order;
  for (const Tried& tried : result.changes) order.push_back(&tried);
  const auto rank = [](const Tried* tried) {
    return tried->outcome == Outcome::kBetter ? 0 : tried->outcome == Outcome::kDoesNotApply ? 2 : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](const Tried* a, const Tried* b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a->judged.relative < b->judged.relative;
  });
  for (const Tried& tried : result.together) order.insert(order.begin(), &tried);
  return order;
}

std::vector<LabelledLine> HeadLines(const TrialsResult& result, const std::string& program) {
  std::vector<LabelledLine> lines = {{"Program", program}};
  if (!result.base.values.empty()) {
    lines.push_back(
        {"As it is", result.figure.name + " " + FormatValue(MedianOf(result.base.values), result.figure.unit) +
                         ", the median of " + CountOf(static_cast<int64_t>(result.base.values.size()), "run")});
  }
  lines.push_back({"Cost", CountOf(result.runs, "run") + " in " + FormatDuration(result.wall_ns)});
  if (result.stop_signal != 0) lines.push_back({"Note", SignalName(result.stop_signal) + " ended it early"});
  return lines;
}

// How to use and to keep what helps.
std::vector<LabelledLine> AdviceLines(const TrialsResult& result) {
  std::vector<LabelledLine> lines;
  for (const Tried* tried : InOrder(result)) {
    if (tried->outcome != Outcome::kBetter) continue;
    const AppliedChange& change = tried->change;
    std::string text = change.name + ": " + change.how;
    if (!change.permanent.empty()) text += ". To keep it: " + change.permanent;
    if (!change.risk.empty()) text += ". Caution: " + change.risk;
    lines.push_back({"Better", text});
  }
  return lines;
}

Json TriedJson(const Tried& tried) {
  const SampleComparison& judged = tried.judged;
  const auto percent = [&](double part) {
    return HasFigures(tried) && judged.base_median != 0 ? NumberJson(100 * part / judged.base_median) : Json();
  };
  Json variables = Json::object();
  for (const auto& [name, value] : tried.change.variables) variables[name] = value;
  return {{"name", tried.change.name},
          {"what", tried.change.what},
          {"variables", variables},
          {"wrapper", tried.change.wrapper},
          {"verdict", OutcomeName(tried.outcome)},
          {"why", tried.why},
          {"evidence", judged.evidence},
          {"effect_percent", percent(judged.shift)},
          {"effect_low_percent", percent(judged.shift_low)},
          {"effect_high_percent", percent(judged.shift_high)},
          {"p_value", HasFigures(tried) ? NumberJson(judged.p_value) : Json()},
          {"values", tried.values},
          {"risk", tried.change.risk},
          {"permanent", tried.change.permanent}};
}

}  // namespace

std::string RenderTrialsText(const TrialsResult& result, const std::string& program, const Terminal& terminal) {
  TextTable table;
  table.columns = {{"Change"}, {"Effect", true}, {"Interval", true}, {"Verdict"}};
  for (const Tried* tried : InOrder(result)) {
    table.rows.push_back({tried->change.name, EffectText(*tried), IntervalText(*tried), VerdictText(*tried)});
  }
  return TextOfLines(HeadLines(result, program), terminal) + "\n" +
         RenderTable(table, terminal.columns, Style(terminal.has_color)) + "\n" +
         TextOfLines(AdviceLines(result), terminal);
}

std::string RenderTrialsMarkdown(const TrialsResult& result, const std::string& program) {
  std::string out = "## Changes tried\n\n" + MarkdownOfLines(HeadLines(result, program)) +
                    "\n| Change | Effect | Interval | Verdict |\n|---|---:|---:|---|\n";
  for (const Tried* tried : InOrder(result)) {
    out += "| " + MarkdownCode(tried->change.name, true) + " | " + EffectText(*tried) + " | " + IntervalText(*tried) +
           " | " + MarkdownEscaped(VerdictText(*tried)) + " |\n";
  }
  const std::string advice = MarkdownOfLines(AdviceLines(result));
  return advice.empty() ? out : out + "\n" + advice;
}

std::string RenderTrialsJson(const TrialsResult& result, const std::string& program) {
  Json json = {{"schema", "gprof.try/1"},
               {"program", program},
               {"figure", result.figure.name},
               {"rounds", result.rounds},
               {"runs", result.runs},
               {"wall_ns", result.wall_ns},
               {"is_interrupted", result.stop_signal != 0},
               {"base_values", result.base.values},
               {"changes", Json::array()},
               {"together", Json::array()}};
  for (const Tried& tried : result.changes) json["changes"].push_back(TriedJson(tried));
  for (const Tried& tried : result.together) json["together"].push_back(TriedJson(tried));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string RenderChanges(const Terminal& terminal) {
  TextTable table;
  table.columns = {{"Change"}, {"What it is"}};
  for (const ChangeInfo& change : ChangeCatalogue()) {
    table.rows.push_back({std::string(change.name), std::string(change.what) + (change.risk.empty() ? "" : " (!)")});
  }
  return RenderTable(table, std::max<std::size_t>(terminal.columns, 100), Style(terminal.has_color)) +
         "(!) can change results\n";
}

}  // namespace gprof::cli
