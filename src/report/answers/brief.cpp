#include "report/answers/brief.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/result/idle_causes.h"
#include "report/answers/evidence.h"
#include "report/json_values.h"
#include "report/report_head.h"
#include "report/time_split.h"

namespace gprof {
namespace {

// How much of it is said: names come from programs, and may be as long as they like.
struct Detail {
  std::size_t findings, text, causes;
};
constexpr Detail kDetails[] = {{5, 240, 5}, {5, 160, 4}, {4, 120, 3}, {3, 80, 3}, {1, 40, 1}};

double OneDecimal(double value) { return std::round(value * 10) / 10; }

Json PercentJson(double part, double whole) { return whole <= 0 ? Json() : NumberJson(OneDecimal(100 * part / whole)); }

// Only causes that are known: a cause that was not recorded stands under `not_recorded`.
Json IdleJson(const Report& report, std::size_t most) {
  std::vector<std::pair<double, std::string>> causes;
  ForEachCause([&](Cause cause) {
    const std::optional<double> ns = TotalOf(report, InfoOf(cause).metric);
    if (ns && *ns > 0) causes.emplace_back(*ns, std::string(InfoOf(cause).name));
  });
  std::ranges::stable_sort(causes, std::greater<>(), &std::pair<double, std::string>::first);
  Json json = Json::object();
  double others_ns = 0;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i < most) {
      json[causes[i].second] = NumberJson(causes[i].first);
    } else {
      others_ns += causes[i].first;
    }
  }
  if (others_ns > 0) json["others"] = NumberJson(others_ns);
  return json;
}

Json TimeJson(const Report& report, const Detail& detail) {
  const TraceHead& head = *report.Whole().head;
  Json json = {{"first_to_last_record_ns", head.end_ns - head.start_ns}};
  const std::optional<TimeSplit> split = TimeSplitOf(report);
  if (!split) {
    json["gpu"] = nullptr;
    return json;
  }
  json["gpu"] = {{"window_ns", NumberJson(split->window_ns)},
                 {"kernels_percent", PercentJson(split->kernel_ns, split->window_ns)},
                 {"copies_without_kernel_percent", PercentJson(split->copy_ns, split->window_ns)},
                 {"idle_percent", PercentJson(split->idle_ns, split->window_ns)},
                 {"idle_ns_by_cause", IdleJson(report, detail.causes)}};
  return json;
}

// What could be won, and how sure that is.
Json GainJson(const RankedFinding& ranked, const Detail& detail) {
  const Finding& finding = *ranked.finding;
  if (finding.gain_ns <= 0) return {{"at_most_ns", nullptr}, {"certainty", "not estimated"}};
  const std::optional<double> percent = ranked.PercentOfRun();
  Json json = {{"at_most_ns", ranked.GainNs()},
               {"at_most_percent_of_run", percent ? NumberJson(OneDecimal(*percent)) : Json()},
               {"certainty", "upper bound from recorded times; not measured by a change"}};
  if (!finding.basis.empty()) json["basis"] = CutText(finding.basis, detail.text);
  if (ranked.gpus > 1) json["summed_over_gpus"] = ranked.gpus;
  return json;
}

Json FindingJson(const Report& report, const NamedFinding& named, const Detail& detail) {
  const Finding& finding = *named.ranked.finding;
  Json json = {{"id", finding.id},
               {"evidence", named.evidence},
               {"severity", SeverityName(finding.severity)},
               {"message", CutText(finding.message, detail.text)}};
  if (!finding.subject.line.empty()) json["line"] = CutText(finding.subject.line, detail.text / 2);
  json["gain"] = GainJson(named.ranked, detail);
  if (named.ranked.is_minor) json["is_minor"] = true;
  if (named.ranked.leader != nullptr) json["same_time_as"] = named.ranked.leader->id;
  if (!finding.advice.empty()) json["advice"] = CutText(finding.advice, detail.text);
  json["next"] = CommandWithTrace(report, "explain", named.evidence);
  return json;
}

// The keys alone: `explain TRACE KEY` says why, and how to record it.
Json NotRecordedJson(const Report& report) {
  Json json = Json::array();
  ForEachFact(report.run.unknown, [&](Fact fact) { json.push_back(InfoOf(fact).key); });
  return json;
}

Json DataJson(const Report& report, const Detail& detail) {
  const RunFacts& run = report.Whole();
  Json json = {{"complete", run.head->health.IsComplete()}};
  Json problems = Json::array();
  for (const Finding& finding : run.health) {
    if (problems.size() < 2) problems.push_back(CutText(finding.message, detail.text));
  }
  if (run.health.size() > problems.size()) json["more_problems"] = run.health.size() - problems.size();
  json["problems"] = std::move(problems);
  return json;
}

bool IsWorthAChange(const NamedFinding& named) { return !named.ranked.is_minor && named.ranked.leader == nullptr; }

// Nothing that was found is no proof that nothing is there where what it needs was not recorded.
std::string_view OutcomeOf(const Report& report, const std::vector<NamedFinding>& findings) {
  if (std::ranges::any_of(findings, IsWorthAChange)) return "findings";
  const FactSet needed = Fact::kOperations | Fact::kApiCalls | Fact::kGraphWork;
  if (report.run.unknown.HasAnyOf(needed) || !report.Whole().head->health.IsComplete()) return "cannot tell";
  return "no problem found";
}

std::string VerdictText(const Report& report, const Detail& detail) {
  const std::vector<std::string> verdict = VerdictOf(report, 80);
  if (!verdict.empty()) return CutText(verdict.front(), detail.text);
  const std::vector<std::string>& why = report.Whole().why_no_gpu_work;
  return CutText("no GPU work in what was recorded" + (why.empty() ? "" : ": " + why.front()), 2 * detail.text);
}

Json BriefJson(const Report& report, const std::vector<NamedFinding>& findings, const Detail& detail) {
  Json json = {{"schema", "gprof.brief/1"},
               {"trace", CutText(report.Whole().head->path, detail.text)},
               {"program", CutText(ProgramOf(report, 110), detail.text / 2)},
               {"outcome", OutcomeOf(report, findings)},
               {"verdict", VerdictText(report, detail)},
               {"time", TimeJson(report, detail)}};
  if (const std::string steps = StepsOf(report); !steps.empty()) json["steps"] = CutText(steps, detail.text);
  json["findings"] = Json::array();
  for (const NamedFinding& named : findings) {
    if (json["findings"].size() < detail.findings) json["findings"].push_back(FindingJson(report, named, detail));
  }
  json["findings_left_out"] = findings.size() - json["findings"].size();
  json["not_recorded"] = NotRecordedJson(report);
  json["data"] = DataJson(report, detail);
  return json;
}

}  // namespace

std::string RenderBrief(const Report& report) {
  const std::vector<NamedFinding> findings = NamedFindings(report);
  std::string text;
  for (const Detail& detail : kDetails) {
    text = CompactText(BriefJson(report, findings, detail)) + "\n";
    if (text.size() <= kMostBriefBytes) break;
  }
  return text;
}

}  // namespace gprof
