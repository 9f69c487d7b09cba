#include "fleet/partial/kept_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/result/kept_results.h"
#include "analysis/trust/unknown_facts.h"
#include "base/json_style.h"
#include "fleet/partial/kept_rows.h"
#include "fleet/partial/kept_structs.h"
#include "gprof/error.h"
#include "trace/model/name_table.h"

namespace gprof {
namespace {

using KeptJson = nlohmann::json;  // keys in the order of the alphabet

KeptJson FactsJson(FactSet facts) {
  KeptJson json = KeptJson::array();
  ForEachFact(facts, [&](Fact fact) { json.push_back(InfoOf(fact).key); });
  return json;
}

// Facts of later versions are left out.
FactSet FactsFrom(const KeptJson& json) {
  FactSet facts = FactSet::None();
  for (const KeptJson& key : json) {
    if (const FactInfo* const info = FindFact(key.get<std::string>())) facts |= info->fact;
  }
  return facts;
}

KeptJson CellsJson(const std::vector<Cell>& cells) {
  KeptJson json = KeptJson::array();
  for (const Cell& cell : cells) {
    json.push_back(std::visit(
        [](const auto& value) -> KeptJson {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
            return nullptr;
          } else {
            return value;
          }
        },
        cell));
  }
  return json;
}

Cell CellFrom(const KeptJson& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_float()) return json.get<double>();
  return json.get<int64_t>();
}

KeptJson TableJson(const Table& table) {
  KeptJson json = {{"id", table.id}, {"title", table.title}, {"note", table.note}, {"detail", table.is_detail}};
  for (const Column& c : table.columns) json["columns"].push_back({c.key, c.title, c.unit, c.is_extra});
  json["rows"] = KeptJson::array();
  for (const auto& row : table.rows) json["rows"].push_back(CellsJson(row));
  return json;
}

Table TableFrom(const KeptJson& json) {
  Table table;
  json.at("id").get_to(table.id);
  json.at("title").get_to(table.title);
  json.at("note").get_to(table.note);
  json.at("detail").get_to(table.is_detail);
  for (const KeptJson& c : json.at("columns")) {
    table.columns.push_back({c.at(0).get<std::string>(), c.at(1).get<std::string>(),
                             std::min(c.at(2).get<Unit>(), Unit::kPerSecond), c.at(3).get<bool>()});
  }
  for (const KeptJson& cells : json.at("rows")) {
    std::vector<Cell> row;
    for (const KeptJson& cell : cells) row.push_back(CellFrom(cell));
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

KeptJson AnalysisJson(const KeptAnalysis& analysis) {
  KeptJson json = {{"name", analysis.name}, {"findings", analysis.result.findings}};
  json["metrics"] = json["tables"] = KeptJson::array();
  for (const Metric& m : analysis.result.metrics) json["metrics"].push_back({m.id, m.scope, m.value});
  for (const Table& table : analysis.result.tables) json["tables"].push_back(TableJson(table));
  return json;
}

// Metrics of later versions are left out.
KeptAnalysis AnalysisFrom(const KeptJson& json) {
  KeptAnalysis analysis{json.at("name").get<std::string>(), {}};
  analysis.result.findings = json.at("findings").get<std::vector<Finding>>();
  for (const KeptJson& m : json.at("metrics")) {
    const MetricInfo* const info = FindMetric(m.at(0).get<std::string>());
    if (info == nullptr || !m.at(2).is_number()) continue;
    analysis.result.metrics.push_back({info->id, m.at(1).get<std::string>(), m.at(2).get<double>()});
  }
  for (const KeptJson& table : json.at("tables")) analysis.result.tables.push_back(TableFrom(table));
  return analysis;
}

KeptJson ResultsJson(const KeptResults& kept) {
  KeptJson json = {{"traces", kept.traces},       {"amounts", kept.amounts}, {"unknown", FactsJson(kept.unknown)},
                   {"cost", kept.cost},           {"clocks", kept.clocks},   {"judged", kept.judged},
                   {"breakdown", kept.breakdown}, {"used", kept.is_used},    {"why_no_gpu_work", kept.why_no_gpu_work}};
  json["analyses"] = KeptJson::array();
  for (const KeptAnalysis& analysis : kept.analyses) json["analyses"].push_back(AnalysisJson(analysis));
  json["stats"] = KeptJson::array();
  for (const Table& table : kept.stats) json["stats"].push_back(TableJson(table));
  return json;
}

KeptResults ResultsFrom(const KeptJson& json) {
  KeptResults kept;
  json.at("traces").get_to(kept.traces);
  json.at("amounts").get_to(kept.amounts);
  kept.unknown = FactsFrom(json.at("unknown"));
  json.at("cost").get_to(kept.cost);
  json.at("clocks").get_to(kept.clocks);
  json.at("judged").get_to(kept.judged);
  json.at("breakdown").get_to(kept.breakdown);
  json.at("used").get_to(kept.is_used);
  json.at("why_no_gpu_work").get_to(kept.why_no_gpu_work);
  for (const KeptJson& analysis : json.at("analyses")) kept.analyses.push_back(AnalysisFrom(analysis));
  // Partials of earlier versions have none.
  for (const KeptJson& table : json.value("stats", KeptJson::array())) kept.stats.push_back(TableFrom(table));
  return kept;
}

struct WrongIndex {};

void CheckIndex(uint32_t index, size_t size) {
  if (index != kNone && index >= size) throw WrongIndex{};
}

void CheckIndexes(const Trace& t, const KeptResults& kept) {
  for (const Device& device : t.devices) CheckIndex(device.process, t.processes.size());
  for (const Thread& thread : t.threads) CheckIndex(thread.process, t.processes.size());
  for (const Loss& loss : t.losses) CheckIndex(loss.process, t.processes.size());
  for (const Notice& notice : t.notices) CheckIndex(notice.process, t.processes.size());
  for (const Clock& clock : t.clocks) CheckIndex(clock.process, t.processes.size());
  for (const ThreadCost& cost : kept.cost.threads) {
    if (cost.thread >= t.threads.size()) throw WrongIndex{};
  }
  CheckIndex(kept.cost.measured.process, t.processes.size());
  if (kept.is_used.size() != t.devices.size() || kept.traces.size() != 1) throw WrongIndex{};
}

// Captures of a process follow each other.
void FindCaptures(Trace* t) {
  t->process_captures.resize(t->processes.size());
  for (uint32_t i = 0; i < t->captures.size(); ++i) {
    const uint32_t process = t->captures[i].process;
    if (process >= t->processes.size()) throw WrongIndex{};
    Trace::Slice& slice = t->process_captures[process];
    if (slice.first == slice.last) slice.first = i;
    slice.last = i + 1;
  }
}

Trace TraceFrom(const KeptJson& json) {
  Trace t;
  NameTable names;
  const KeptJson& head = json.at("trace");
  head.at("path").get_to(t.path);
  head.at("recorder").get_to(t.recorder);
  head.at("records").get_to(t.record_count);
  head.at("start_ns").get_to(t.start_ns);
  head.at("end_ns").get_to(t.end_ns);
  t.lacks = FactsFrom(head.at("lacks"));
  head.at("health").get_to(t.health);
  ForEachKeptList([&](const char* key, auto list) { ReadRows(json.at(key), &names, &(t.*list)); });
  KeptResults kept = ResultsFrom(json.at("results"));
  kept.cost.measured.function = names.Intern(head.at("slow_function").get<std::string>());
  FindCaptures(&t);
  CheckIndexes(t, kept);
  t.device_ops.resize(t.devices.size());
  t.thread_api_calls.resize(t.threads.size());
  t.thread_ranges.resize(t.threads.size());
  t.strings = names.Take();
  t.kept = std::make_shared<const KeptResults>(std::move(kept));
  return t;
}

}  // namespace

std::string KeptText(const Trace& trace) {
  KeptJson json;
  json["trace"] = {{"path", trace.path},
                   {"recorder", trace.recorder},
                   {"records", trace.record_count},
                   {"start_ns", trace.start_ns},
                   {"end_ns", trace.end_ns},
                   {"lacks", FactsJson(trace.lacks)},
                   {"health", trace.health},
                   {"slow_function", trace.Text(trace.kept->cost.measured.function)}};
  ForEachKeptList([&](const char* key, auto list) { json[key] = RowsJson(trace, trace.*list); });
  json["results"] = ResultsJson(*trace.kept);
  return CompactText(json);
}

Trace ParseKept(std::string_view text, const std::string& file) {
  const auto damaged = [&](const std::string& what) {
    return Error(ExitCode::kUnreadable, fmt::format("'{}' is damaged: {}", file, what),
                 "make it again with gprof-cli partial");
  };
  try {
    return TraceFrom(KeptJson::parse(text));
  } catch (const KeptJson::exception& error) {
    throw damaged(error.what());
  } catch (const WrongIndex&) {
    throw damaged("results of an entry do not fit together");
  }
}

}  // namespace gprof
