#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/result/display_names.h"
#include "fleet/verdict/fleet_verdict.h"

namespace gprof {
namespace {

constexpr int64_t kDeviations = 5;
constexpr double kLeastPercent = 2;  // of what the median rank spends on itself
constexpr size_t kFewRanks = 4;      // too few for a deviation that means anything
constexpr double kFewPercent = 10;
constexpr double kLevel = 0.05;  // of a test, shared among all ranks that are tested

template <class F>
std::vector<int64_t> OfEach(const std::vector<RankVerdict*>& ranks, F of) {
  std::vector<int64_t> values;
  for (const RankVerdict* rank : ranks) values.push_back(of(*rank));
  return values;
}

// What is above this is not chance.
int64_t LimitOf(const std::vector<int64_t>& values) {
  const int64_t median = MedianOf(values);
  const auto percent = [&](double p) { return static_cast<int64_t>(static_cast<double>(median) / 100 * p); };
  if (values.size() <= kFewRanks) return median + percent(kFewPercent);
  std::vector<int64_t> deviations;
  for (const int64_t value : values) deviations.push_back(std::abs(value - median));
  return median + std::max(kDeviations * MedianOf(std::move(deviations)), percent(kLeastPercent));
}

// Who comes to collectives no later than chance lets any rank come holds nobody up, however much of its own time it
// has. Where not even the last one in all of them would be told from chance, nothing is known.
// Nor of a few ranks, such as a stage of a pipeline, most of whose collectives are with others.
bool HoldsNobodyUp(const Arrivals& arrivals, size_t ranks) {
  const double deviation_ns = std::sqrt(arrivals.late_variance);
  const auto may_be_chance = [&](double late_ns) {
    const double deviations = (late_ns - arrivals.expected_late_ns) / deviation_ns;
    return 0.5 * std::erfc(deviations / std::numbers::sqrt2) * static_cast<double>(ranks) > kLevel;
  };
  if (ranks <= kFewRanks || deviation_ns <= 0 || may_be_chance(arrivals.most_late_ns)) return false;
  return may_be_chance(static_cast<double>(arrivals.late_ns));
}

bool IsWork(const RankKernel& kernel) {
  return !kernel.name.empty() && !IsNcclKernel(kernel.name) && !IsWaitingKernel(kernel.name);
}

struct TypicalKernel {
  std::vector<int64_t> means_ns, counts, threads;  // of the ranks that have it; threads of a launch
};

struct MedianKernel {
  double mean_ns = 0, count = 0, threads = 0;
};

int64_t ThreadsOfLaunch(const RankKernel& kernel) { return kernel.gpu_threads / kernel.count; }

// The part of what a kernel takes longer that goes with the size of its launches: twice the threads are twice the work.
double LargerNs(const RankKernel& kernel, const MedianKernel& median, double longer_ns) {
  if (median.threads <= 0 || kernel.gpu_threads <= 0) return 0;
  const double more = static_cast<double>(ThreadsOfLaunch(kernel)) / median.threads - 1;
  const double larger_ns = static_cast<double>(kernel.count) * median.mean_ns * more;
  return std::clamp(larger_ns, std::min(longer_ns, 0.0), std::max(longer_ns, 0.0));
}

void CompareKernels(const std::vector<RankVerdict*>& ranks) {
  std::map<std::string, TypicalKernel> typical;
  for (const RankVerdict* rank : ranks) {
    for (const RankKernel& kernel : rank->rank->kernel_times) {
      if (!IsWork(kernel) || kernel.count == 0) continue;
      typical[kernel.name].means_ns.push_back(kernel.total_ns / kernel.count);
      typical[kernel.name].counts.push_back(kernel.count);
      typical[kernel.name].threads.push_back(ThreadsOfLaunch(kernel));
    }
  }
  std::map<std::string, MedianKernel> medians;
  for (auto& [name, kernel] : typical) {
    // Of a kernel that most ranks do not have, the median rank has none.
    kernel.counts.resize(std::max(kernel.counts.size(), ranks.size()));
    medians[name] = {static_cast<double>(MedianOf(kernel.means_ns)), static_cast<double>(MedianOf(kernel.counts)),
                     static_cast<double>(MedianOf(kernel.threads))};
  }
  for (RankVerdict* rank : ranks) {
    double longer_ns = 0, more_ns = 0, larger_ns = 0, expected_ns = 0, threads = 0, typical_threads = 0;
    for (const RankKernel& kernel : rank->rank->kernel_times) {
      if (!IsWork(kernel) || kernel.count == 0) continue;
      const MedianKernel& median = medians[kernel.name];
      const auto count = static_cast<double>(kernel.count);
      const double kernel_ns = count * median.mean_ns, above_ns = static_cast<double>(kernel.total_ns) - kernel_ns;
      const double of_size_ns = LargerNs(kernel, median, above_ns);
      expected_ns += kernel_ns;
      larger_ns += of_size_ns;
      longer_ns += above_ns - of_size_ns;
      more_ns += (count - median.count) * median.mean_ns;
      threads += static_cast<double>(kernel.gpu_threads), typical_threads += count * median.threads;
    }
    rank->excess_ns[static_cast<size_t>(Excess::kLargerKernels)] = static_cast<int64_t>(larger_ns);
    rank->larger_percent = typical_threads <= 0 ? 0 : static_cast<int64_t>(100 * (threads / typical_threads - 1));
    rank->excess_ns[static_cast<size_t>(Excess::kLongerKernels)] = static_cast<int64_t>(longer_ns);
    rank->excess_ns[static_cast<size_t>(Excess::kMoreKernels)] = static_cast<int64_t>(more_ns);
    rank->slower_percent = expected_ns <= 0 ? 0 : static_cast<int64_t>(100 * longer_ns / expected_ns);
  }
}

void CompareIdleTime(const std::vector<RankVerdict*>& ranks) {
  std::vector<int64_t> most(ranks.size());
  ForEachCause([&](Cause cause) {
    if (cause == Cause::kMpi) return;
    const auto of = [cause](const RankVerdict& r) { return r.rank->idle_ns[static_cast<size_t>(cause)]; };
    const int64_t median_ns = MedianOf(OfEach(ranks, of));
    for (size_t i = 0; i < ranks.size(); ++i) {
      RankVerdict& rank = *ranks[i];
      const int64_t above_ns = of(rank) - median_ns;
      rank.excess_ns[static_cast<size_t>(Excess::kHost)] += above_ns;
      if (above_ns <= most[i]) continue;
      most[i] = above_ns;
      rank.cause = cause;
    }
  });
}

using PlaceKey = std::tuple<std::string_view, std::string_view, std::string_view>;  // cause, kind, name
PlaceKey KeyOf(const IdlePlace& place) { return {place.cause, place.kind, place.name}; }

// A summary keeps the places with the most time: who has none of a place has little of it.
void ComparePlaces(const std::vector<RankVerdict*>& ranks) {
  std::map<PlaceKey, std::vector<int64_t>> times_ns;
  for (const RankVerdict* rank : ranks) {
    for (const IdlePlace& place : rank->rank->places) times_ns[KeyOf(place)].push_back(place.idle_ns);
  }
  for (RankVerdict* rank : ranks) {
    std::map<std::string_view, LatePlace> late;  // by kind
    for (const IdlePlace& place : rank->rank->places) {
      if (!rank->is_straggler || place.cause != InfoOf(rank->cause).name) continue;
      std::vector<int64_t> ns = times_ns[KeyOf(place)];
      ns.resize(ranks.size());
      const int64_t median_ns = MedianOf(std::move(ns));
      LatePlace& most = late[place.kind];
      if (place.idle_ns - median_ns > most.above_ns) most = {&place, median_ns, place.idle_ns - median_ns};
    }
    for (const auto& [kind, place] : late) {
      if (place.place != nullptr) rank->places.push_back(place);
    }
  }
}

}  // namespace

int64_t CopiedBytes(const RankSummary& rank) {
  int64_t sum = 0;
  for (const RankCopies& copy : rank.copies) sum += copy.bytes;
  return sum;
}

void CompareRanks(const std::vector<RankVerdict*>& ranks) {
  CompareKernels(ranks);
  CompareIdleTime(ranks);
  const std::vector<int64_t> own_ns = OfEach(ranks, [](const RankVerdict& r) { return r.own_ns; });
  const int64_t median_ns = MedianOf(own_ns), limit_ns = LimitOf(own_ns);
  const int64_t copy_ns = MedianOf(OfEach(ranks, [](const RankVerdict& r) { return r.rank->CopyNs(); }));
  const int64_t kernels = MedianOf(OfEach(ranks, [](const RankVerdict& r) { return r.rank->kernels; }));
  const int64_t bytes = MedianOf(OfEach(ranks, [](const RankVerdict& r) { return CopiedBytes(*r.rank); }));
  const int64_t preempted_ns = MedianOf(OfEach(ranks, [](const RankVerdict& r) { return r.rank->preempted_ns; }));
  for (RankVerdict* rank : ranks) {
    rank->median_preempted_ns = std::max<int64_t>(preempted_ns, 0);
    rank->above_median_ns = rank->own_ns - median_ns;
    rank->excess_ns[static_cast<size_t>(Excess::kCopies)] = rank->rank->CopyNs() - copy_ns;
    rank->median_kernels = kernels, rank->median_bytes = bytes;
    rank->is_straggler = ranks.size() > 1 && rank->own_ns > limit_ns && !HoldsNobodyUp(rank->arrivals, ranks.size());
  }
  ComparePlaces(ranks);
}

}  // namespace gprof
