// What the gaps of a trace add up to: the data behind the tables, metrics and findings of `idle`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/causes/gaps/host_walk.h"
#include "analysis/causes/idle_parts.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/result/idle_causes.h"
#include "gprof/analysis.h"

namespace gprof {

struct DeviceIdle {
  uint32_t device = kNone;
  int64_t window_ns = 0, gaps = 0, longest_ns = 0;
  CauseSplit split;
};

struct GapStory {
  Gap gap;
  uint32_t device = kNone;
  CauseSplit split;
  NameId path;                 // where most of the host's own code was, else that of the launching call
  uint32_t op_before = kNone;  // see GapList::OpBefore
};

// Gaps below AnalysisOptions::min_gap_ns.
struct ShorterGaps {
  int64_t gaps = 0;
  CauseSplit split;
};

// Of the host's own code: what takes longer than a step between two launches is work of its own.
inline constexpr int64_t kShortHostGapNs = 200'000;

// Gaps that show one pattern.
struct GapPattern {
  int64_t gaps = 0, idle_ns = 0;
};

// Gaps after waits of the host for the GPU, and what the host could have done during such waits.
struct DrainedGaps {
  int64_t gaps = 0, idle_ns = 0;       // due to the waits themselves, whatever the host did
  int64_t host_ns = 0, waited_ns = 0;  // of its own code in short gaps; how long it waited, and had nothing to do yet
  // A host that does not wait works ahead: what it does after one wait can be done during another one. It is slow
  // itself as far as its code takes longer than all waits.
  GapPattern All() const { return {gaps, idle_ns + std::min(host_ns, waited_ns)}; }
};

class IdleSummary {
 public:
  // Keeps the `longest_kept` longest gaps (0: all) of those not shorter than `min_gap_ns`. Patterns are looked for in
  // gaps that begin within `steady_time`; in all where that is empty.
  IdleSummary(const AnalysisInput& input, uint32_t longest_kept, int64_t min_gap_ns, const Interval& steady_time);

  void StartDevice(uint32_t device) { devices_.push_back({device, 0, 0, 0, {}}); }
  void Add(const IdleRun& run);
  void Add(const IdleSummary& more);  // of other gaps of the same device, which it began with
  void EndDevice(int64_t window_ns) { devices_.back().window_ns = window_ns; }
  void Finish();  // once, after the last device

  const std::vector<DeviceIdle>& devices() const { return devices_; }
  DeviceIdle Sum() const;
  int64_t GapsWith(Cause cause) const;
  const std::vector<GapStory>& longest() const { return longest_; }                       // longest first
  const std::vector<int64_t>& host_ns() const { return host_ns_; }                        // by path
  const std::vector<std::pair<NameId, CauseSplit>>& by_call() const { return by_call_; }  // by function
  int64_t short_host_ns() const { return short_host_ns_; }  // in gaps below kShortHostGapNs
  int64_t UnknownNs(UnknownReason reason) const { return unknown_ns_[static_cast<size_t>(reason)]; }
  const ShorterGaps& shorter() const { return shorter_; }
  GapPattern drained_by_sync() const { return drained_by_sync_.All(); }

 private:
  NameId MainPath(const Gap& gap, std::span<const Part> parts);
  NameId FunctionOf(uint32_t call) const { return trace_.api_calls[call].function; }
  CauseSplit& SplitOf(NameId function);
  void AddParts(const IdleRun& run, DeviceIdle* idle);
  void AddPatterns(const IdleRun& run);
  bool IsToldByLength(int64_t gap_ns) const;
  void AddByLength(const Gap& gap, std::span<const Part> parts);
  // How long the host had waited for the GPU when that ran dry: in a synchronising call, or in a copy that reads a
  // result. kNoWait where it was in no such call.
  int64_t WaitBefore(const Gap& gap, const Part& first) const;
  static constexpr int64_t kNoWait = -1;
  bool IsFull() const { return longest_kept_ > 0 && longest_.size() == longest_kept_; }
  bool MakeRoomFor(const GapStory& story);
  void Keep(const Gap& gap, std::span<const Part> parts);

  const AnalysisInput& input_;
  const Trace& trace_;
  const SharedFacts& shared_;
  const OpFacts& ops_;
  size_t longest_kept_;
  int64_t min_gap_ns_;
  Interval steady_time_;
  std::vector<DeviceIdle> devices_;
  std::vector<int64_t> gaps_with_causes_;  // by the set of causes, as bits
  std::array<int64_t, kUnknownReasonCount> unknown_ns_{};
  int64_t short_host_ns_ = 0;
  std::vector<int64_t> host_ns_;     // indexed by NameId of the path
  std::vector<uint32_t> call_slot_;  // by NameId of the function, where it is in by_call_
  std::vector<std::pair<NameId, CauseSplit>> by_call_;
  std::vector<GapStory> longest_;  // a heap until Finish()
  ShorterGaps shorter_;
  DrainedGaps drained_by_sync_;
  std::vector<std::pair<uint32_t, int64_t>> paths_of_gap_;  // kept to save allocations
};

}  // namespace gprof
