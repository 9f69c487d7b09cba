// What the steps of all ranks together tell: the critical path of the run, how long steps take, and in which of them
// somebody is behind.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/used_devices.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/units.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr size_t kNamedRanks = 3;
constexpr double kWorthNamingPercent = 2;  // above the median, as on the map of ranks and steps

size_t LargestPart(const PathParts& parts) {
  return static_cast<size_t>(std::ranges::max_element(parts) - parts.begin());
}

// Entries stand for several steps, the last one for what is left.
int64_t StepsIn(const FleetVerdict& verdict, size_t entry) {
  const StepMatrix& matrix = verdict.steps;
  const int64_t before = static_cast<int64_t>(entry) * matrix.steps_in_one;
  for (size_t i = 0; i < matrix.own_ns.size(); ++i) {
    if (!matrix.own_ns[i].empty()) {
      return std::clamp<int64_t>(verdict.ranks[i].rank->steps.count - before, 1, matrix.steps_in_one);
    }
  }
  return 1;
}

// "17", "33-40"; counted from 1.
std::string StepName(const FleetVerdict& verdict, size_t entry) {
  const int64_t first = static_cast<int64_t>(entry) * verdict.steps.steps_in_one + 1;
  const int64_t last = first + StepsIn(verdict, entry) - 1;
  return std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
}

Table PathOfTurns(const FleetVerdict& verdict, Table table) {
  const Turns& turns = verdict.path.turns;
  table.note =
      "Ranks take turns: back from the end of each step, along the work of a rank, and from its wait to the rank "
      "that came last. The work of a rank is divided as all of its own time is.";
  for (size_t part = 0; part < kPathPartCount; ++part) {
    if (turns.parts_ns[part] == 0) continue;
    table.rows.push_back({PercentOf(turns.parts_ns[part], turns.path_ns), turns.parts_ns[part], Cell(),
                          PathPartName(part, verdict.HasGpuWork())});
  }
  SortAndCut(&table, 1, 3, 0);
  return table;
}

Table TurnsTable(const FleetVerdict& verdict, uint32_t max_rows) {
  const Turns& turns = verdict.path.turns;
  Table table{
      "turns",
      "Ranks that take turns within a step",
      {{"ranks", "Ranks", Unit::kText, false},
       {"percent", "Time (%)", Unit::kPercent, false},
       {"path_ns", "Time on the path", Unit::kNs, false},
       {"alone_ns", "Most others wait", Unit::kNs, false},
       {"waiting_ns", "Waits for others", Unit::kNs, false},
       {"waiting_percent", "Waits (%)", Unit::kPercent, false, ColumnRole::kOwn}},
      {},
      "Of " + CountOf(turns.steps, "step") + ". Most others wait: of its time on the path, that in which at least " +
          "half of all other ranks wait. Waits for others: each of these ranks, while others on the path work."};
  if (!turns.AreTaken()) return table;
  for (const RankTurn& turn : turns.turns) {
    table.rows.push_back({RanksOf(verdict, turn), PercentOf(turn.path_ns, turns.path_ns), turn.path_ns, turn.alone_ns,
                          turn.waiting_ns, PercentOf(turn.waiting_ns, turns.path_ns)});
  }
  CutRows(&table, max_rows);
  return table;
}

Table PathTable(const FleetVerdict& verdict) {
  const JobPath& path = verdict.path;
  Table table{"critical_path",
              "Critical path of the run",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"time_ns", "Time", Unit::kNs, false},
               {"median_ns", "Median rank", Unit::kNs, false, ColumnRole::kMedian},
               {"part", verdict.HasGpuWork() ? "GPU activity" : "Activity", Unit::kText, false}},
              {},
              path.are_linked
                  ? "In each step, of the rank with the most own time: the others wait for it. Median rank: "
                    "the same steps."
                  : "The ranks do not wait for one another, so the run takes as long as its longest rank."};
  if (path.turns.AreTaken()) return PathOfTurns(verdict, std::move(table));
  for (size_t part = 0; part < kPathPartCount; ++part) {
    if (path.parts_ns[part] == 0) continue;
    table.rows.push_back({PercentOf(path.parts_ns[part], path.wall_ns), path.parts_ns[part], path.median_ns[part],
                          PathPartName(part, verdict.HasGpuWork())});
  }
  SortAndCut(&table, 1, 3, 0);
  return table;
}

Table RanksOnPathTable(const FleetVerdict& verdict, uint32_t max_rows) {
  Table table{"critical_ranks",
              "Ranks on the critical path",
              {{"rank", "Rank", Unit::kText, false},
               {"entries", verdict.steps.IsOverTime() || verdict.steps.steps_in_one > 1 ? "Slices" : "Steps",
                Unit::kCount, false},
               {"wall_ns", "Time", Unit::kNs, false},
               {"above_median_ns", "Above median", Unit::kNs, false,
                "own time in these steps that the median rank does not have"},
               {"mostly", "Mostly", Unit::kText, false, "what it has the most of above the median rank"},
               {"host", "Host", Unit::kText, true}},
              {},
              ""};
  if (!verdict.path.are_linked || verdict.path.turns.AreTaken()) return table;
  for (const RankOnPath& of : verdict.path.ranks) {
    table.rows.push_back({NameInTables(verdict.ranks[of.rank]), of.entries, of.wall_ns, of.above_median_ns,
                          PathPartName(LargestPart(of.above_ns), verdict.HasGpuWork()),
                          verdict.ranks[of.rank].rank->host});
  }
  CutRows(&table, max_rows);
  return table;
}

// One figure of all steps of all ranks, and where it is largest.
class Spread {
 public:
  explicit Spread(std::string name) : name_(std::move(name)) {}

  void Add(int64_t ns, size_t rank, size_t entry) {
    if (values_.empty() || ns > values_[most_]) most_ = values_.size(), rank_ = rank, entry_ = entry;
    values_.push_back(ns);
  }

  void AddRow(const FleetVerdict& verdict, Table* table) {
    if (values_.empty() || values_[most_] <= 0) return;
    const int64_t most_ns = values_[most_];
    table->rows.push_back({name_, Percentile(0), Percentile(50), Percentile(95), Percentile(99), most_ns,
                           NameInTables(verdict.ranks[rank_]), StepName(verdict, entry_)});
  }

 private:
  // The value that at least so many percent do not exceed.
  int64_t Percentile(size_t percent) {
    const size_t at = std::max<size_t>((values_.size() * percent + 99) / 100, 1) - 1;
    std::nth_element(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(at), values_.end());
    return values_[at];
  }

  std::string name_;
  std::vector<int64_t> values_;
  size_t most_ = 0, rank_ = 0, entry_ = 0;
};

Table StepTimesTable(const FleetVerdict& verdict) {
  const StepMatrix& matrix = verdict.steps;
  Table table{"step_times",
              "Step times of all ranks: " + matrix.path,
              {{"part", "Time", Unit::kText, false},
               {"min_ns", "Min", Unit::kNs, true, ColumnRole::kLeast},
               {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"p95_ns", "p95", Unit::kNs, false},
               {"p99_ns", "p99", Unit::kNs, true},
               {"max_ns", "Max", Unit::kNs, false, ColumnRole::kMost},
               {"max_rank", "Max in rank", Unit::kText, false},
               {"max_step", "Max in step", Unit::kText, false}},
              {},
              "Over all ranks and steps."};
  if (matrix.steps_in_one > 1)
    table.note += " Each figure is a mean of " + std::to_string(matrix.steps_in_one) + " steps in a row.";
  if (matrix.IsOverTime() || matrix.median_ns.empty()) return table;
  Spread wall("step"), own("own time");
  std::vector<Spread> parts;
  for (size_t part = 0; part < kPathPartCount; ++part) parts.emplace_back(PathPartName(part, verdict.HasGpuWork()));
  for (size_t rank = 0; rank < matrix.own_ns.size(); ++rank) {
    for (size_t entry = 0; entry < matrix.own_ns[rank].size(); ++entry) {
      const StepColumns& steps = verdict.ranks[rank].rank->steps;
      const int64_t count = StepsIn(verdict, entry);
      wall.Add(steps.wall_ns[entry] / count, rank, entry);
      own.Add(matrix.own_ns[rank][entry] / count, rank, entry);
      const PathParts ns = PartsOf(steps, entry);
      for (size_t part = 0; part < kPathPartCount; ++part) parts[part].Add(ns[part] / count, rank, entry);
    }
  }
  wall.AddRow(verdict, &table);
  own.AddRow(verdict, &table);
  for (Spread& part : parts) part.AddRow(verdict, &table);
  return table;
}

// Those whose own time stands out, the most first.
std::string SlowestText(const FleetVerdict& verdict, size_t entry) {
  const StepMatrix& matrix = verdict.steps;
  std::vector<size_t> ranks;
  for (size_t i = 0; i < matrix.own_ns.size(); ++i) {
    if (matrix.own_ns[i].empty()) continue;
    const int64_t above_ns = matrix.own_ns[i][entry] - matrix.median_ns[entry];
    if (PercentOf(above_ns, matrix.median_ns[entry]) >= kWorthNamingPercent) ranks.push_back(i);
  }
  const size_t named = std::min(ranks.size(), kNamedRanks);
  std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ranks.end(),
                    [&](size_t a, size_t b) {
                      const int64_t of_a = matrix.own_ns[a][entry], of_b = matrix.own_ns[b][entry];
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  std::string text;
  for (size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + NameInTables(verdict.ranks[ranks[i]]);
  return text + (ranks.size() > named ? ", " + std::to_string(ranks.size() - named) + " more" : "");
}

Table SlowStepsTable(const FleetVerdict& verdict, uint32_t max_rows) {
  const StepMatrix& matrix = verdict.steps;
  const std::string word = matrix.IsOverTime() ? "Slice" : "Step";
  Table table{"steps",
              word + "s by time lost to the slowest rank",
              {{"step", word, Unit::kText, false},
               {"above_median_ns", "Above median", Unit::kNs, false},
               {"own_ns", "Longest own time", Unit::kNs, false},
               {"median_ns", "Median own time", Unit::kNs, false, ColumnRole::kMedian},
               {"mostly", "Mostly", Unit::kText, false, "what the slowest rank has the most of above the median rank"},
               {"slowest", "Slowest ranks", Unit::kText, false, "those at least 2% above the median"},
               {"wall_ns", "Wall time", Unit::kNs, true}},
              {},
              "Own time: all time except exposed collectives and MPI calls."};
  if (!verdict.path.are_linked || verdict.path.turns.AreTaken()) return table;
  std::vector<std::pair<int64_t, size_t>> order;  // above the median; entry
  for (size_t entry = 0; entry < verdict.path.slowest.size(); ++entry) {
    order.emplace_back(matrix.own_ns[verdict.path.slowest[entry]][entry] - matrix.median_ns[entry], entry);
  }
  std::ranges::stable_sort(order, std::greater(), [](const auto& x) { return x.first; });
  const size_t shown = RowsShown(order.size(), max_rows);
  for (size_t i = 0; i < shown; ++i) {
    const auto [above_ns, entry] = order[i];
    const size_t rank = verdict.path.slowest[entry];
    PathParts above = PartsOf(verdict.ranks[rank].rank->steps, entry);
    for (size_t part = 0; part < kPathPartCount; ++part) above[part] -= verdict.path.medians_ns[entry][part];
    const std::string slowest = SlowestText(verdict, entry);
    table.rows.push_back({StepName(verdict, entry), above_ns, matrix.own_ns[rank][entry], matrix.median_ns[entry],
                          slowest.empty() ? Cell() : Cell(PathPartName(LargestPart(above), verdict.HasGpuWork())),
                          slowest, verdict.ranks[rank].rank->steps.wall_ns[entry]});
  }
  CountLeftOut(&table, order.size());
  return table;
}

}  // namespace

std::vector<Table> StepTables(const FleetVerdict& verdict, uint32_t max_rows) {
  if (verdict.path.wall_ns == 0) return {};
  return {PathTable(verdict), TurnsTable(verdict, max_rows), RanksOnPathTable(verdict, max_rows),
          StepTimesTable(verdict), SlowStepsTable(verdict, max_rows)};
}

}  // namespace gprof
