#include "fleet/verdict/job_path.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

// Whether any of them waits for others in a collective or a call of MPI.
bool AreLinked(const std::vector<RankVerdict>& ranks) {
  return std::ranges::any_of(ranks, [](const RankVerdict& rank) {
    return rank.rank->nccl_ns > 0 || rank.rank->mpi_ns > 0 || !rank.rank->communicators.empty();
  });
}

class PathFinder {
 public:
  PathFinder(const std::vector<RankVerdict>& ranks, const StepMatrix& matrix) : ranks_(ranks), matrix_(matrix) {
    for (size_t i = 0; i < matrix.own_ns.size(); ++i) {
      if (!matrix.own_ns[i].empty()) on_map_.push_back(i);
    }
  }

  JobPath Find() {
    if (on_map_.size() < 2) return {};
    path_.are_linked = AreLinked(ranks_);
    const size_t longest = path_.are_linked ? 0 : LongestRank();
    for (size_t entry = 0; entry < matrix_.median_ns.size(); ++entry) {
      FindMedians(entry);
      Add(path_.are_linked ? SlowestIn(entry) : longest, entry);
    }
    for (auto& [rank, on_path] : by_rank_) path_.ranks.push_back(on_path);
    std::ranges::stable_sort(path_.ranks, std::greater(), &RankOnPath::entries);
    return std::move(path_);
  }

 private:
  const StepColumns& StepsOf(size_t rank) const { return ranks_[rank].rank->steps; }

  size_t SlowestIn(size_t entry) const {
    return *std::ranges::max_element(
        on_map_, [&](size_t a, size_t b) { return matrix_.own_ns[a][entry] < matrix_.own_ns[b][entry]; });
  }

  size_t LongestRank() const {
    const auto wall_ns = [&](size_t rank) {
      const std::vector<int64_t>& steps = StepsOf(rank).wall_ns;
      return std::accumulate(steps.begin(), steps.end(), int64_t{0});
    };
    return *std::ranges::max_element(on_map_, [&](size_t a, size_t b) { return wall_ns(a) < wall_ns(b); });
  }

  void FindMedians(size_t entry) {
    std::array<std::vector<int64_t>, kPathPartCount> columns;
    for (const size_t rank : on_map_) {
      const PathParts parts = PartsOf(StepsOf(rank), entry);
      for (size_t part = 0; part < kPathPartCount; ++part) columns[part].push_back(parts[part]);
    }
    path_.medians_ns.emplace_back();
    for (size_t part = 0; part < kPathPartCount; ++part) {
      path_.medians_ns.back()[part] = MedianOf(std::move(columns[part]));
      path_.median_ns[part] += path_.medians_ns.back()[part];
    }
  }

  void Add(size_t rank, size_t entry) {
    const PathParts parts = PartsOf(StepsOf(rank), entry);
    const int64_t wall_ns = StepsOf(rank).wall_ns[entry];
    const int64_t above_ns = std::max<int64_t>(matrix_.own_ns[rank][entry] - matrix_.median_ns[entry], 0);
    RankOnPath& of = by_rank_[rank];
    of.rank = rank;
    ++of.entries;
    of.wall_ns += wall_ns, path_.wall_ns += wall_ns;
    of.above_median_ns += above_ns, path_.above_median_ns += above_ns;
    for (size_t part = 0; part < kPathPartCount; ++part) {
      path_.parts_ns[part] += parts[part];
      of.above_ns[part] += parts[part] - path_.medians_ns[entry][part];
    }
    path_.slowest.push_back(rank);
  }

  const std::vector<RankVerdict>& ranks_;
  const StepMatrix& matrix_;
  std::vector<size_t> on_map_;
  std::map<size_t, RankOnPath> by_rank_;
  JobPath path_;
};

}  // namespace

JobPath FindJobPath(const std::vector<RankVerdict>& ranks, const StepMatrix& matrix, const Alignment& alignment) {
  JobPath path = PathFinder(ranks, matrix).Find();
  if (path.are_linked) path.turns = FindTurns(ranks, matrix, alignment);
  return path;
}

}  // namespace gprof
