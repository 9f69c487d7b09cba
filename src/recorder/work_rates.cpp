#include "recorder/work_rates.h"

#include <vector>

#include "gprof/trace/record.h"

namespace gprof {

void WorkRates::Take(const trace::ProcessKey& process, const trace::WorkRateRecord& row, std::string_view function) {
  constexpr std::size_t kMost = 1000;  // at the least of 0.1 s each
  const auto name =
      functions_.try_emplace(std::string(function), static_cast<uint32_t>(functions_.size() + 1)).first->second;
  std::deque<WorkRate>& rates = rates_[process];
  WorkRate rate;
  rate.number = row.number;
  rate.level = static_cast<trace::RecordLevel>(row.level);
  rate.function = NameId{name};
  rate.calls = row.calls;
  rate.threads = row.threads;
  rate.span_ns = static_cast<int64_t>(row.span_ns);
  rates.push_back(rate);
  if (rates.size() > kMost) rates.pop_front();
}

MeasuredSlowDown WorkRates::Measure(trace::ProcessKey* of) const {
  MeasuredSlowDown most;
  for (const auto& [process, rates] : rates_) {
    std::vector<const WorkRate*> in_order;
    for (const WorkRate& rate : rates) in_order.push_back(&rate);
    const MeasuredSlowDown one = MeasureSlowDown(in_order);
    if (!one.IsKnown() || (most.IsKnown() && one.percent <= most.percent)) continue;
    most = one;
    *of = process;
  }
  return most;
}

}  // namespace gprof
