// Tokens that came much later after the one before than others do, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/facts/serving/engine_time.h"
#include "analysis/facts/serving/latency.h"
#include "analysis/facts/serving/served_requests.h"
#include "gprof/analysis.h"

namespace gprof {

// Late tokens with one reason.
struct LateGroup {
  LatencyPart part = LatencyPart::kHost;     // that they have most more of
  std::string where;                         // a line, a function, a process; empty where nothing more is known
  bool has_other_work = false;               // something else ran on the GPU meanwhile; counted as decode
  bool was_preempted = false;                // of steps without it
  bool is_mostly_host = false;               // of kMixed: most of that time the step had no work on the GPU
  int64_t tokens = 0, extra_ns = 0;          // and by how much more than the median they are late, in all
  int64_t least_prefill_tokens = INT64_MAX;  // of kMixed: beside them in the step
  Latency worst;
};

struct LateTokens {
  LateTokens(const AnalysisInput& input, const ServedRequests& served, const EngineTime& time,
             const Latencies& latencies);

  int64_t median_ns = 0, late_from_ns = 0;  // longer ones are late
  LatencySplit usual;                       // mean of those that are not late
  int64_t late = 0, extra_ns = 0;
  std::vector<LateGroup> groups;  // the most extra time first
  // By next token (Latencies::next_tokens) its group, kNone for those that are not late.
  std::vector<uint32_t> group_of;

 private:
  void SortGroups();
};

}  // namespace gprof
