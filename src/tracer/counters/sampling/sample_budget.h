// How much of a run measuring may take. No clock of its own.
#pragma once

#include <cstdint>

namespace gprof::tracer {

class SampleBudget {
 public:
  // `first_cost_ns`: what the first time is taken to cost, as nothing is known of it.
  constexpr SampleBudget(uint32_t permille, uint64_t first_cost_ns)
      : permille_(permille), next_cost_ns_(first_cost_ns) {}

  void Spend(uint64_t cost_ns, uint64_t next_cost_ns) {
    spent_ns_ += cost_ns;
    next_cost_ns_ = next_cost_ns;
  }
  // How long the run has to be for one more time to be within the budget.
  uint64_t NextRunNs() const { return permille_ == 0 ? ~uint64_t{0} : (spent_ns_ + next_cost_ns_) * 1000 / permille_; }

 private:
  uint32_t permille_;
  uint64_t next_cost_ns_, spent_ns_ = 0;
};

}  // namespace gprof::tracer
