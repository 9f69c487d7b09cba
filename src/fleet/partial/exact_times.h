// Percentiles of kernel times over all ranks, exact: a second look at the traces, which counts what lies in the buckets
// that the histograms of the first one say they are in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fleet/rank/rank_summary.h"
#include "gprof/trace.h"

namespace gprof {

struct KernelPercentiles {
  int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
};
using ExactTimes = std::map<std::string, KernelPercentiles>;  // by kernel

// Kernels by time: how many took so long.
using CountsOfTimes = std::map<std::string, std::map<int64_t, int64_t>>;

class ExactSearch {
 public:
  // `ranks` are those that the percentiles are of.
  explicit ExactSearch(const std::vector<const RankSummary*>& ranks);

  // Of the times in those buckets, in a trace.
  CountsOfTimes Count(const Trace& trace) const;
  void Add(const CountsOfTimes& counts);
  // Of the kernels of which all times were found: where a trace was read that is not among the ranks, or the other way
  // round, they are not.
  ExactTimes Finish() const;

 private:
  struct Wanted {
    std::map<int64_t, int64_t> histogram;  // all of it
    std::map<int64_t, int64_t> buckets;    // those that are looked at: times before each
  };
  std::map<std::string, Wanted> wanted_;
  CountsOfTimes counts_;
};

}  // namespace gprof
