#include "analysis/facts/recording/measured_slow_down.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr uint32_t kFewestCalls = 8;  // of a window, for a rate that means something
// A call that is counted and not recorded takes that much longer than alone (a callback of CUPTI, H200,
// docs/overhead.md). Whether the program is slower for it is not known, as the cost may be hidden behind work of the
// GPU.
constexpr double kCountedCallNs = 400;

double NsOfCall(const WorkRate& rate) { return static_cast<double>(rate.span_ns) / (rate.calls - 1); }

// As if nothing of the counting were hidden, and as long as most of the time is the program's own.
double LeastNsOfCall(const WorkRate& rate) {
  const double counted_ns = NsOfCall(rate);
  return std::max(counted_ns / 2, counted_ns - kCountedCallNs / std::max<uint32_t>(rate.threads, 1));
}

bool IsUsable(const WorkRate& rate) { return rate.calls >= kFewestCalls && rate.span_ns > 0; }

// A window without recording beside one with it, in which the program did the same.
bool IsNeighbour(const WorkRate& recorded, const WorkRate& other) {
  return !other.is_recorded && IsUsable(other) && other.function == recorded.function &&
         (other.number + 1 == recorded.number || other.number == recorded.number + 1);
}

// How many values stand on each side of the 95 % interval of the median, in order of size: the largest number that a
// fair coin falls short of in less than one case of 40. Below six values there is no such interval.
size_t OutsideOfInterval(size_t count) {
  double probability = 1, sum = 0;
  for (size_t i = 0; i < count; ++i) probability /= 2;
  for (size_t outside = 0; outside <= count; ++outside) {
    sum += probability;
    if (sum > 0.025) return outside;
    probability *= static_cast<double>(count - outside) / static_cast<double>(outside + 1);
  }
  return count;
}

}  // namespace

MeasuredSlowDown MeasureSlowDown(const std::vector<const WorkRate*>& rates) {
  MeasuredSlowDown result;
  std::vector<double> percents, most_percents;  // the latter if no cost of counting is hidden
  for (size_t i = 0; i < rates.size(); ++i) {
    const WorkRate& recorded = *rates[i];
    if (!recorded.is_recorded || !IsUsable(recorded)) continue;
    double sum_ns = 0, least_sum_ns = 0;
    int neighbours = 0;
    for (const size_t at : {i - 1, i + 1}) {  // beyond either end there is none
      if (at >= rates.size() || !IsNeighbour(recorded, *rates[at])) continue;
      sum_ns += NsOfCall(*rates[at]);
      least_sum_ns += LeastNsOfCall(*rates[at]);
      ++neighbours;
    }
    if (neighbours == 0) continue;
    percents.push_back(100 * (NsOfCall(recorded) * neighbours / sum_ns - 1));
    most_percents.push_back(100 * (NsOfCall(recorded) * neighbours / least_sum_ns - 1));
    result.function = recorded.function;
  }
  const size_t outside = OutsideOfInterval(percents.size());
  if (outside == 0) return {};
  std::ranges::sort(percents);
  std::ranges::sort(most_percents);
  const size_t middle = percents.size() / 2;
  result.windows = static_cast<int64_t>(percents.size());
  result.percent = percents.size() % 2 == 1 ? percents[middle] : (percents[middle - 1] + percents[middle]) / 2;
  result.low_percent = percents[outside - 1];
  result.high_percent = most_percents[percents.size() - outside];
  return result;
}

std::string SlowDownWords(const MeasuredSlowDown& measured) {
  return "measured slow-down " + FormatPercent(measured.percent) + " (95% interval " +
         FormatPercent(measured.low_percent) + " to " + FormatPercent(measured.high_percent) + ", " +
         CountOf(measured.windows, "window") + ")";
}

MeasuredSlowDown MeasureSlowDown(const Trace& trace) {
  std::vector<std::vector<const WorkRate*>> by_process(trace.processes.size());
  for (const WorkRate& rate : trace.work_rates) {
    if (rate.process < by_process.size()) by_process[rate.process].push_back(&rate);
  }
  MeasuredSlowDown most;
  for (uint32_t process = 0; process < by_process.size(); ++process) {
    const MeasuredSlowDown slow_down = MeasureSlowDown(by_process[process]);
    if (!slow_down.IsKnown() || (most.IsKnown() && slow_down.percent <= most.percent)) continue;
    most = slow_down;
    most.process = process;
  }
  return most;
}

}  // namespace gprof
