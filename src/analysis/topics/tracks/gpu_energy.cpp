#include "analysis/topics/tracks/gpu_energy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "analysis/facts/serving/served_requests.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_finder.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/metric_samples.h"

namespace gprof {
namespace {

constexpr double kNsASecond = 1e9;
// The counter of energy is read once a second and is exact to some milliseconds: over less time it says too little.
constexpr int64_t kShortestScaleNs = 2'000'000'000;
// What is further away is no question of how often power was sampled.
constexpr double kLeastScale = 0.7, kMostScale = 1.4;
// Energy of a window of which less is known is not told.
constexpr double kKnownShare = 0.9;
// Work that has so much of a sample has it for itself.
constexpr double kAloneShare = 0.9;

double Joules(double watts, int64_t ns) { return watts * static_cast<double>(ns) / kNsASecond; }

// Who ran in one piece of the power curve, and for how long: those that run at the same time share it.
class Shares {
 public:
  explicit Shares(uint32_t count) : ns_(count), open_(count) {}

  void Open(uint32_t state) {
    if (open_[state]++ == 0) active_.push_back(state);
  }
  void Close(uint32_t state) {
    if (--open_[state] == 0) std::erase(active_, state);
  }
  void Pass(int64_t ns) {
    for (const uint32_t state : active_) {
      if (ns_[state] == 0) met_.push_back(state);
      ns_[state] += static_cast<double>(ns) / static_cast<double>(active_.size());
    }
  }
  // f(state, ns), and forgets them.
  template <class F>
  void Take(F&& f) {
    for (const uint32_t state : met_) f(state, ns_[state]);
    for (const uint32_t state : met_) ns_[state] = 0;
    met_.clear();
  }

 private:
  std::vector<double> ns_;
  std::vector<uint32_t> open_;  // intervals of each state
  std::vector<uint32_t> active_, met_;
};

// Of `ns` of a piece that is `piece_ns` long.
void AddShare(const PowerCurve& power, double watts, double ns, int64_t piece_ns, StateEnergy* state) {
  const double whole = Joules(watts, piece_ns), mine = watts * ns / kNsASecond;
  state->joules += mine;
  state->time_ns += static_cast<int64_t>(ns + 0.5);
  const bool is_alone = ns >= kAloneShare * static_cast<double>(piece_ns);
  if (is_alone) return;
  const double least = power.least_watts() * ns / kNsASecond;
  const double most = std::min(power.most_watts() * ns / kNsASecond, whole);
  state->uncertainty += std::max({mine - least, most - mine, 0.0});
}

Table MakeTable() {
  return {
      "gpu_energy",
      "GPU energy",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"joules", "Energy (J)", Unit::kCount, false},
       {"uncertainty_joules", "± (J)", Unit::kCount, false},
       {"percent", "Share", Unit::kPercent, false},
       {"time_ns", "Time", Unit::kNs, false},
       {"watts", "Power (W)", Unit::kCount, false},
       {"above_idle_joules", "Above idle (J)", Unit::kCount, true},
       {"kernel", "Kernel", Unit::kText, false}},
      {},
      "Power integrated over the GPU window. ±: uncertainty of work that shares power samples with other work. Above "
      "idle: energy beyond the idle power of the GPU.",
      RowsOfRanks::kApart,
      true};
}

Table MakeRangeTable() {
  return {"gpu_energy_ranges",
          "GPU energy by NVTX range",
          {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
           {"joules", "Energy (J)", Unit::kCount, false},
           {"uncertainty_joules", "± (J)", Unit::kCount, false},
           {"mean_joules", "Mean (J)", Unit::kCount, false},
           {"above_idle_joules", "Above idle (J)", Unit::kCount, true},
           {"count", "Ranges", Unit::kCount, false},
           {"time_ns", "Time", Unit::kNs, false},
           {"range", "Range", Unit::kText, false}},
          {},
          "Energy the GPU used while a thread was in the range, whichever thread launched the work.",
          RowsOfRanks::kApart,
          true};
}

// The power of the GPU at rest: the mean over pieces in which it was idle all the time. None where there are none.
std::optional<double> IdleWatts(const PowerCurve& power, const Interval& window,
                                std::span<const StateInterval> intervals) {
  double joules = 0;
  int64_t idle_ns = 0;
  std::size_t next = 0;
  int64_t busy_until_ns = INT64_MIN;
  for (const PowerCurve::Piece& piece : power.pieces()) {
    if (piece.start_ns < window.start_ns || piece.end_ns > window.end_ns) continue;
    bool is_idle = busy_until_ns <= piece.start_ns;
    for (; next < intervals.size() && intervals[next].start_ns < piece.end_ns; ++next) {
      busy_until_ns = std::max(busy_until_ns, intervals[next].end_ns);
      is_idle &= intervals[next].end_ns <= piece.start_ns;
    }
    if (!is_idle) continue;
    joules += Joules(piece.watts, piece.end_ns - piece.start_ns);
    idle_ns += piece.end_ns - piece.start_ns;
  }
  if (idle_ns == 0) return std::nullopt;
  return joules / static_cast<double>(idle_ns) * kNsASecond;
}

void AddRow(const std::string& device, const std::string& what, const StateEnergy& energy, double all_joules,
            std::optional<double> idle_watts, Table* table) {
  if (energy.time_ns == 0) return;
  const double watts = energy.joules / static_cast<double>(energy.time_ns) * kNsASecond;
  Cell above_idle;
  if (idle_watts) above_idle = std::max(energy.joules - Joules(*idle_watts, energy.time_ns), 0.0);
  table->rows.push_back({device, energy.joules, energy.uncertainty,
                         all_joules > 0 ? 100 * energy.joules / all_joules : 0, energy.time_ns, watts, above_idle,
                         what});
}

// Where samples of power tell kernels apart by regression, what that says stands in the place of shares by time.
void SolveForKernels(const AnalysisInput& input, uint32_t device, const PowerCurve& power, const Interval& window,
                     const KernelStates& kernels, std::vector<StateEnergy>* energies) {
  constexpr double kMilliwatt = 0.001;
  std::vector<MetricSample> samples;
  for (const PowerCurve::Piece& piece : power.pieces()) {
    if (piece.start_ns >= window.start_ns && piece.end_ns <= window.end_ns)
      samples.push_back({piece.start_ns, piece.end_ns, std::llround(piece.watts / kMilliwatt), 0});
  }
  const KernelRates& rates = input.shared().kernel_rates(device);
  const RateFit fit = rates.Fit({samples, kMilliwatt, Together::kAddUp});
  for (std::size_t i = 0; i < kernels.groups.size(); ++i) {
    const std::optional<Estimate> watts = rates.OfKernel(fit, kernels.groups[i]);
    if (!watts) continue;
    const int64_t time_ns = rates.TimeNs(kernels.groups[i]);
    (*energies)[i] = {time_ns, Joules(watts->value, time_ns), Joules((watts->high - watts->low) / 2, time_ns), true};
  }
}

// Adds the energy of kernels that is known to `solved`, by group.
void AddKernels(const AnalysisInput& input, uint32_t device, const PowerCurve& power, const Interval& window,
                const KernelStates& kernels, std::optional<double> idle_watts, Table* table,
                std::map<uint32_t, double>* solved) {
  std::vector<StateEnergy> energies = EnergyOfStates(power, window, kernels.intervals, kernels.size());
  SolveForKernels(input, device, power, window, kernels, &energies);
  const double all_joules = power.JoulesWithin(window);
  const std::string name = DeviceScope(input.trace(), device);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kernels.groups.size(); ++i) order.push_back(i);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return energies[a].joules > energies[b].joules; });
  for (std::size_t i = 0; i < kernels.groups.size(); ++i) {
    if (energies[i].is_solved) (*solved)[kernels.groups[i]] += energies[i].joules;
  }
  for (const std::size_t i : order)
    AddRow(name, input.shared().kernels().Name(kernels.groups[i]), energies[i], all_joules, idle_watts, table);
  AddRow(name, "(other work)", energies[kernels.groups.size()], all_joules, idle_watts, table);
  AddRow(name, "(idle)", energies.back(), all_joules, std::nullopt, table);
}

void AddRanges(const Trace& trace, uint32_t device, const PowerCurve& power, std::optional<double> idle_watts,
               Table* table) {
  struct Sum {
    StateEnergy energy;
    int64_t count = 0, time_ns = 0;
  };
  // A range of less than a sample says nothing, and there may be millions.
  constexpr int64_t kShortestNs = 50'000'000;
  std::map<NameId, Sum> sums;
  for (const NvtxRange range : trace.ranges) {
    const Interval time{range.start_ns, range.end_ns};
    if (time.DurationNs() < kShortestNs) continue;
    Sum& sum = sums[range.path];
    const StateEnergy energy = EnergyWithin(power, time);
    sum.energy.joules += energy.joules;
    sum.energy.uncertainty += energy.uncertainty;
    sum.energy.time_ns += energy.time_ns;
    sum.time_ns += time.DurationNs();
    ++sum.count;
  }
  std::vector<std::pair<NameId, Sum>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(
      rows, [](const auto& a, const auto& b) { return a.second.energy.joules > b.second.energy.joules; });
  for (const auto& [path, sum] : rows) {
    const double joules = sum.energy.joules;
    Cell above_idle;
    if (idle_watts) above_idle = std::max(joules - Joules(*idle_watts, sum.energy.time_ns), 0.0);
    table->rows.push_back({DeviceScope(trace, device), joules, sum.energy.uncertainty,
                           joules / static_cast<double>(sum.count), above_idle, sum.count, sum.time_ns,
                           PathName(trace, path)});
  }
}

}  // namespace

std::optional<PowerCurve> PowerCurve::Of(const Trace& trace, uint32_t device) {
  const uint32_t found = FindSource(trace, device, "power", "W");
  if (found == kNone) return std::nullopt;
  const MetricSource& source = trace.metric_sources[found];
  const std::span<const MetricSample> samples = trace.SamplesOf(found);
  PowerCurve curve;
  const MetricSample* before = nullptr;
  for (const MetricSample& sample : samples) {
    const double watts = ScaledValue(source, sample.value);
    const int64_t least_ns = source.period_ns > 0 ? sample.start_ns - 2 * source.period_ns : INT64_MIN;
    const int64_t start_ns = before == nullptr ? sample.start_ns : std::max(before->start_ns, least_ns);
    if (sample.start_ns > start_ns) curve.pieces_.push_back({start_ns, sample.start_ns, watts, 0});
    before = &sample;
  }
  if (curve.pieces_.empty()) return std::nullopt;
  curve.ScaleTo(trace, FindSource(trace, device, "energy", "J"));
  double joules = 0;
  curve.least_watts_ = curve.most_watts_ = curve.pieces_.front().watts;
  for (Piece& piece : curve.pieces_) {
    piece.joules_before = joules;
    joules += Joules(piece.watts, piece.end_ns - piece.start_ns);
    curve.least_watts_ = std::min(curve.least_watts_, piece.watts);
    curve.most_watts_ = std::max(curve.most_watts_, piece.watts);
  }
  return curve;
}

void PowerCurve::ScaleTo(const Trace& trace, uint32_t energy_source) {
  if (energy_source == kNone) return;
  const std::span<const MetricSample> samples = trace.SamplesOf(energy_source);
  const Interval time{std::max(samples.front().start_ns, pieces_.front().start_ns),
                      std::min(samples.back().start_ns, pieces_.back().end_ns)};
  if (time.DurationNs() < kShortestScaleNs) return;
  double joules = 0;
  for (const Piece& piece : pieces_) joules += Joules(piece.watts, OverlapNs(piece, time));
  const std::optional<double> counted = GrowthWithin(trace, energy_source, time);
  if (!counted || joules <= 0) return;
  const double scale = *counted / joules;
  if (!(scale >= kLeastScale && scale <= kMostScale)) return;
  scale_ = scale;
  is_scaled_ = true;
  for (Piece& piece : pieces_) piece.watts *= scale;
}

double PowerCurve::JoulesUntil(int64_t time_ns) const {
  const auto is_after = [](int64_t at_ns, const Piece& piece) { return at_ns < piece.start_ns; };
  const auto next = std::upper_bound(pieces_.begin(), pieces_.end(), time_ns, is_after);
  if (next == pieces_.begin()) return 0;
  const Piece& piece = *(next - 1);
  return piece.joules_before + Joules(piece.watts, std::min(time_ns, piece.end_ns) - piece.start_ns);
}

double PowerCurve::JoulesWithin(const Interval& time) const {
  return JoulesUntil(time.end_ns) - JoulesUntil(time.start_ns);
}

int64_t PowerCurve::CoveredNs(const Interval& time) const {
  int64_t covered_ns = 0;
  for (const Piece& piece : pieces_) covered_ns += OverlapNs(piece, time);
  return covered_ns;
}

std::vector<StateEnergy> EnergyOfStates(const PowerCurve& power, const Interval& window,
                                        std::span<const StateInterval> intervals, uint32_t state_count) {
  std::vector<StateEnergy> energies(state_count + 1);
  Shares shares(state_count);
  // Those that have begun, by their end.
  std::priority_queue<std::pair<int64_t, uint32_t>, std::vector<std::pair<int64_t, uint32_t>>, std::greater<>> open;
  std::size_t next = 0;
  for (const PowerCurve::Piece& piece : power.pieces()) {
    const Interval time{std::max(piece.start_ns, window.start_ns), std::min(piece.end_ns, window.end_ns)};
    if (time.end_ns <= time.start_ns) continue;
    int64_t at_ns = time.start_ns;
    while (at_ns < time.end_ns) {
      while (!open.empty() && open.top().first <= at_ns) {
        shares.Close(open.top().second);
        open.pop();
      }
      for (; next < intervals.size() && intervals[next].start_ns <= at_ns; ++next) {
        if (intervals[next].end_ns <= at_ns) continue;
        shares.Open(intervals[next].state);
        open.emplace(intervals[next].end_ns, intervals[next].state);
      }
      int64_t until_ns = time.end_ns;
      if (!open.empty()) until_ns = std::min(until_ns, open.top().first);
      if (next < intervals.size()) until_ns = std::min(until_ns, intervals[next].start_ns);
      shares.Pass(until_ns - at_ns);
      at_ns = until_ns;
    }
    double known_ns = 0;
    shares.Take([&](uint32_t state, double ns) {
      AddShare(power, piece.watts, ns, time.DurationNs(), &energies[state]);
      known_ns += ns;
    });
    const double rest_ns = static_cast<double>(time.DurationNs()) - known_ns;
    if (rest_ns >= 1) AddShare(power, piece.watts, rest_ns, time.DurationNs(), &energies.back());
  }
  return energies;
}

StateEnergy EnergyWithin(const PowerCurve& power, const Interval& time) {
  StateEnergy energy;
  const auto ends_before = [](const PowerCurve::Piece& piece, int64_t at_ns) { return piece.end_ns <= at_ns; };
  const std::span<const PowerCurve::Piece> pieces = power.pieces();
  auto piece = std::lower_bound(pieces.begin(), pieces.end(), time.start_ns, ends_before);
  for (; piece != pieces.end() && piece->start_ns < time.end_ns; ++piece) {
    AddShare(power, piece->watts, static_cast<double>(OverlapNs(*piece, time)), piece->end_ns - piece->start_ns,
             &energy);
  }
  return energy;
}

void AddEnergy(const AnalysisInput& input, const StepChoice* step, uint32_t max_rows, AnalysisResult* result) {
  const Trace& trace = input.trace();
  Table kernels = MakeTable(), ranges = MakeRangeTable();
  std::map<uint32_t, double> solved;
  const ServedRequests served = ServedRequests::MayBeIn(trace) ? ServedRequests(trace) : ServedRequests();
  double all_joules = 0, step_joules = 0, token_joules = 0;
  bool is_known = false;
  for (uint32_t device = 0; device < trace.devices.size(); ++device) {
    const std::optional<Interval> window = HasSource(trace, device) ? GpuWindow(input, device) : std::nullopt;
    const std::optional<PowerCurve> power = window ? PowerCurve::Of(trace, device) : std::nullopt;
    if (!power) continue;
    const auto known_ns = static_cast<double>(power->CoveredNs(*window));
    if (known_ns < kKnownShare * static_cast<double>(window->DurationNs())) continue;
    is_known = true;
    const double joules = power->JoulesWithin(*window);
    AddMetric(result, "gpu.energy_j", joules, DeviceScope(trace, device));
    all_joules += joules;
    for (std::size_t i = 0; step != nullptr && i < step->ranges.size(); ++i) {
      const NvtxRange range = trace.ranges[step->ranges[i]];
      step_joules += power->JoulesWithin({range.start_ns, range.end_ns});
    }
    token_joules += power->JoulesWithin(served.Span());
    const KernelStates states = StatesOfKernels(input, device);
    const std::optional<double> idle_watts = IdleWatts(*power, *window, states.intervals);
    AddKernels(input, device, *power, *window, states, idle_watts, &kernels, &solved);
    AddRanges(trace, device, *power, idle_watts, &ranges);
  }
  for (const auto& [group, joules] : solved)
    AddMetric(result, "kernels.energy_j", joules, "kernel:" + input.shared().kernels().Name(group));
  if (is_known) AddMetric(result, "gpu.energy_j", all_joules);
  if (is_known && step != nullptr && !step->ranges.empty())
    AddMetric(result, "gpu.energy_per_step_j", step_joules / static_cast<double>(step->ranges.size()));
  if (is_known && served.OutputTokens() > 0)
    AddMetric(result, "gpu.energy_per_token_j", token_joules / static_cast<double>(served.OutputTokens()));
  for (Table* table : {&kernels, &ranges}) {
    CutRows(table, max_rows);
    result->tables.push_back(std::move(*table));
  }
}

}  // namespace gprof
