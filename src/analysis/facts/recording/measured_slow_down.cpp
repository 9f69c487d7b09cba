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

bool IsNextTo(const WorkRate& a, const WorkRate& b) {
  return IsUsable(b) && a.function == b.function && (b.number + 1 == a.number || b.number == a.number + 1);
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

using trace::RecordLevel;

// Of a call in a window and in those beside it, in percent of what it takes with less recording. The latter if no cost
// of counting is hidden.
struct Comparison {
  double percent = 0, most_percent = 0;
};

// A window and its neighbours for which `is_neighbour` answers true; `is_more`: the window itself has the most
// recording.
template <class IsNeighbour>
void Compare(const std::vector<const WorkRate*>& rates, size_t at, bool is_more, IsNeighbour is_neighbour,
             std::vector<Comparison>* found) {
  const WorkRate& window = *rates[at];
  double sum_ns = 0, least_sum_ns = 0;
  int neighbours = 0;
  for (const size_t other : {at - 1, at + 1}) {  // beyond either end there is none
    if (other >= rates.size() || !IsNextTo(window, *rates[other]) || !is_neighbour(*rates[other])) continue;
    sum_ns += NsOfCall(*rates[other]);
    least_sum_ns += LeastNsOfCall(*rates[other]);
    ++neighbours;
  }
  if (neighbours == 0) return;
  const double other_ns = sum_ns / neighbours;
  if (is_more) {
    found->push_back(
        {100 * (NsOfCall(window) / other_ns - 1), 100 * (NsOfCall(window) * neighbours / least_sum_ns - 1)});
  } else {
    found->push_back({100 * (other_ns / NsOfCall(window) - 1), 100 * (other_ns / LeastNsOfCall(window) - 1)});
  }
}

bool Summarize(std::vector<Comparison> found, PercentInterval* out) {
  const size_t outside = OutsideOfInterval(found.size()), middle = found.size() / 2;
  if (outside == 0) return false;
  std::ranges::sort(found, {}, &Comparison::most_percent);
  out->high = found[found.size() - outside].most_percent;
  std::ranges::sort(found, {}, &Comparison::percent);
  out->low = found[outside - 1].percent;
  out->middle = found.size() % 2 == 1 ? found[middle].percent : (found[middle - 1].percent + found[middle].percent) / 2;
  return true;
}

// "95% interval 3.6% to 4.9%, 31 windows"
std::string IntervalWords(double low, double high, int64_t windows) {
  return "95% interval " + FormatPercent(low) + " to " + FormatPercent(high) + ", " + CountOf(windows, "window");
}

}  // namespace

MeasuredSlowDown MeasureSlowDown(const std::vector<const WorkRate*>& rates) {
  MeasuredSlowDown result;
  std::vector<Comparison> all, base;
  for (size_t i = 0; i < rates.size(); ++i) {
    if (!IsUsable(*rates[i])) continue;
    if (rates[i]->level == RecordLevel::kAll) {
      const size_t known = all.size();
      Compare(
          rates, i, true, [](const WorkRate& other) { return other.level != RecordLevel::kAll; }, &all);
      if (all.size() > known) result.function = rates[i]->function;
    } else if (rates[i]->level == RecordLevel::kNothing) {
      Compare(
          rates, i, false, [](const WorkRate& other) { return other.level == RecordLevel::kBase; }, &base);
    }
  }
  PercentInterval of_all;
  if (!Summarize(all, &of_all)) return {};
  result.windows = static_cast<int64_t>(all.size());
  result.percent = of_all.middle, result.low_percent = of_all.low, result.high_percent = of_all.high;
  if (Summarize(base, &result.base)) result.base_windows = static_cast<int64_t>(base.size());
  return result;
}

PercentInterval OnAverage(const MeasuredSlowDown& measured) {
  const auto sum = [&](double all, double base) {
    return measured.window_share * all + (measured.window_share + measured.base_share) * base;
  };
  return {sum(measured.percent, measured.base.middle), sum(measured.low_percent, measured.base.low),
          sum(measured.high_percent, measured.base.high)};
}

std::string SlowDownWords(const MeasuredSlowDown& measured) {
  std::string words = "measured slow-down " + FormatPercent(measured.percent) + " (" +
                      IntervalWords(measured.low_percent, measured.high_percent, measured.windows) + ")";
  if (measured.base_windows != 0) {
    words += " in windows, by the base level " + FormatPercent(measured.base.middle) + " (" +
             IntervalWords(measured.base.low, measured.base.high, measured.base_windows) + ")";
  }
  if (measured.IsOfShares()) {
    const PercentInterval average = OnAverage(measured);
    words += ", on average " + FormatPercent(average.middle) + " (" + FormatPercent(average.low) + " to " +
             FormatPercent(average.high) + ")";
  }
  return words;
}

// How much of its time the process was in windows, and at the base level outside of them.
void AddShares(const Trace& trace, MeasuredSlowDown* measured) {
  const Process& process = trace.processes[measured->process];
  const auto all_ns = static_cast<double>(process.end_ns - process.start_ns);
  if (all_ns <= 0) return;
  for (const Capture& c : trace.captures) {
    if (c.process == measured->process) measured->window_share += static_cast<double>(c.DurationNs()) / all_ns;
  }
  for (const BaseTime& time : trace.base_times) {
    if (time.process == measured->process) measured->base_share += static_cast<double>(time.DurationNs()) / all_ns;
  }
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
  if (most.IsKnown()) AddShares(trace, &most);
  return most;
}

}  // namespace gprof
