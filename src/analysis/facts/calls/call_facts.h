// What one pass over all calls tells, so that analyses need not make a pass each. Always of outermost calls: those that
// the program made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class CallFacts {
 public:
  explicit CallFacts(const Trace& trace);

  // Sums over the calls that share their traits, by the number of those (PackedCalls::TraitsIndex).
  struct Sum {
    int64_t count = 0, total_ns = 0;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;  // the first start, the last end
    uint32_t first = kNone;
  };
  const std::vector<Sum>& sums() const { return sums_; }
  int64_t count() const { return count_; }
  int64_t total_ns() const { return total_ns_; }
  int64_t Count(ApiClass api_class) const { return counts_[static_cast<size_t>(api_class)]; }
  int64_t CountLaunches() const { return Count(ApiClass::kLaunch) + Count(ApiClass::kGraphLaunch); }
  const std::vector<uint32_t>& counts_of_functions() const { return counts_of_functions_; }  // by NameId
  // All but launches and those of no class, in order of the trace: few as a rule.
  const std::vector<uint32_t>& rare() const { return rare_; }
  // With a result other than 0, in order of the trace.
  const std::vector<uint32_t>& failed() const { return failed_; }
  // Of any call, outermost or not: when the first one of a process (kNone: of none) began, INT64_MAX where there is
  // none; the one on a known thread that ended last, kNone for none.
  int64_t StartOf(uint32_t process) const {
    return starts_ns_[process < starts_ns_.size() ? process : starts_ns_.size() - 1];
  }
  uint32_t last_ended() const { return last_ended_; }

 private:
  static constexpr size_t kClasses = 11;

  std::vector<Sum> sums_;
  int64_t count_ = 0, total_ns_ = 0;
  std::array<int64_t, kClasses> counts_{};
  std::vector<uint32_t> counts_of_functions_, rare_, failed_;
  std::vector<int64_t> starts_ns_;  // by process, and of none
  uint32_t last_ended_ = kNone;
};

}  // namespace gprof
