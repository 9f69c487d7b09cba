// Idle time by what came next, by who launched it and by where in the program: each group holds every idle nanosecond
// once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/gaps/host_walk.h"
#include "analysis/causes/idle_parts.h"
#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/op_facts.h"
#include "analysis/facts/time/length_classes.h"
#include "analysis/result/idle_causes.h"
#include "gprof/analysis.h"

namespace gprof {

struct IdleShare {
  int64_t idle_ns = 0, gaps = 0;
  CauseSplit split;
  int64_t last_gap = -1;  // number of the gap counted last, so that one with several parts counts once
};

// Shares by a small number.
class IdleShares {
 public:
  explicit IdleShares(size_t keys) : slot_(keys, kNone) {}
  // A part of `gaps` gaps, which that number stands for.
  void Add(uint32_t key, Cause cause, int64_t duration_ns, int64_t gaps, int64_t gap_number);
  void Add(const IdleShares& more);  // of other gaps
  const std::vector<std::pair<uint32_t, IdleShare>>& all() const { return all_; }

 private:
  IdleShare& ShareOf(uint32_t key) {
    const uint32_t slot = slot_[key];
    return slot != kNone ? all_[slot].second : AddShare(key);
  }
  IdleShare& AddShare(uint32_t key);

  std::vector<uint32_t> slot_;  // by key, where it is in all_
  std::vector<std::pair<uint32_t, IdleShare>> all_;
};

// Lengths of gaps: below 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, and longer.
inline constexpr size_t kGapDecades = 7;
struct GapDecade {
  int64_t gaps = 0, idle_ns = 0;
};
inline constexpr LengthClasses<kGapDecades> kDecades({1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000});
inline size_t DecadeOf(int64_t gap_ns) { return kDecades.Of(gap_ns); }

class IdleGroups {
 public:
  // Without details only by_path() is filled.
  IdleGroups(const AnalysisInput& input, bool has_details);
  void Add(const IdleRun& run);
  void Add(const IdleGroups& more);  // of other gaps

  // Keys are NameIds; those from trace.strings.size() on stand for what has no name of its own.
  const IdleShares& by_path() const { return by_path_; }      // + 0: not known
  const IdleShares& by_launch() const { return by_launch_; }  // + 0: not known, + 1: the capture ended
  const IdleShares& by_next() const { return by_next_; }      // see NextName
  const std::array<GapDecade, kGapDecades>& lengths() const { return lengths_; }
  std::string NextName(uint32_t key) const;
  std::string LaunchName(uint32_t key) const;
  std::string PathOfKey(uint32_t key) const;
  bool IsPath(uint32_t key) const { return key != 0 && key < unnamed_; }  // an NVTX range

 private:
  void AddLength(int64_t gap_ns) {
    GapDecade& decade = lengths_[DecadeOf(gap_ns)];
    ++decade.gaps;
    decade.idle_ns += gap_ns;
  }
  void AddDetails(const IdleRun& run);
  uint32_t NextKey(const Gap& gap) const;
  uint32_t KeyOf(const GpuOp& op) const;
  uint32_t LaunchOf(const Gap& gap) const;
  uint32_t LaunchKey(const Gap& gap) const;
  uint32_t PathKey(const Part& part, const Gap& gap) const;

  const AnalysisInput& input_;
  const Trace& trace_;
  const OpFacts& ops_;
  bool has_details_;
  uint32_t unnamed_;                      // the first key that is no NameId
  std::vector<uint32_t> next_of_traits_;  // keys of what comes next, by the traits of operations
  int64_t gap_number_ = 0;
  IdleShares by_path_, by_launch_, by_next_;
  std::array<GapDecade, kGapDecades> lengths_{};
};

}  // namespace gprof
