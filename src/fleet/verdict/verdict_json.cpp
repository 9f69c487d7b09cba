#include <algorithm>
#include <string>
#include <utility>

#include "analysis/result/tables.h"
#include "fleet/verdict/fleet_verdict.h"
#include "gprof/version.h"
#include "report/json_values.h"

namespace gprof {
namespace {

Json TableJson(const Table& table) {
  Json json = {{"id", table.id}, {"title", table.title}, {"note", NoteOf(table)}};
  json["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i) object[table.columns[i].key] = CellJson(row[i]);
    json["rows"].push_back(std::move(object));
  }
  return json;
}

Json StepsJson(const FleetVerdict& verdict) {
  if (verdict.steps.median_ns.empty()) return nullptr;
  Json json = {{"path", verdict.steps.path},
               {"steps_in_one", verdict.steps.steps_in_one},
               {"median_own_ns", verdict.steps.median_ns}};
  json["ranks"] = Json::array();
  for (std::size_t i = 0; i < verdict.steps.own_ns.size(); ++i) {
    if (verdict.steps.own_ns[i].empty()) continue;
    const StepColumns& steps = verdict.ranks[i].rank->steps;
    Json idle = Json::object();
    ForEachCause([&](Cause cause) {
      const auto& column = steps.idle_ns[static_cast<std::size_t>(cause)];
      if (std::ranges::any_of(column, [](int64_t ns) { return ns != 0; })) {
        idle[std::string(InfoOf(cause).name)] = column;
      }
    });
    json["ranks"].push_back({{"rank", verdict.ranks[i].rank->rank},
                             {"trace", verdict.ranks[i].rank->source},
                             {"own_ns", verdict.steps.own_ns[i]},
                             {"wall_ns", steps.wall_ns},
                             {"kernel_ns", steps.kernel_ns},
                             {"copy_ns", steps.copy_ns},
                             {"exposed_ns", steps.exposed_ns},
                             {"idle_ns", std::move(idle)}});
  }
  return json;
}

Json PartsJson(const PathParts& parts) {
  Json json = Json::object();
  json["kernel_ns"] = parts[kPathKernels];
  json["copy_ns"] = parts[kPathCopies];
  json["exposed_ns"] = parts[kPathExposed];
  json["idle_ns"] = Json::object();
  ForEachCause([&](Cause cause) {
    const int64_t ns = parts[kPathIdle + static_cast<std::size_t>(cause)];
    if (ns != 0) json["idle_ns"][std::string(InfoOf(cause).name)] = ns;
  });
  json["outside_ns"] = parts[kPathOutside];
  return json;
}

// What is known of turns, whether ranks take them or not.
Json TurnsJson(const FleetVerdict& verdict) {
  const Turns& turns = verdict.path.turns;
  if (turns.steps == 0) return nullptr;
  Json json = {{"are_taken", turns.AreTaken()},     {"steps", turns.steps},
               {"path_ns", turns.path_ns},          {"communication_ns", turns.communication_ns},
               {"taken_ns", turns.taken_ns},        {"hand_overs", turns.hand_overs},
               {"parts", PartsJson(turns.parts_ns)}};
  json["turns"] = Json::array();
  for (const RankTurn& turn : turns.turns) {
    Json ranks = Json::array();
    for (const std::size_t rank : turn.ranks) ranks.push_back(verdict.ranks[rank].rank->rank);
    json["turns"].push_back({{"ranks", std::move(ranks)},
                             {"path_ns", turn.path_ns},
                             {"alone_ns", turn.alone_ns},
                             {"waiting_ns", turn.waiting_ns}});
  }
  return json;
}

Json PathJson(const FleetVerdict& verdict) {
  const JobPath& path = verdict.path;
  if (path.wall_ns == 0) return nullptr;
  Json json = {{"wall_ns", path.wall_ns},
               {"above_median_ns", path.above_median_ns},
               {"ranks_wait_for_one_another", path.are_linked},
               {"parts", PartsJson(path.parts_ns)},
               {"median_parts", PartsJson(path.median_ns)},
               {"turns", TurnsJson(verdict)}};
  json["slowest"] = Json::array();
  for (const std::size_t rank : path.slowest) json["slowest"].push_back(verdict.ranks[rank].rank->rank);
  return json;
}

}  // namespace

std::string VerdictJson(const FleetVerdict& verdict) {
  Json json;
  json["schema"] = "gprof.analyze/1";
  json["gprof_cli"] = gprof::kVersion;
  json["ranks"] = verdict.ranks.size();
  json["world_size"] = verdict.world_size > 0 ? Json(verdict.world_size) : Json(nullptr);
  json["missing"] = verdict.missing;
  json["unreadable"] = Json::array();
  for (const RankSummary* rank : verdict.unreadable) {
    json["unreadable"].push_back({{"trace", rank->source}, {"why", rank->unreadable}});
  }
  json["incomplete"] = Json::array();
  for (const RankVerdict& rank : verdict.ranks) {
    if (rank.rank->is_complete) continue;
    json["incomplete"].push_back(
        {{"rank", rank.rank->rank}, {"trace", rank.rank->source}, {"problems", rank.rank->problems}});
  }
  json["duplicates"] = Json::array();
  for (const FleetVerdict::Duplicate& twice : verdict.duplicates) {
    json["duplicates"].push_back(
        {{"rank", twice.excluded->rank}, {"trace", twice.excluded->source}, {"kept", twice.kept->source}});
  }
  json["alignment"] = {{"communicators", verdict.alignment.meetings.size()},
                       {"unfit", verdict.alignment.unfit},
                       {"residual_ns", verdict.alignment.residual_ns},
                       {"residual_p95_ns", verdict.alignment.worst_residual_ns}};
  json["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"about", finding.subject.process},
                                {"message", finding.message},
                                {"evidence", finding.evidence},
                                {"advice", finding.advice},
                                {"gain_ns", finding.gain_ns},
                                {"basis", finding.basis}});
  }
  json["steps"] = StepsJson(verdict);
  json["critical_path"] = PathJson(verdict);
  json["tables"] = Json::array();
  for (const Table& table : verdict.tables) json["tables"].push_back(TableJson(table));
  return ToText(json);
}

}  // namespace gprof
