#include "counters/counter_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "analysis/facts/counters/counter_sections.h"
#include "counters/metric_names.h"
#include "gprof/error.h"

namespace gprof::counters {
namespace {

// Measured on one H200 in a VM (2026-11-23): 14 to 16 ms for one pass, 22 to 25 ms for each of several.
constexpr double kOnePassMs = 15, kPassMs = 23;

// Names of one metric on different chips, in order.
using Candidates = std::vector<std::string>;

const CounterSet& RequireSet(const std::string& name) {
  const CounterSet* const set = FindCounterSet(name);
  if (set == nullptr) throw Error(ExitCode::kUsage, "there is no set '" + name + "'", "--list-sets lists them");
  return *set;
}

class Planner {
 public:
  explicit Planner(const Chip& chip) : chip_(chip) {}

  void AddSet(const std::string& name) {
    const CounterSet& set = RequireSet(name);
    for (const std::string_view section : set.sections) AddSection(std::string(section));
    for (const std::string_view metric : set.metrics) wanted_.push_back({std::string(metric)});
  }

  void AddSection(const std::string& name) {
    for (Candidates& candidates : MetricsOfSection(name)) wanted_.push_back(std::move(candidates));
  }

  void AddWord(const std::string& word) {
    for (Candidates& candidates : MetricsOfWord(chip_, word)) wanted_.push_back(std::move(candidates));
    words_.insert(word);
  }

  // What is said to be there is taken, nearly always. Else every name is tried, which takes much longer.
  Plan Finish() {
    Plan plan = Choose([&](const std::string& name) { return chip_.MayHave(name); });
    std::optional<Chip::Cost> cost = chip_.CostOf(plan.metrics);
    if (!cost) {
      const std::set<std::string> known = Known();
      plan = Choose([&](const std::string& name) { return known.contains(name); });
      cost = chip_.CostOf(plan.metrics);
    }
    if (!cost)
      throw Error(ExitCode::kUsage, "these metrics cannot be collected together on " + plan.chip,
                  "metrics of the whole device (pcie__, nvl) and metrics of kernels need separate runs");
    plan.passes = cost->passes;
    plan.config_bytes = cost->config_bytes;
    for (const std::string& metric : plan.unavailable) {
      if (words_.contains(metric)) plan.meant[metric] = NearestMetric(chip_, metric);
    }
    return plan;
  }

 private:
  template <class F>
  Plan Choose(F&& is_known) const {
    Plan plan;
    plan.chip = chip_.name();
    std::set<std::string> taken;
    for (const Candidates& names : wanted_) {
      const auto at = std::find_if(names.begin(), names.end(), is_known);
      const std::string& name = at == names.end() ? names.front() : *at;
      if (taken.insert(name).second) (at == names.end() ? plan.unavailable : plan.metrics).push_back(name);
    }
    return plan;
  }

  // The first names of all are asked for together, then the next ones of those that the chip does not have.
  std::set<std::string> Known() const {
    std::set<std::string> known;
    std::vector<const Candidates*> open;
    for (const Candidates& names : wanted_) open.push_back(&names);
    for (std::size_t i = 0; !open.empty(); ++i) {
      std::set<std::string> tried;
      for (const Candidates* names : open) tried.insert((*names)[i]);
      const std::vector<std::string> list(tried.begin(), tried.end());
      for (std::string& name : chip_.KnownOf(list)) known.insert(std::move(name));
      std::erase_if(open,
                    [&](const Candidates* names) { return known.contains((*names)[i]) || names->size() == i + 1; });
    }
    return known;
  }

  const Chip& chip_;
  std::vector<Candidates> wanted_;
  std::set<std::string> words_;  // of --metrics
};

}  // namespace

Plan PlanOf(const Chip& chip, const Wanted& wanted) {
  Planner planner(chip);
  for (const std::string& set : wanted.sets) planner.AddSet(set);
  for (const std::string& section : wanted.sections) planner.AddSection(section);
  for (const std::string& word : wanted.metrics) planner.AddWord(word);
  return planner.Finish();
}

std::vector<std::vector<std::string>> MetricsOf(const Wanted& wanted) {
  Metrics all;
  const auto add = [&](Metrics metrics) { std::move(metrics.begin(), metrics.end(), std::back_inserter(all)); };
  for (const std::string& name : wanted.sets) {
    const CounterSet& set = RequireSet(name);
    for (const std::string_view section : set.sections) add(MetricsOfSection(std::string(section)));
    for (const std::string_view metric : set.metrics) add({{std::string(metric)}});
  }
  for (const std::string& section : wanted.sections) add(MetricsOfSection(section));
  for (const std::string& word : wanted.metrics) add(MetricsOfWord(word));
  return all;
}

double ReplayMs(std::size_t passes) {
  return passes == 0 ? 0 : passes == 1 ? kOnePassMs : kPassMs * static_cast<double>(passes);
}

}  // namespace gprof::counters
