#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/facts/recording/unknown_facts.h"
#include "base/json_style.h"
#include "fleet/partial/keep_results.h"
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

// Most columns are what their unit says, and need no more words.
KeptJson ColumnJson(const Column& c) {
  KeptJson json = {c.key, c.title, c.unit, c.is_extra};
  if (c.role != RoleOf(c.unit) || !c.meaning.empty() || !c.of.empty()) {
    json.push_back(c.role), json.push_back(c.meaning), json.push_back(c.of);
  }
  return json;
}

Column ColumnFrom(const KeptJson& json) {
  Column column(json.at(0).get<std::string>(), json.at(1).get<std::string>(),
                std::min(json.at(2).get<Unit>(), Unit::kPerSecond), json.at(3).get<bool>());
  if (json.size() > 4) {
    column.role = std::min(json.at(4).get<ColumnRole>(), ColumnRole::kOwn);
    column.meaning = json.at(5).get<std::string>(), column.of = json.at(6).get<std::string>();
  }
  return column;
}

KeptJson TableJson(const Table& table) {
  KeptJson json = {{"id", table.id}, {"title", table.title}, {"note", table.note}, {"detail", table.is_detail}};
  json["of_ranks"] = table.of_ranks, json["left_out"] = table.rows_left_out;
  for (const Column& column : table.columns) json["columns"].push_back(ColumnJson(column));
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
  table.rows_left_out = std::clamp<int64_t>(json.at("left_out").get<int64_t>(), 0, INT32_MAX);
  table.of_ranks = std::min(json.at("of_ranks").get<RowsOfRanks>(), RowsOfRanks::kOfGpus);
  for (const KeptJson& column : json.at("columns")) table.columns.push_back(ColumnFrom(column));
  for (const KeptJson& cells : json.at("rows")) {
    std::vector<Cell> row;
    for (const KeptJson& cell : cells) row.push_back(CellFrom(cell));
    row.resize(table.columns.size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

KeptJson AnalysisJson(const KeptAnalysis& analysis) {
  KeptJson json = {
      {"name", analysis.name}, {"findings", analysis.result.findings}, {"headline", analysis.result.headline}};
  json["metrics"] = json["tables"] = KeptJson::array();
  for (const Metric& m : analysis.result.metrics) json["metrics"].push_back({m.id, m.scope, m.value});
  for (const Table& table : analysis.result.tables) json["tables"].push_back(TableJson(table));
  return json;
}

// Metrics of later versions are left out.
KeptAnalysis AnalysisFrom(const KeptJson& json) {
  KeptAnalysis analysis{json.at("name").get<std::string>(), {}};
  analysis.result.findings = json.at("findings").get<std::vector<Finding>>();
  json.at("headline").get_to(analysis.result.headline);
  for (const KeptJson& m : json.at("metrics")) {
    const MetricInfo* const info = FindMetric(m.at(0).get<std::string>());
    if (info == nullptr || !m.at(2).is_number()) continue;
    analysis.result.metrics.push_back({info->id, m.at(1).get<std::string>(), m.at(2).get<double>()});
  }
  for (const KeptJson& table : json.at("tables")) analysis.result.tables.push_back(TableFrom(table));
  return analysis;
}

KeptJson ResultsJson(const Results& kept) {
  KeptJson json = {{"traces", kept.traces},       {"amounts", kept.amounts}, {"unknown", FactsJson(kept.unknown)},
                   {"cost", kept.cost},           {"clocks", kept.clocks},   {"judged", kept.judged},
                   {"breakdown", kept.breakdown}, {"used", kept.is_used},    {"why_no_gpu_work", kept.why_no_gpu_work}};
  json["analyses"] = KeptJson::array();
  for (const KeptAnalysis& analysis : kept.analyses) json["analyses"].push_back(AnalysisJson(analysis));
  json["stats"] = KeptJson::array();
  for (const Table& table : kept.stats) json["stats"].push_back(TableJson(table));
  return json;
}

Results ResultsFrom(const KeptJson& json) {
  Results kept;
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

void CheckIndexes(const Results& kept) {
  const TraceHead& t = kept.head;
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
void FindCaptures(TraceHead* t) {
  t->process_captures.resize(t->processes.size());
  for (uint32_t i = 0; i < t->captures.size(); ++i) {
    const uint32_t process = t->captures[i].process;
    if (process >= t->processes.size()) throw WrongIndex{};
    TraceHead::Slice& slice = t->process_captures[process];
    if (slice.first == slice.last) slice.first = i;
    slice.last = i + 1;
  }
}

Results EntryFrom(const KeptJson& json) {
  Results kept = ResultsFrom(json.at("results"));
  TraceHead& t = kept.head;
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
  kept.cost.measured.function = names.Intern(head.at("slow_function").get<std::string>());
  FindCaptures(&t);
  CheckIndexes(kept);
  t.strings = names.Take();
  return kept;
}

}  // namespace

std::string KeptText(const Results& results) {
  const TraceHead& trace = results.head;
  KeptJson json;
  json["trace"] = {{"path", trace.path},
                   {"recorder", trace.recorder},
                   {"records", trace.record_count},
                   {"start_ns", trace.start_ns},
                   {"end_ns", trace.end_ns},
                   {"lacks", FactsJson(trace.lacks)},
                   {"health", trace.health},
                   {"slow_function", trace.Text(results.cost.measured.function)}};
  ForEachKeptList([&](const char* key, auto list) { json[key] = RowsJson(trace, trace.*list); });
  json["results"] = ResultsJson(results);
  return CompactText(json);
}

Results ParseKept(std::string_view text, const std::string& file) {
  const auto damaged = [&](const std::string& what) {
    return Error(ExitCode::kUnreadable, fmt::format("'{}' is damaged: {}", file, what),
                 "make it again with gprof-cli partial");
  };
  try {
    return EntryFrom(KeptJson::parse(text));
  } catch (const KeptJson::exception& error) {
    throw damaged(error.what());
  } catch (const WrongIndex&) {
    throw damaged("results of an entry do not fit together");
  }
}

}  // namespace gprof
