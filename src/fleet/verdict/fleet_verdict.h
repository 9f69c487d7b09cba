// What only many ranks can tell: who holds up the others and why, whose clock is off, who is missing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/partial/exact_times.h"
#include "fleet/rank/rank_summary.h"
#include "fleet/verdict/clock_alignment.h"
#include "fleet/verdict/job_path.h"
#include "gprof/analysis.h"

namespace gprof {

// What a rank may have more of than the median of those that it is compared with. Together they are what it spends on
// itself.
enum class Excess : uint8_t { kLongerKernels, kMoreKernels, kLargerKernels, kCopies, kHost };
inline constexpr size_t kExcessCount = 5;

// Where the host of a rank spent more time than that of the median rank.
struct LatePlace {
  const IdlePlace* place = nullptr;
  int64_t median_ns = 0, above_ns = 0;
};

struct RankVerdict {
  const RankSummary* rank = nullptr;
  int64_t own_ns = 0, above_median_ns = 0;  // RankSummary::OwnNs
  std::array<int64_t, kExcessCount> excess_ns{};
  int64_t slower_percent = 0;                    // its kernels than the same kernels of the median rank
  int64_t larger_percent = 0;                    // the launches of its kernels, in threads
  Cause cause = Cause::kHost;                    // of kHost: the cause with the most above the median
  std::vector<LatePlace> places;                 // of that cause: of each kind the one with the most above the median
  int64_t median_kernels = 0, median_bytes = 0;  // of the median rank; bytes are those of copies
  int64_t median_preempted_ns = 0;
  Arrivals arrivals;
  bool is_straggler = false;
  // Time that it is compared by: of a GPU, or of a thread with ranges, MPI calls or samples.
  bool IsComparable() const { return rank->HasGpuWork() || rank->window_ns > 0; }
};

// Rank × step: what each rank spent on itself in each entry of StepColumns, in percent above the median of all ranks.
struct StepMatrix {
  std::string path;
  int64_t steps_in_one = 1;
  std::vector<std::vector<int64_t>> own_ns;  // by rank as in FleetVerdict::ranks; empty for those without such steps
  std::vector<int64_t> median_ns;            // by entry
  bool IsOverTime() const;                   // entries are slices of time, as there are no steps
};

struct FleetVerdict {
  std::vector<RankVerdict> ranks;  // one for each rank, by rank
  struct Duplicate {
    const RankSummary* excluded = nullptr;
    const RankSummary* kept = nullptr;  // of the same rank, with more records
  };
  std::vector<Duplicate> duplicates;
  std::vector<const RankSummary*> unreadable;
  int64_t world_size = 0;  // 0: not known
  std::vector<int64_t> missing;
  Alignment alignment;
  StepMatrix steps;
  JobPath path;
  ExactTimes exact;               // of kernels whose percentiles were looked for in the traces
  std::vector<Finding> findings;  // what costs the most first
  std::vector<Table> tables;
  bool HasGpuWork() const;  // any rank has
};

// `summaries` must outlive the verdict. Where nothing numbered them, they get numbers (rank_numbers.h). Tables have at
// most so many rows (0: all).
FleetVerdict JudgeFleet(std::vector<RankSummary>* summaries, uint32_t max_rows, ExactTimes exact = {});

// verdict_tables.cpp
std::vector<Table> FleetTables(const FleetVerdict& verdict, uint32_t max_rows);
std::string NameInTables(const RankVerdict& rank);  // its number, else the name of its file

// step_tables.cpp: the critical path, the ranks on it, the distribution of step times, the steps that last too long.
std::vector<Table> StepTables(const FleetVerdict& verdict, uint32_t max_rows);

// verdict_json.cpp: "schema": "gprof.analyze/1", described in docs/commands/ranks.md.
std::string VerdictJson(const FleetVerdict& verdict);

// verdict_hang.cpp: adds the finding on a collective that some ranks wait in and others have not come to.
void AddHang(FleetVerdict* verdict);

// verdict_absent.cpp: adds findings on ranks that the verdict is not about.
void AddAbsent(FleetVerdict* verdict);
std::string RanksText(std::vector<int64_t> ranks);  // "ranks 1-3, 7", "4 processes"

// "1-3, 7"
std::string RangesText(const std::vector<int64_t>& sorted);
// What the critical path of the run is made of, whose it is, and what it has above the median rank; empty: not known.
std::string PathText(const FleetVerdict& verdict);
// What the time of all ranks went to; empty where nothing is known of it.
std::string TimeText(const FleetVerdict& verdict);
// Why there are no findings: how near to each other the ranks are.
std::string NothingText(const FleetVerdict& verdict);
// "0-3, 8"; without numbers the names of their files.
std::string RanksOf(const FleetVerdict& verdict, const RankTurn& turn);
// The finding on ranks that take turns.
Finding TurnsFinding(const FleetVerdict& verdict);
// "SM clock 1,200 MHz (median of all ranks 1,980 MHz)"
std::string ClockText(const FleetVerdict& verdict, const RankSummary& rank);

// compare_ranks.cpp: what a rank has more of than the median of the ranks that should be like it.

// Fills in what is above the median of these ranks, and whether a rank stands out among them.
void CompareRanks(const std::vector<RankVerdict*>& ranks);

int64_t CopiedBytes(const RankSummary& rank);

}  // namespace gprof
