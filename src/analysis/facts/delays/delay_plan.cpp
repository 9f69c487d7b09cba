#include "analysis/facts/delays/delay_plan.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "gprof/trace/delay_request.h"

namespace gprof {
namespace {

namespace request = trace::delay_request;

// What a unit becomes longer by, if nothing of it is hidden: enough to be seen in some windows, and no more than a user
// would bear.
constexpr double kShares[] = {0.05, 0.15};
// A shorter delay on the host is lost in what reading the clock takes.
constexpr int64_t kLeastHostNs = 200;
// A kernel is delayed by a kernel, whose launch takes time as well. While that one waits, the next is launched, which
// takes a few microseconds: from here on a longer delay costs as much as it is longer.
constexpr int64_t kLeastKernelNs = 10'000;
constexpr double kMostOfUnit = 1;

constexpr double kWindowUnits = 12;
constexpr int64_t kShortestWindowNs = 60'000'000, kLongestWindowNs = 10'000'000'000;

// Of a unit that a thing has to take to be worth looking at, and how many of a kind are looked at.
constexpr double kLeastShare = 0.03;
constexpr size_t kMostKernels = 3, kMostRanges = 4;

// The largest of a kind first.
std::vector<ThingUse> LargestOf(const std::vector<ThingUse>& uses, ThingKind kind, int64_t least_ns, size_t most) {
  std::vector<ThingUse> of_kind;
  for (const ThingUse& use : uses) {
    if (use.kind == kind && use.time_ns >= least_ns) of_kind.push_back(use);
  }
  std::ranges::stable_sort(of_kind, std::greater(), &ThingUse::time_ns);
  if (of_kind.size() > most) of_kind.resize(most);
  return of_kind;
}

std::vector<ThingUse> Choose(const std::vector<ThingUse>& uses, int64_t whole_ns,
                             const std::function<bool(const ThingUse&)>& is_wanted) {
  std::vector<ThingUse> chosen;
  if (is_wanted) {
    std::ranges::copy_if(uses, std::back_inserter(chosen), is_wanted);
    return chosen;
  }
  const auto least_ns = static_cast<int64_t>(kLeastShare * static_cast<double>(whole_ns));
  const auto add = [&](ThingKind kind, int64_t least, size_t most) {
    std::ranges::copy(LargestOf(uses, kind, least, most), std::back_inserter(chosen));
  };
  for (const ThingKind kind : {ThingKind::kLaunches, ThingKind::kCopies, ThingKind::kSync}) add(kind, 0, 1);
  add(ThingKind::kRange, least_ns, kMostRanges);
  add(ThingKind::kKernel, least_ns, kMostKernels);
  return chosen;
}

std::vector<int64_t> DelaysOf(ThingKind kind, double unit_ns, double instances) {
  const bool is_kernel = kind == ThingKind::kKernel;
  std::vector<int64_t> delays;
  if (is_kernel) delays.push_back(kLeastKernelNs);  // what the launch of the delay costs
  for (const double share : kShares) {
    const auto delay_ns =
        std::max(static_cast<int64_t>(share * unit_ns / instances), is_kernel ? kLeastKernelNs : kLeastHostNs);
    const bool is_bearable = static_cast<double>(delay_ns) * instances <= kMostOfUnit * unit_ns;
    if (is_bearable && (delays.empty() || delay_ns > delays.back())) delays.push_back(delay_ns);
  }
  // Of one delay alone nobody knows what of it is the launch.
  return is_kernel && delays.size() < 2 ? std::vector<int64_t>() : delays;
}

std::string_view WordOf(ThingKind kind) {
  switch (kind) {
    case ThingKind::kLaunches:
      return request::kLaunches;
    case ThingKind::kSync:
      return request::kSync;
    case ThingKind::kCopies:
      return request::kCopies;
    case ThingKind::kApi:
      return request::kApi;
    case ThingKind::kRange:
      return request::kRange;
    case ThingKind::kLine:
      return request::kLine;
    default:
      return request::kKernel;
  }
}

template <class List, class F>
std::string Joined(const List& list, F&& text_of) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : ",") + text_of(one);
  return text;
}

}  // namespace

int64_t PlannedDelays::RoundNs() const {
  size_t windows = 0;
  for (const PlannedThing& thing : things) windows += 2 * thing.delays_ns.size();
  return static_cast<int64_t>(windows) * window_ns;
}

PlannedDelays PlanDelays(const AnalysisInput& input, const ProgramProgress& progress,
                         const std::function<bool(const ThingUse&)>& is_wanted, const std::vector<std::string>& lines) {
  PlannedDelays plan;
  plan.unit_ns = progress.MeanNs();
  plan.window_ns = std::clamp(static_cast<int64_t>(plan.unit_ns * kWindowUnits), kShortestWindowNs, kLongestWindowNs);
  const std::vector<ThingUse> uses = UsesIn(input, progress, {progress.window()}, lines);
  const auto units = static_cast<double>(progress.size() - 1);
  for (ThingUse& use : Choose(uses, progress.window().DurationNs(), is_wanted)) {
    PlannedThing thing;
    thing.instances_per_unit = static_cast<double>(use.instances) / units;
    thing.delays_ns = DelaysOf(use.kind, plan.unit_ns, thing.instances_per_unit);
    thing.use = std::move(use);
    if (!thing.delays_ns.empty() && plan.things.size() < request::kMostThings) plan.things.push_back(std::move(thing));
  }
  return plan;
}

std::string DelayRequest(const PlannedDelays& plan, uint64_t seed) {
  std::string text = std::string(request::kSeed) + " " + std::to_string(seed) + "\n" + request::kWindow + " " +
                     std::to_string(plan.window_ns) + "\n";
  for (const PlannedThing& thing : plan.things) {
    text += std::string(WordOf(thing.use.kind)) + " " +
            Joined(thing.delays_ns, [](int64_t ns) { return std::to_string(ns); }) + " ";
    if (thing.use.kind == ThingKind::kKernel)
      text += Joined(thing.use.symbols,
                     [](const std::string& symbol) { return std::to_string(request::HashOfSymbol(symbol.c_str())); }) +
              " ";
    if (thing.use.kind == ThingKind::kLine)
      text += Joined(thing.use.frames, [](uint64_t hash) { return std::to_string(hash); }) + " ";
    text += thing.use.name + "\n";
  }
  return text;
}

}  // namespace gprof
