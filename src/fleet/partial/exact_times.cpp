#include "fleet/partial/exact_times.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/histogram.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

constexpr int64_t kPercents[] = {50, 95, 99};

int64_t TimesIn(const std::map<int64_t, int64_t>& histogram) {
  int64_t sum = 0;
  for (const auto& [bucket, count] : histogram) sum += count;
  return sum;
}

// The number of the time, from 1 on in rising order, that `percent` of all do not exceed.
int64_t NumberOf(int64_t percent, int64_t all) { return std::max<int64_t>((all * percent + 99) / 100, 1); }

}  // namespace

ExactSearch::ExactSearch(const std::vector<const RankSummary*>& ranks) {
  for (const RankSummary* rank : ranks) {
    for (const RankKernel& kernel : rank->kernel_times) {
      if (kernel.name.empty()) continue;
      std::map<int64_t, int64_t>& sum = wanted_[kernel.name].histogram;
      for (size_t i = 0; i + 1 < kernel.buckets.size(); i += 2) sum[kernel.buckets[i]] += kernel.buckets[i + 1];
    }
  }
  for (auto& [name, wanted] : wanted_) {
    const int64_t all = TimesIn(wanted.histogram);
    for (const int64_t percent : kPercents) {
      int64_t before = 0;
      for (const auto& [bucket, count] : wanted.histogram) {
        if (before + count >= NumberOf(percent, all)) {
          wanted.buckets[bucket] = before;
          break;
        }
        before += count;
      }
    }
  }
}

CountsOfTimes ExactSearch::Count(const Trace& trace) const {
  const AnalysisInput input(trace);
  const KernelGroups& groups = input.shared().kernels();
  std::vector<const Wanted*> of_group(groups.size());
  for (uint32_t group = 0; group < of_group.size(); ++group) {
    const auto found = wanted_.find(KeptName(groups.Name(group)));
    if (found != wanted_.end()) of_group[group] = &found->second;
  }
  std::vector<std::map<int64_t, int64_t>> times(of_group.size());
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t group = groups.of_traits()[op.kind_number()];
    if (group == kNone || of_group[group] == nullptr) continue;
    const int64_t ns = std::max<int64_t>(op.duration_ns(), 0);
    if (of_group[group]->buckets.contains(std::min(BucketOf(ns), kBuckets - 1))) ++times[group][ns];
  }
  CountsOfTimes counts;
  for (uint32_t group = 0; group < of_group.size(); ++group) {
    if (!times[group].empty()) counts[KeptName(groups.Name(group))] = std::move(times[group]);
  }
  return counts;
}

void ExactSearch::Add(const CountsOfTimes& counts) {
  for (const auto& [name, times] : counts) {
    for (const auto& [ns, count] : times) counts_[name][ns] += count;
  }
}

ExactTimes ExactSearch::Finish() const {
  ExactTimes exact;
  for (const auto& [name, wanted] : wanted_) {
    const auto found = counts_.find(name);
    if (found == counts_.end()) continue;
    std::map<int64_t, int64_t> seen;
    for (const auto& [ns, count] : found->second) seen[std::min(BucketOf(ns), kBuckets - 1)] += count;
    const bool is_whole = std::ranges::all_of(
        wanted.buckets, [&](const auto& bucket) { return seen[bucket.first] == wanted.histogram.at(bucket.first); });
    if (!is_whole) continue;
    const int64_t all = TimesIn(wanted.histogram);
    const auto percentile = [&](int64_t percent) {
      const int64_t number = NumberOf(percent, all);
      auto bucket = wanted.buckets.begin();
      while (std::next(bucket) != wanted.buckets.end() && std::next(bucket)->second < number) ++bucket;
      int64_t before = bucket->second;
      for (const auto& [ns, count] : found->second) {
        if (std::min(BucketOf(ns), kBuckets - 1) != bucket->first) continue;
        before += count;
        if (before >= number) return ns;
      }
      return int64_t{0};
    };
    exact[name] = {percentile(50), percentile(95), percentile(99)};
  }
  return exact;
}

}  // namespace gprof
