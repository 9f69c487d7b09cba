#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/idle/idle_tables.h"

namespace gprof {
namespace {

constexpr size_t kTimeColumn = 1, kNameColumn = 4;

int64_t SumOf(const IdleShares& shares) {
  int64_t sum_ns = 0;
  for (const auto& entry : shares.all()) sum_ns += entry.second.idle_ns;
  return sum_ns;
}

// What is shorter is not shown, so that nobody needs its text: there may be thousands.
int64_t LeastShownNs(const IdleShares& shares, uint32_t max_rows) {
  std::vector<int64_t> times_ns;
  for (const auto& entry : shares.all()) times_ns.push_back(entry.second.idle_ns);
  if (RowsShown(times_ns.size(), max_rows) == times_ns.size()) return INT64_MIN;
  const auto last = times_ns.begin() + (max_rows - 1);
  std::nth_element(times_ns.begin(), last, times_ns.end(), std::greater<>());
  return *last;
}

// percent, idle_ns, gaps, the causes, a name, and the time of each cause.
template <class NameOf>
Table ShareTable(std::string id, std::string title, Column name, std::string note, const IdleShares& shares,
                 uint32_t max_rows, NameOf&& name_of) {
  Table table{std::move(id),
              std::move(title),
              {{"percent", "Idle (%)", Unit::kPercent, false, ColumnRole::kShareElsewhere},
               {"idle_ns", "Time", Unit::kNs, false},
               {"gaps", "Gaps", Unit::kCount, false},
               {"split", "Causes", Unit::kText, false, ColumnRole::kCommon},
               std::move(name)},
              {},
              std::move(note),
              RowsOfRanks::kAddUp};
  ForEachCause([&](Cause cause) {
    const std::string cause_name(InfoOf(cause).name);
    table.columns.push_back({cause_name + "_ns", cause_name, Unit::kNs, true});
  });
  const int64_t idle_ns = SumOf(shares), least_ns = LeastShownNs(shares, max_rows);
  for (const auto& entry : shares.all()) {
    const IdleShare& share = entry.second;
    table.rows_left_out += share.idle_ns < least_ns ? 1 : 0;
    if (share.idle_ns < least_ns) continue;
    std::vector<Cell> row = {PercentOf(share.idle_ns, idle_ns), share.idle_ns, share.gaps, SplitText(share.split),
                             std::string(name_of(entry.first))};
    ForEachCause([&](Cause cause) { row.emplace_back(share.split[cause]); });
    table.rows.push_back(std::move(row));
  }
  SortAndCut(&table, kTimeColumn, kNameColumn, max_rows);
  return table;
}

}  // namespace

Table IdlePathTable(const IdleGroups& groups, uint32_t max_rows) {
  Table table = ShareTable("idle_by_nvtx", "Idle by NVTX range", {"path", "NVTX range", Unit::kText, false},
                           "Percent of all idle time, by the innermost open range of the thread that launched next.",
                           groups.by_path(), max_rows, [&](uint32_t key) { return groups.PathOfKey(key); });
  table.is_detail =
      std::ranges::none_of(groups.by_path().all(), [&](const auto& entry) { return groups.IsPath(entry.first); });
  return table;
}

Table IdleLaunchTable(const IdleGroups& groups, uint32_t max_rows) {
  Table table = ShareTable("idle_by_launch", "Idle by next launch call", {"function", "Call", Unit::kText, false},
                           "Percent of all idle time.", groups.by_launch(), max_rows,
                           [&](uint32_t key) { return groups.LaunchName(key); });
  table.is_detail = true;
  return table;
}

Table IdleNextTable(const IdleGroups& groups, uint32_t max_rows) {
  Table table = ShareTable("idle_by_next", "Idle by next operation", {"kernel", "Operation", Unit::kText, false},
                           "Percent of all idle time.", groups.by_next(), max_rows,
                           [&](uint32_t key) { return groups.NextName(key); });
  table.is_detail = true;
  return table;
}

Table GapLengthTable(const IdleGroups& groups) {
  constexpr const char* kNames[kGapDecades] = {"below 1 us",    "1 us to 10 us",   "10 us to 100 us",  "100 us to 1 ms",
                                               "1 ms to 10 ms", "10 ms to 100 ms", "100 ms and longer"};
  Table table{"gap_lengths",
              "Gaps by length",
              {{"length", "Length", Unit::kText, false},
               {"gaps", "Gaps", Unit::kCount, false},
               {"idle_ns", "Time", Unit::kNs, false},
               {"percent", "Idle (%)", Unit::kPercent, false}},
              {},
              "Percent of all idle time. A gap of exactly 10 us counts in the row that starts with it.",
              RowsOfRanks::kAddUpInOrder,
              true};
  int64_t idle_ns = 0;
  for (const GapDecade& decade : groups.lengths()) idle_ns += decade.idle_ns;
  if (idle_ns == 0) return table;
  for (size_t i = 0; i < kGapDecades; ++i) {
    const GapDecade& decade = groups.lengths()[i];
    table.rows.push_back({std::string(kNames[i]), decade.gaps, decade.idle_ns, PercentOf(decade.idle_ns, idle_ns)});
  }
  return table;
}

Table StartupTeardownTable(const Trace& trace, const std::vector<StartupTeardown>& startups) {
  Table table{"outside",
              "Start-up and tear-down",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"startup_ns", "Start-up", Unit::kNs, false},
               {"teardown_ns", "Tear-down", Unit::kNs, false},
               {"pid", "PID", Unit::kCount, true, ColumnRole::kName},
               {"process", "Process", Unit::kText, false}},
              {},
              "Time of the process before the first and after the last GPU operation. It does not count as idle time.",
              RowsOfRanks::kApart,
              true};
  for (const StartupTeardown& o : startups) {
    const Process& process = trace.processes[o.process];
    table.rows.push_back({DeviceScope(trace, o.device), o.startup_ns, o.teardown_ns, static_cast<int64_t>(process.pid),
                          std::string(trace.Text(process.name))});
  }
  return table;
}

}  // namespace gprof
