#include "html/page/fleet_page.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include "analysis/result/idle_causes.h"
#include "base/json_style.h"
#include "base/text.h"
#include "base/units.h"
#include "html/timeline/byte_columns.h"
#include "report/json_values.h"

namespace gprof {
namespace {

// Of the steps of a rank, by entry.
using Figure = std::function<int64_t(std::size_t rank, std::size_t entry)>;

class HeatWriter {
 public:
  explicit HeatWriter(const FleetVerdict& verdict) : verdict_(verdict) {
    for (std::size_t i = 0; i < verdict.steps.own_ns.size(); ++i) {
      if (!verdict.steps.own_ns[i].empty()) ranks_.push_back(i);
    }
  }

  const std::vector<std::size_t>& ranks() const { return ranks_; }
  const std::string& blob() const { return blob_; }

  Json Measures() {
    Json measures = Json::array();
    const auto steps = [this](std::size_t rank) -> const StepColumns& { return verdict_.ranks[rank].rank->steps; };
    const auto add = [&](std::string_view id, std::string_view title, const Figure& figure) {
      Json measure = Measure(id, title, figure);
      if (!measure.is_null()) measures.push_back(std::move(measure));
    };
    add("own", "own time", [this](std::size_t rank, std::size_t i) { return verdict_.steps.own_ns[rank][i]; });
    add("wall", "wall time", [&](std::size_t rank, std::size_t i) { return steps(rank).wall_ns[i]; });
    add("busy", "GPU busy",
        [&](std::size_t rank, std::size_t i) { return steps(rank).kernel_ns[i] + steps(rank).copy_ns[i]; });
    add("exposed", "exposed communication", [&](std::size_t rank, std::size_t i) { return steps(rank).exposed_ns[i]; });
    add("idle", "idle", [&](std::size_t rank, std::size_t i) {
      int64_t sum_ns = 0;
      for (const auto& column : steps(rank).idle_ns) sum_ns += column[i];
      return sum_ns;
    });
    ForEachCause([&](Cause cause) {
      const std::string name(InfoOf(cause).name);
      add("idle." + name, "idle: " + name,
          [&](std::size_t rank, std::size_t i) { return steps(rank).idle_ns[static_cast<std::size_t>(cause)][i]; });
    });
    return measures;
  }

 private:
  // Null where all is 0, but of what is never left out.
  Json Measure(std::string_view id, std::string_view title, const Figure& figure) {
    constexpr int64_t kMost = (1 << 14) - 1;  // two bytes of a varint: finer than any shade
    int64_t largest_ns = 0;
    const std::size_t entries = verdict_.steps.median_ns.size();
    for (const std::size_t rank : ranks_) {
      for (std::size_t i = 0; i < entries; ++i) largest_ns = std::max(largest_ns, figure(rank, i));
    }
    if (largest_ns == 0 && id != "own") return nullptr;
    const int64_t unit_ns = std::max<int64_t>((largest_ns + kMost - 1) / kMost, 1);
    ColumnWriter column(id, Coding::kVarint);
    for (const std::size_t rank : ranks_) {
      for (std::size_t i = 0; i < entries; ++i) {
        column.Add(static_cast<uint64_t>((std::max<int64_t>(figure(rank, i), 0) + unit_ns / 2) / unit_ns));
      }
    }
    Json json = {
        {"id", id}, {"title", title}, {"unit_ns", unit_ns}, {"offset", blob_.size()}, {"bytes", column.bytes().size()}};
    blob_ += column.bytes();
    return json;
  }

  const FleetVerdict& verdict_;
  std::vector<std::size_t> ranks_;  // indices of those on the map
  std::string blob_;
};

// That names the rank, or its host.
std::string FindingOf(const FleetVerdict& verdict, const RankVerdict& rank) {
  for (const Finding& finding : verdict.findings) {
    const std::string& about = finding.subject.process;
    if (about == NameOf(*rank.rank)) return finding.message;
    if (rank.is_straggler && about == rank.rank->host) return finding.message;
  }
  return "";
}

Json RankJson(const FleetVerdict& verdict, const RankVerdict& rank, const FleetWords& words) {
  const RankSummary& summary = *rank.rank;
  const auto path = words.paths.find(summary.source);
  return {{"rank", summary.rank},
          {"name", NameOf(summary)},
          {"host", summary.host},
          {"gpu", summary.gpus.empty() ? "" : summary.gpus.front()},
          {"source", summary.source},
          {"path", path == words.paths.end() ? "" : path->second},
          {"own_ns", rank.own_ns},
          {"above_median_ns", rank.above_median_ns},
          {"wall_ns", summary.wall_ns},
          {"finding", FindingOf(verdict, rank)},
          {"problems", Joined(summary.problems, "; ")}};
}

Json HeatJson(const FleetVerdict& verdict, const FleetWords& words, HeatWriter* writer) {
  if (writer->ranks().empty()) return nullptr;
  Json ranks = Json::array();
  for (const std::size_t rank : writer->ranks()) ranks.push_back(RankJson(verdict, verdict.ranks[rank], words));
  return {{"path", verdict.steps.path},
          {"is_time", verdict.steps.IsOverTime()},
          {"steps_in_one", verdict.steps.steps_in_one},
          {"columns", verdict.steps.median_ns.size()},
          {"ranks", std::move(ranks)},
          {"measures", writer->Measures()}};
}

}  // namespace

PageContents PageOfFleet(const FleetVerdict& verdict, const FleetWords& words) {
  Json json = {{"lines", words.lines}};
  json["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) {
    json["findings"].push_back({{"id", finding.id},
                                {"severity", SeverityName(finding.severity)},
                                {"message", finding.message},
                                {"evidence", finding.evidence},
                                {"advice", finding.advice}});
  }
  json["tables"] = Json::array();
  for (const Table& table : verdict.tables) json["tables"].push_back(TableJson(table, "fleet"));
  HeatWriter writer(verdict);
  json["heat"] = HeatJson(verdict, words, &writer);
  PageContents contents;
  contents.title = words.title;
  const auto stragglers = std::count_if(verdict.ranks.begin(), verdict.ranks.end(),
                                        [](const RankVerdict& rank) { return rank.is_straggler; });
  contents.verdict = stragglers == 0
                         ? "No rank stands out"
                         : CountOf(stragglers, "rank") + (stragglers == 1 ? " holds" : " hold") + " up the others";
  contents.fleet = CompactText(json);
  contents.fleet_blob = writer.blob();
  return contents;
}

}  // namespace gprof
