#include "analysis/topics/steps/step_host.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/shared_causes.h"
#include "analysis/facts/places/call_places.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

const Iteration* StepAt(const StepTimes& times, int64_t time_ns) {
  const auto after = std::ranges::partition_point(
      times.iterations, [time_ns](const Iteration& step) { return step.start_ns <= time_ns; });
  if (after == times.iterations.begin()) return nullptr;
  const Iteration& step = *(after - 1);
  return time_ns < step.EndNs() ? &step : nullptr;
}

}  // namespace

StepHost::StepHost(const AnalysisInput& input, const StepChoice& choice, const StepTimes& times) {
  const Trace& trace = input.trace();
  for (const Iteration& step : times.iterations) {
    if (!step.is_warmup) ++(step.is_outlier ? slow_ : usual_);
  }
  const HostGaps& gaps = input.causes().of_host(input);
  CallPlaces place_of(trace, input.shared().python_lines());
  std::map<std::string, HostPlace> places;
  for (const uint32_t i : gaps.python_samples.empty() ? gaps.samples : gaps.python_samples) {
    const CpuSample& sample = trace.cpu_samples[i];
    const Iteration* const step = sample.thread == choice.thread ? StepAt(times, sample.time_ns) : nullptr;
    if (step == nullptr || step->is_warmup) continue;
    const std::string& name = place_of(sample.stack);
    HostPlace& place = places[name.empty() ? "(not known)" : name];
    ++(step->is_outlier ? place.slow_samples : place.samples);
    (step->is_outlier ? place.slow_ns : place.usual_ns) += sample.weight_ns;
  }
  for (auto& [name, place] : places) {
    place.name = name;
    places_.push_back(std::move(place));
  }
  std::ranges::sort(places_, [this](const HostPlace& a, const HostPlace& b) {
    return std::tuple(ExtraNs(b), UsualNs(b), a.name) < std::tuple(ExtraNs(a), UsualNs(a), b.name);
  });
}

double StepHost::UsualNs(const HostPlace& place) const {
  return usual_ == 0 ? 0 : static_cast<double>(place.usual_ns) / static_cast<double>(usual_);
}

double StepHost::ExtraNs(const HostPlace& place) const {
  return slow_ == 0 ? 0 : static_cast<double>(place.slow_ns) / static_cast<double>(slow_) - UsualNs(place);
}

Table StepHost::MakeTable(uint32_t max_rows) const {
  Table table{"step_host",
              "Host code while the GPU was idle, by step",
              {{"usual_ns", "Usual step", Unit::kNs, false},
               {"slow_ns", "Slow step", Unit::kNs, false},
               {"extra_ns", "More in slow", Unit::kNs, false},
               {"samples", "Samples", Unit::kCount, true},
               {"slow_samples", "Samples in slow", Unit::kCount, true},
               {"place", "Line or function", Unit::kText, false}},
              {},
              "Time per step by samples of its thread while the GPU was idle with the causes host and os. Slow: as in "
              "the table of steps; warm-up excluded."};
  for (const HostPlace& place : places_) {
    const double slow_ns = slow_ == 0 ? 0 : static_cast<double>(place.slow_ns) / static_cast<double>(slow_);
    table.rows.push_back({UsualNs(place), slow_ns, ExtraNs(place), place.samples, place.slow_samples, place.name});
  }
  const std::size_t all = table.rows.size();
  table.rows.resize(RowsShown(all, max_rows));
  CountLeftOut(&table, all);
  return table;
}

std::string StepHost::MostOfSlow(double least_ns) const {
  int64_t samples = 0;
  for (const HostPlace& place : places_) samples += place.slow_samples;
  const bool are_enough = samples >= static_cast<int64_t>(kSamplesToNameAFunction);
  if (!are_enough || ExtraNs(places_.front()) < std::max(least_ns, 1.0)) return "";
  return places_.front().name + ", " + FormatNs(ExtraNs(places_.front())) + " more than in others";
}

}  // namespace gprof
