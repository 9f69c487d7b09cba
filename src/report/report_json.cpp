// The report for machines: schema gprof.report/1.
#include <set>
#include <string>

#include "analysis/facts/recording/unknown_facts.h"
#include "analysis/findings/change_catalogue.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/metrics.h"
#include "report/json_values.h"
#include "report/report.h"
#include "report/trace_words.h"
#include "report/trust.h"

namespace gprof {
namespace {

Json MetricJson(const Metric& metric) {
  Json json = {{"id", metric.id}, {"scope", metric.scope}, {"value", NumberJson(metric.value)}};
  if (const MetricInfo* info = FindMetric(metric.id)) {
    json["unit"] = UnitName(info->unit);
    json["better"] = BetterName(info->better);
    json["deterministic"] = info->is_deterministic;
  }
  return json;
}

// What it is about, as far as it says so.
Json SubjectJson(const Subject& subject) {
  Json json = Json::object();
  const auto add = [&](const char* key, const std::string& name) {
    if (!name.empty()) json[key] = name;
  };
  add("device", subject.device);
  add("stream", subject.stream);
  add("thread", subject.thread);
  add("process", subject.process);
  add("kernel", subject.kernel);
  add("range", subject.range);
  add("function", subject.function);
  add("direction", subject.direction);
  add("trace", subject.trace);
  add("line", subject.line);
  if (!subject.causes.empty()) json["causes"] = subject.causes;
  return json;
}

Json FindingJson(const RankedFinding& ranked) {
  const Finding& finding = *ranked.finding;
  const FindingInfo* const info = FindFinding(finding.id);
  const std::optional<double> percent = ranked.PercentOfRun();
  return {{"id", finding.id},
          {"severity", SeverityName(finding.severity)},
          {"message", finding.message},
          {"evidence", finding.evidence},
          {"advice", finding.advice},
          {"try", ChangesFor(finding.id)},
          {"gain_ns", ranked.GainNs()},
          {"gain_percent_of_run", percent ? Json(*percent) : Json()},
          {"claims", ranked.claims},
          {"basis", finding.basis},
          {"is_measured", finding.is_measured},
          {"same_as", ranked.leader == nullptr ? Json() : Json(ranked.leader->id)},
          {"is_minor", ranked.is_minor},
          {"table", info == nullptr ? std::string_view() : info->table},
          {"subject", SubjectJson(finding.subject)}};
}

Json NotRecordedJson(const RunFacts& run) {
  Json json = Json::array();
  ForEachFact(run.unknown, [&](Fact fact) {
    json.push_back({{"fact", InfoOf(fact).key}, {"why", WhyUnknown(*run.head, fact)}});
  });
  return json;
}

Json TraceJson(const TraceSummary& t) {
  return {{"path", t.path},
          {"ranks", t.ranks},
          {"host", t.host},
          {"wall_ns", t.wall_ns},
          {"gpu_window_ns", t.window_ns},
          {"gpu_busy_ns", t.busy_ns},
          {"gpu_idle_ns", t.IdleNs()},
          {"idle_cause", t.idle_cause.empty() ? Json() : Json(t.idle_cause)},
          {"idle_cause_ns", t.idle_cause_ns},
          {"kernels", t.kernels},
          {"complete", t.is_complete},
          {"straggler", t.is_wall_straggler || t.is_busy_straggler}};
}

constexpr std::string_view kRangeScope = "nvtx:";

// The scopes of the first ranges of the table `nvtx`, which took most time.
std::set<std::string> RangesWithMetrics(const Report& report) {
  std::set<std::string> scopes;
  for (const Section& section : report.sections) {
    for (const Metric& metric : section.result.metrics) {
      if (scopes.size() == report.metric_ranges) return scopes;
      if (metric.scope.starts_with(kRangeScope)) scopes.insert(metric.scope);
    }
  }
  return scopes;
}

void AddMetrics(const Report& report, Json* json) {
  Json metrics = Json::array();
  const std::set<std::string> ranges = RangesWithMetrics(report);
  for (const Section& section : report.sections) {
    for (const Metric& metric : section.result.metrics) {
      const bool is_shown = !metric.scope.starts_with(kRangeScope) || ranges.contains(metric.scope);
      if (is_shown) metrics.push_back(MetricJson(metric));
    }
  }
  (*json)["metrics"] = std::move(metrics);
}

// They are most of the document. That they are left out is said: a reader would take no table for no rows.
void AddTables(const Report& report, Json* json) {
  Json tables = Json::array();
  std::size_t left_out = 0;
  for (const Section& section : report.sections) {
    for (const Table& table : section.result.tables) {
      if (report.has_tables) {
        tables.push_back(TableJson(table, section.analysis->name));
      } else {
        ++left_out;
      }
    }
  }
  if (report.has_tables) {
    (*json)["tables"] = std::move(tables);
  } else {
    (*json)["tables_left_out"] = left_out;
  }
}

Json ReportJson(const Report& report) {
  Json json;
  json["schema"] = "gprof.report/1";
  AddTraceFacts(*report.Whole().head, &json);
  json["trust"] = TrustJson(report.Whole());
  if (!report.traces.empty()) {
    json["traces"] = Json::array();
    for (const TraceSummary& t : report.traces) json["traces"].push_back(TraceJson(t));
  }
  json["selected"] = report.selected;
  json["not_recorded"] = NotRecordedJson(report.run);
  json["no_gpu_work"] = report.Whole().why_no_gpu_work;
  json["findings"] = Json::array();
  for (const RankedFinding& ranked : RankedFindings(report)) json["findings"].push_back(FindingJson(ranked));
  if (report.has_findings_alone) return json;
  AddMetrics(report, &json);
  AddTables(report, &json);
  return json;
}

}  // namespace

std::string RenderReportJson(const Report& report) { return ToText(ReportJson(report)); }

std::string RenderCompactReportJson(const Report& report) { return CompactText(ReportJson(report)); }

}  // namespace gprof
