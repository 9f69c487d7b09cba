// Copies from and to pageable host memory: where, how slow, what they kept the host from, what pinning would save.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/facts/operations/transfers.h"
#include "analysis/topics/copies/copy_calls.h"
#include "base/saturate.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct PageableCopies {
  int64_t count = 0;
  SaturatingSum time_ns;
  uint64_t bytes = 0;
  int64_t blocked_count = 0;
  SaturatingSum blocked_ns;  // in their calls, less what these waited for earlier work
  SaturatingSum waited_ns;
  SaturatingSum saved_ns;         // by pinning, where the reachable bandwidth is known
  SaturatingSum judged_saved_ns;  // of that, what is in the steady time
  void Add(const PageableCopies& other);
};

class PageableSummary {
 public:
  PageableSummary(const AnalysisInput& input, const PackedOps& transfers, const ReachableBandwidth& reachable,
                  int64_t judged_from_ns, CopyCalls* calls);
  PageableCopies Sum() const;
  Table MakeTable(uint32_t max_rows) const;
  std::vector<Finding> Findings(int64_t window_ns) const;

 private:
  using CopySite = std::tuple<Direction, uint32_t, uint32_t>;  // NameId of the function, NameId of the NVTX path
  Finding MakeFinding(const std::map<Direction, PageableCopies>& sums, int64_t window_ns) const;
  std::string BasisOf(const std::map<Direction, PageableCopies>& sums) const;
  std::string SiteName(const CopySite& place) const;

  const Trace& trace_;
  const ReachableBandwidth& reachable_;
  std::map<CopySite, PageableCopies> sites_;
};

// round_trips.cpp: data that goes to the GPU, comes back, and goes there again.

// A trace does not have the addresses of copies: what it has is that as many bytes go there as came back just before,
// again and again: a large array, or several in a row.
void AddRoundTrips(const AnalysisInput& input, std::vector<Finding>* findings);

}  // namespace gprof
