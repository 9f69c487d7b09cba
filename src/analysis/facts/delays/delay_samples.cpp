#include "analysis/facts/delays/delay_samples.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gprof {
namespace {

// What the window before has queued, and what the program has run ahead by, is worked off in the first part of a
// window.
constexpr int64_t kSettlePart = 4;
constexpr int64_t kFewestInWindow = 2;

// The progress in what counts of a window.
struct Counted {
  int64_t units = 0;
  double unit_ns = 0;
  Interval time;
  bool IsUsable() const { return units >= kFewestInWindow; }
};

Counted CountIn(const ProgramProgress& progress, const DelayWindow& window) {
  const int64_t from_ns = window.start_ns + (window.end_ns - window.start_ns) / kSettlePart;
  const auto first = std::ranges::lower_bound(progress.begin_ns, from_ns) - progress.begin_ns.begin();
  // The last one has to be begun and left within the window.
  const auto last = std::ranges::upper_bound(progress.begin_ns, window.end_ns) - progress.begin_ns.begin() - 1;
  Counted counted;
  if (first == 0 || last - first < kFewestInWindow) return counted;
  counted.units = last - first;
  const auto at = [&](int64_t unit) { return progress.done_ns[static_cast<size_t>(unit)]; };
  counted.unit_ns = static_cast<double>(at(last - 1) - at(first - 1)) / static_cast<double>(counted.units);
  counted.time = {progress.begin_ns[static_cast<size_t>(first)], progress.begin_ns[static_cast<size_t>(last)]};
  return counted;
}

double InsertedPerUnit(const DelayWindow& window, const std::string& thing, double unit_ns) {
  const int64_t inserted_ns = IsKernelThing(thing) ? window.instances * window.delay_ns : window.inserted_ns;
  return static_cast<double>(inserted_ns) * unit_ns /
         static_cast<double>(std::max<int64_t>(1, window.end_ns - window.start_ns));
}

class Reader {
 public:
  Reader(const Trace& trace, const ProgramProgress& progress) : trace_(trace), progress_(progress) {
    for (const DelayWindow& window : trace.delay_windows) {
      if (window.process == progress.process) windows_.push_back(&window);
    }
    for (const DelayWindow* window : windows_) counted_.push_back(CountIn(progress, *window));
  }

  void Read(DelaySamples* result) const {
    for (size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i]->thing == NameId{}) {
        AddUndelayed(counted_[i], result);
      } else {
        AddDelayed(i, result);
      }
    }
  }

  std::vector<Interval> UndelayedTimes() const {
    std::vector<Interval> times;
    for (size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i]->thing == NameId{} && counted_[i].IsUsable()) times.push_back(counted_[i].time);
    }
    return times;
  }

 private:
  static void AddUndelayed(const Counted& counted, DelaySamples* result) {
    if (!counted.IsUsable()) return;
    result->undelayed_units += counted.units;
    result->undelayed_ns += counted.unit_ns * static_cast<double>(counted.units);
  }

  void AddDelayed(size_t i, DelaySamples* result) const {
    ++result->windows;
    const std::optional<double> beside_ns = BesideNs(i);
    if (!counted_[i].IsUsable() || !beside_ns) {
      ++result->unusable;
      return;
    }
    DelaySample sample;
    sample.thing = trace_.Text(windows_[i]->thing);
    sample.delay_ns = windows_[i]->delay_ns;
    sample.inserted_ns = InsertedPerUnit(*windows_[i], sample.thing, counted_[i].unit_ns);
    sample.longer_ns = counted_[i].unit_ns - *beside_ns;
    sample.units = counted_[i].units;
    result->samples.push_back(std::move(sample));
  }

  // A unit in the windows before and after, whatever drifts being half way between them. With one of them alone, what
  // drifts would count as an effect.
  std::optional<double> BesideNs(size_t i) const {
    if (i == 0 || i + 1 == windows_.size()) return std::nullopt;
    if (!IsUndelayed(i - 1) || !IsUndelayed(i + 1)) return std::nullopt;
    return (counted_[i - 1].unit_ns + counted_[i + 1].unit_ns) / 2;
  }

  bool IsUndelayed(size_t i) const { return windows_[i]->thing == NameId{} && counted_[i].IsUsable(); }

  const Trace& trace_;
  const ProgramProgress& progress_;
  std::vector<const DelayWindow*> windows_;  // in order of time
  std::vector<Counted> counted_;
};

// Of which the calls were delayed.
std::vector<std::string> LinesOf(const Trace& trace) {
  std::set<std::string> lines;
  for (const DelayWindow& window : trace.delay_windows) {
    const std::string_view thing = trace.Text(window.thing);
    if (thing.starts_with(kLineThing)) lines.emplace(thing);
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

double DelaySamples::SlowDownPercent() const {
  double longer_ns = 0, units = 0;
  for (const DelaySample& sample : samples) {
    longer_ns += sample.longer_ns * static_cast<double>(sample.units);
    units += static_cast<double>(sample.units);
  }
  return units == 0 || UnitNs() <= 0 ? 0 : 100 * longer_ns / units / 2 / UnitNs();
}

DelaySamples ReadDelayWindows(const AnalysisInput& input, const std::string& wanted) {
  DelaySamples result;
  if (input.trace().delay_windows.empty()) return result;
  const std::optional<ProgramProgress> progress = FindProgress(input, wanted);
  if (!progress) return result;
  result.progress = progress->name;
  const Reader reader(input.trace(), *progress);
  reader.Read(&result);
  result.uses = UsesIn(input, *progress, reader.UndelayedTimes(), LinesOf(input.trace()));
  return result;
}

void Join(const DelaySamples& more, DelaySamples* all) {
  all->samples.insert(all->samples.end(), more.samples.begin(), more.samples.end());
  all->windows += more.windows;
  all->unusable += more.unusable;
  if (all->progress.empty()) all->progress = more.progress;
  all->undelayed_units += more.undelayed_units;
  all->undelayed_ns += more.undelayed_ns;
  for (const ThingUse& use : more.uses) {
    const auto same = std::ranges::find(all->uses, use.name, &ThingUse::name);
    if (same == all->uses.end()) {
      all->uses.push_back(use);
      continue;
    }
    same->instances += use.instances;
    same->time_ns += use.time_ns;
  }
}

}  // namespace gprof
