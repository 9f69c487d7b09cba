#include "report/answers/explanation.h"

#include <algorithm>
#include <iterator>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/metrics.h"
#include "report/analysis_names.h"
#include "report/json_values.h"

namespace gprof {
namespace {

constexpr std::size_t kMostRows = 8, kLongestText = 200, kMostEvidence = 12;

// The places of a subject that rows of tables name as well.
std::vector<std::string_view> NamesOf(const Subject& subject) {
  std::vector<std::string_view> names;
  for (const std::string* name : {&subject.kernel, &subject.function, &subject.range, &subject.line, &subject.direction,
                                  &subject.stream, &subject.thread, &subject.device}) {
    if (!name->empty()) names.push_back(*name);
  }
  for (const std::string& cause : subject.causes) names.push_back(cause);
  return names;
}

bool NamesOne(const std::vector<Cell>& row, const std::vector<std::string_view>& names) {
  return std::ranges::any_of(row, [&](const Cell& cell) {
    const auto* text = std::get_if<std::string>(&cell);
    return text != nullptr && std::ranges::find(names, *text) != names.end();
  });
}

const Section* SectionWith(const Report& report, std::string_view table, const Table** found) {
  for (const Section& section : report.sections) {
    for (const Table& one : section.result.tables) {
      if (one.id != table) continue;
      *found = &one;
      return &section;
    }
  }
  return nullptr;
}

void AddRows(const Report& report, std::string_view table, Explanation* out) {
  const Table* all = nullptr;
  if (SectionWith(report, table, &all) == nullptr) return;
  const std::vector<std::string_view> names = NamesOf(out->named->ranked.finding->subject);
  out->rows = *all;
  std::erase_if(out->rows.rows, [&](const std::vector<Cell>& row) { return !NamesOne(row, names); });
  out->are_rows_narrowed = !out->rows.rows.empty();
  if (!out->are_rows_narrowed) out->rows.rows = all->rows;
  if (out->rows.rows.size() <= kMostRows) return;
  out->rows.rows_left_out += static_cast<int64_t>(out->rows.rows.size() - kMostRows);
  out->rows.rows.resize(kMostRows);
}

void AddMetrics(const Report& report, const FindingInfo& info, Explanation* out) {
  for (const std::string_view id : info.claims.ids) {
    if (id.empty()) continue;
    if (const auto total = TotalOf(report, id)) out->metrics.push_back({id, {}, *total});
  }
}

// "cpu_samples: CPU samples were not recorded (profile --sample)"
std::vector<std::string> Reasons(const Report& report, FactSet facts) {
  std::vector<std::string> reasons;
  ForEachFact(facts & report.run.unknown, [&](Fact fact) {
    reasons.push_back(std::string(InfoOf(fact).key) + ": " + WhyUnknown(*report.run.head, fact));
  });
  return reasons;
}

// A command line in a shell; SQL has quotes of its own.
std::string QueryCommand(const Report& report, const std::string& sql) {
  if (sql.find_first_of("\"$`\\!") == std::string::npos) return CommandWithTrace(report, "query", '"' + sql + '"');
  std::string quoted = "'";
  for (const char c : sql) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return CommandWithTrace(report, "query", quoted + "'");
}

// What any finding of this kind rests on: the metrics that it is about, and GPU work for most.
FactSet NeedsOf(const FindingInfo& info) {
  FactSet needs = FactSet::None();
  for (const std::string_view id : info.claims.ids) {
    if (const MetricInfo* metric = FindMetric(id)) needs |= metric->needs;
  }
  return needs;
}

void ExplainAbsence(const Report& report, const FindingInfo& info, Explanation* out) {
  out->id = info.id;
  out->meaning = info.meaning;
  const FindingCheck check = CheckOf(NewFinding(info.id), info.table);
  out->lacks = Reasons(report, NeedsOf(info) | check.more);
  const bool is_complete = report.Whole().head->health.IsComplete();
  if (!is_complete) out->lacks.push_back("the trace is incomplete");
  out->answer = out->lacks.empty() ? AnswerKind::kNotFound : AnswerKind::kCannotTell;
}

void ExplainFound(const Report& report, const NamedFinding& named, Explanation* out) {
  const Finding& finding = *named.ranked.finding;
  out->answer = AnswerKind::kFound;
  out->id = finding.id;
  out->named = named;
  const FindingInfo* const info = FindFinding(finding.id);
  if (info == nullptr) return;
  out->meaning = info->meaning;
  AddMetrics(report, *info, out);
  AddRows(report, info->table, out);
  out->check = CheckOf(finding, info->table);
  if (!out->check.sql.empty()) out->command = QueryCommand(report, out->check.sql);
  out->more = Reasons(report, out->check.more);
}

void ExplainFact(const Report& report, const FactInfo& info, Explanation* out) {
  out->id = info.key;
  out->meaning = info.name;
  out->lacks = Reasons(report, info.fact);
  out->answer = out->lacks.empty() ? AnswerKind::kRecorded : AnswerKind::kNotRecorded;
}

const char* AnswerName(AnswerKind answer) {
  switch (answer) {
    case AnswerKind::kFound:
      return "found";
    case AnswerKind::kNotFound:
      return "not found";
    case AnswerKind::kCannotTell:
      return "cannot tell";
    case AnswerKind::kRecorded:
      return "recorded";
    case AnswerKind::kNotRecorded:
      return "not recorded";
    case AnswerKind::kNoSuchWord:
      break;
  }
  return "no such finding";
}

Json RowsJson(const Explanation& explanation) {
  const Table& table = explanation.rows;
  Json json = {{"table", table.id},
               {"about", explanation.are_rows_narrowed ? "what the finding names" : "all"},
               {"rows", Json::array()},
               {"rows_left_out", table.rows_left_out}};
  for (const std::vector<Cell>& row : table.rows) {
    Json cells = Json::object();
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i) {
      if (row[i].index() == 0) continue;
      const auto* text = std::get_if<std::string>(&row[i]);
      cells[table.columns[i].key] = text != nullptr ? Json(CutText(*text, kLongestText)) : CellJson(row[i]);
    }
    json["rows"].push_back(std::move(cells));
  }
  return json;
}

void AddFinding(const NamedFinding& named, Json* json) {
  const Finding& finding = *named.ranked.finding;
  Json& out = *json;
  out["evidence"] = named.evidence;
  out["message"] = finding.message;
  out["numbers"] = Json::array();
  for (const std::string& line : finding.evidence) {
    if (out["numbers"].size() < kMostEvidence) out["numbers"].push_back(CutText(line, 2 * kLongestText));
  }
  if (!finding.subject.line.empty()) out["line"] = finding.subject.line;
  out["gain_at_most_ns"] = finding.gain_ns > 0 ? Json(named.ranked.GainNs()) : Json();
  out["basis"] = CutText(finding.basis, 2 * kLongestText);
  if (named.ranked.leader != nullptr) out["same_time_as"] = named.ranked.leader->id;
  out["advice"] = CutText(finding.advice, 2 * kLongestText);
}

}  // namespace

Explanation Explain(const Report& report, std::string_view word) {
  Explanation out;
  const std::vector<NamedFinding> findings = NamedFindings(report);
  if (const NamedFinding* named = FindNamed(findings, word)) {
    ExplainFound(report, *named, &out);
  } else if (const FindingInfo* info = FindFinding(word.substr(0, word.find('#')))) {
    ExplainAbsence(report, *info, &out);
  } else if (const FactInfo* fact = FindFact(word)) {
    ExplainFact(report, *fact, &out);
  }
  return out;
}

std::string RenderExplanationJson(const Report& report, const Explanation& explanation) {
  Json json = {{"schema", "gprof.explain/1"},
               {"trace", CutText(report.Whole().head->path, kLongestText)},
               {"answer", AnswerName(explanation.answer)},
               {"id", explanation.id},
               {"meaning", explanation.meaning}};
  if (explanation.named) AddFinding(*explanation.named, &json);
  if (!explanation.metrics.empty()) json["metrics"] = Json::object();
  for (const Metric& metric : explanation.metrics) json["metrics"][std::string(metric.id)] = NumberJson(metric.value);
  if (!explanation.rows.rows.empty()) json["rows"] = RowsJson(explanation);
  if (!explanation.command.empty()) {
    json["check"] = {
        {"command", explanation.command}, {"sql", explanation.check.sql}, {"gives", explanation.check.what}};
  }
  if (!explanation.more.empty()) json["would_say_more"] = explanation.more;
  if (!explanation.lacks.empty()) json["not_recorded"] = explanation.lacks;
  return CompactText(json) + "\n";
}

}  // namespace gprof
