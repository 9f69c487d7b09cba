#include "gate/diff/diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/units.h"
#include "gate/breakdown/run_sums.h"
#include "gate/diff/diff_metrics.h"
#include "gate/runs/fingerprint.h"
#include "gprof/error.h"

namespace gprof {
namespace {

// What a part has to change by, of the whole, in shares of what the whole has to change by: parts of nothing would be
// judged otherwise.
constexpr double kPartOfWhole = 0.1;

using Values = std::vector<double>;

template <class Map, class Key>
const typename Map::mapped_type* Find(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

const KernelOfRun* FindKernel(const RunSums& run, const std::string& name) {
  const auto found = std::lower_bound(run.kernels.begin(), run.kernels.end(), name,
                                      [](const KernelOfRun& kernel, const std::string& n) { return kernel.name < n; });
  return found == run.kernels.end() || found->name != name ? nullptr : &*found;
}

Presence PresenceOf(bool is_in_base, bool is_in_new) {
  return !is_in_base ? Presence::kNew : is_in_new ? Presence::kBoth : Presence::kGone;
}

template <class Map, class Set>
void AddKeys(const Map& map, Set* keys) {
  for (const auto& entry : map) keys->insert(entry.first);
}

class Comparer {
 public:
  Comparer(const RunSet& base, const RunSet& now, const DiffOptions& options) : options_(options) {
    for (const Measurement& run : base.runs) base_.emplace_back(run);
    for (const Measurement& run : now.runs) new_.emplace_back(run);
    if (base_.empty() || new_.empty()) throw Error(ExitCode::kInconclusive, "no runs to compare");
    FillSide(base, base_, &d_.base);
    FillSide(now, new_, &d_.now);
    WhetherToJudge(base, now);
    ChooseFigure();
  }

  Diff Run() {
    d_.wall = Times([](const RunSums& run) { return run.run->breakdown.wall_ns; });
    d_.gpu_wall = Times([](const RunSums& run) { return run.all.wall_ns; });
    d_.window = Times(WindowNs);
    part_floor_ns_ = kPartOfWhole * options_.min_relative * static_cast<double>(d_.window.base_ns);
    if (d_.base.has_breakdown && d_.now.has_breakdown) Decompose();
    CompareMetrics({Measurements(base_), Measurements(new_)}, {options_, are_runs_judged_}, &d_);
    return std::move(d_);
  }

 private:
  const RunSums& ShownBase() const { return base_[d_.base.shown]; }
  const RunSums& ShownNew() const { return new_[d_.now.shown]; }

  static std::vector<const Measurement*> Measurements(const std::vector<RunSums>& runs) {
    std::vector<const Measurement*> all;
    for (const RunSums& run : runs) all.push_back(run.run);
    return all;
  }

  static void FillSide(const RunSet& set, const std::vector<RunSums>& runs, DiffSide* side) {
    side->name = set.name;
    side->notes = set.notes;
    side->fingerprint = runs.front().run->fingerprint;
    for (const RunSums& sums : runs) {
      const Measurement& run = *sums.run;
      side->sources.push_back(run.source);
      side->has_breakdown = side->has_breakdown && run.breakdown.is_known;
      side->gpus = std::max(side->gpus, run.breakdown.devices.size());
      if (run.is_complete) continue;
      side->is_complete = false;
      for (const std::string& missing : run.missing) side->missing.push_back(run.source + ": " + missing);
      if (run.missing.empty()) side->missing.push_back(run.source);
    }
  }

  void WhetherToJudge(const RunSet& base, const RunSet& now) {
    d_.differences = TimingDifferences(d_.base.fingerprint, d_.now.fingerprint);
    d_.other_differences = OtherDifferences(d_.base.fingerprint, d_.now.fingerprint);
    for (const std::string& difference : StateDifferences(base.runs, now.runs))
      d_.now.notes.push_back("measured under other conditions: " + difference);
    for (const RunSet* set : {&base, &now}) {
      const std::string mixed = MixedRuns(*set);
      if (!mixed.empty()) d_.differences.push_back(mixed);
    }
    if (!d_.differences.empty()) {
      d_.evidence = "times from different machines or recording settings are not comparable";
    } else if (!d_.base.is_complete || !d_.now.is_complete) {
      d_.evidence = "times from incomplete traces are not comparable";
    } else if (HasGpuWork(base_) != HasGpuWork(new_)) {
      d_.evidence = "one side has no GPU work";
    } else if (!HasTime(base_) && !HasTime(new_)) {
      d_.evidence = "captures of kernel counters have no timeline; see the deterministic metrics";
    } else if (base_.size() == 1 && new_.size() == 1) {
      is_judged_by_steps_ = HaveSteps() && HasBlocks(base_.front()) && HasBlocks(new_.front());
      d_.is_judged = is_judged_by_steps_;
      d_.evidence = HowToJudge();
    } else {
      d_.is_judged = are_runs_judged_ = true;
    }
  }

  static bool HasTime(const std::vector<RunSums>& runs) {
    return std::any_of(runs.begin(), runs.end(), [](const RunSums& run) { return run.run->breakdown.wall_ns > 0; });
  }
  static bool HasBlocks(const RunSums& run) { return !run.run->breakdown.steps->block_medians_ns.empty(); }

  static std::string HowToJudge() {
    const std::string runs = std::to_string(LeastRunsForAChange(SampleRules().false_alarms));
    return "one run per side cannot tell a change from noise. For a verdict record >= " + runs +
           " runs per side (gprof-cli profile --repeat " + runs +
           " APP), or mark >= " + std::to_string(kStepsToJudgeBy) + " steps with an NVTX range";
  }

  static int64_t WindowNs(const RunSums& sums) {
    if (sums.run->breakdown.is_known) return sums.all.window_ns;
    const Metric* metric = FindIn(*sums.run, "gpu.window_ns");
    return metric == nullptr ? 0 : static_cast<int64_t>(metric->value);
  }

  static bool HasGpuWork(const std::vector<RunSums>& runs) {
    return std::any_of(runs.begin(), runs.end(), [](const RunSums& run) { return WindowNs(run) > 0; });
  }

  // All runs, and the ranges that stand for their steps have the same name.
  // Of a single step the window of the GPU says more.
  bool HaveSteps() const {
    const auto name = [](const RunSums& sums) {
      const auto& steps = sums.run->breakdown.steps;
      const std::string path = steps && steps->count > 1 ? steps->path : std::string();
      return path.substr(path.rfind('/') + 1);
    };
    const std::string first = name(base_.front());
    const auto is_same = [&](const RunSums& sums) { return name(sums) == first; };
    return !first.empty() && std::all_of(base_.begin(), base_.end(), is_same) &&
           std::all_of(new_.begin(), new_.end(), is_same);
  }

  // One figure only, so that identical builds are told apart no more often than one comparison would do it.
  void ChooseFigure() {
    if (is_judged_by_steps_) {
      d_.figure = "step time";
      JudgeBySteps();
    } else if (HaveSteps()) {
      d_.figure = "step time";
      Judge([](const RunSums& sums) { return sums.run->breakdown.steps->median_ns; });
    } else if (HasGpuWork(base_) || HasGpuWork(new_)) {
      d_.figure = "GPU window";
      Judge([](const RunSums& run) { return static_cast<double>(WindowNs(run)); });
    } else {
      d_.figure = "wall time";
      Judge([](const RunSums& run) { return static_cast<double>(run.run->breakdown.wall_ns); });
    }
  }

  // Runs differ by more than their steps do, in clocks and placement, which one run does not show: a change has to be
  // larger to count.
  SampleComparison CompareSteps() const {
    constexpr double kLeastChange = 0.05;
    SampleRules rules = Rules(Better::kLower, 0);
    rules.min_relative = std::max(rules.min_relative, kLeastChange);
    return CompareSamples(base_.front().run->breakdown.steps->block_medians_ns,
                          new_.front().run->breakdown.steps->block_medians_ns, rules);
  }

  void JudgeBySteps() {
    const SampleComparison judged = CompareSteps();
    d_.verdict = judged.change;
    d_.evidence = judged.evidence;
    constexpr std::string_view kOfRuns = " runs: ";
    const size_t at = d_.evidence.find(kOfRuns);
    if (at != std::string::npos) d_.evidence.replace(at, kOfRuns.size(), " blocks of steps: ");
    d_.evidence += "; judged by the steps within one run per side, which shows no differences between runs";
  }

  template <class F>
  void Judge(F&& value) {
    const auto [base, now] = Samples(value);
    d_.base.shown = MedianRun(base);
    d_.now.shown = MedianRun(now);
    if (!d_.is_judged) return;
    const SampleComparison judged = Compare(base, now, Rules(Better::kLower, 0));
    d_.verdict = judged.change;
    d_.evidence = judged.evidence;
  }

  // The lower of two in the middle.
  static size_t MedianRun(const Values& values) {
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
    return order[(order.size() - 1) / 2];
  }

  SampleRules Rules(Better better, double floor_ns) const {
    SampleRules rules;
    rules.better = better;
    rules.unit = Unit::kNs;
    rules.min_relative = options_.min_relative;
    rules.min_absolute = std::max(options_.min_absolute_ns, floor_ns);
    return rules;
  }

  SampleComparison Compare(const Values& base, const Values& now, const SampleRules& rules) const {
    return options_.are_pairs ? ComparePairs(base, now, rules) : CompareSamples(base, now, rules);
  }

  template <class F>
  std::pair<Values, Values> Samples(F&& value) const {
    Values base, now;
    for (const RunSums& run : base_) base.push_back(static_cast<double>(value(run)));
    for (const RunSums& run : new_) now.push_back(static_cast<double>(value(run)));
    return {std::move(base), std::move(now)};
  }

  // `base_value` and `new_value` differ where a kernel was renamed.
  template <class F, class G>
  TimeChange Times(F&& base_value, G&& new_value, Better better) const {
    TimeChange times{base_value(ShownBase()), new_value(ShownNew()), {}};
    if (!are_runs_judged_) return times;
    Values base, now;
    for (const RunSums& run : base_) base.push_back(static_cast<double>(base_value(run)));
    for (const RunSums& run : new_) now.push_back(static_cast<double>(new_value(run)));
    times.judged = Compare(base, now, Rules(better, part_floor_ns_));
    return times;
  }
  template <class F>
  TimeChange Times(F&& value, Better better = Better::kLower) const {
    return Times(value, value, better);
  }

  void Decompose() {
    d_.base_launches = ShownBase().run->breakdown.launches;
    d_.new_launches = ShownNew().run->breakdown.launches;
    d_.parts = PartChanges([](const RunSums& run) { return &run.all; });
    AddDevices();
    AddKernels();
    AddTransfers();
    AddPaths();
    AddSteps();
  }

  static Better BetterOf(size_t part) {
    return part == kPartOverlap || part == kPartUnrecorded ? Better::kNeither : Better::kLower;
  }

  // `sums` may give nullptr. Parts that neither side has are left out.
  template <class F>
  std::vector<PartChange> PartChanges(F&& sums) const {
    std::vector<PartChange> parts;
    for (size_t part = 0; part < kPartCount; ++part) {
      const auto value = [&](const RunSums& run) {
        const DeviceSums* const device = sums(run);
        return device == nullptr ? 0 : device->parts[part];
      };
      PartChange change{PartKey(part), PartLabel(part), IsInWindow(part), Times(value, BetterOf(part))};
      if (change.time.base_ns != 0 || change.time.new_ns != 0) parts.push_back(std::move(change));
    }
    return parts;
  }

  void AddDevices() {
    std::set<std::string> names;
    AddKeys(ShownBase().devices, &names);
    AddKeys(ShownNew().devices, &names);
    for (const std::string& name : names) {
      const auto sums = [&](const RunSums& run) { return Find(run.devices, name); };
      const auto wall = [&](const RunSums& run) { return sums(run) == nullptr ? 0 : sums(run)->wall_ns; };
      const auto window = [&](const RunSums& run) { return sums(run) == nullptr ? 0 : sums(run)->window_ns; };
      d_.devices.push_back({name, PresenceOf(sums(ShownBase()) != nullptr, sums(ShownNew()) != nullptr), Times(wall),
                            Times(window), PartChanges(sums)});
    }
  }

  void AddKernels() {
    const std::vector<KernelOfRun>&base = ShownBase().kernels, &now = ShownNew().kernels;
    for (const KernelPair& pair : MatchKernels(base, now)) {
      const KernelOfRun none;
      const KernelOfRun& old_one = pair.base == kNoKernel ? none : base[pair.base];
      const KernelOfRun& new_one = pair.now == kNoKernel ? none : now[pair.now];
      KernelChange change;
      change.name = pair.now == kNoKernel ? old_one.name : new_one.name;
      change.presence = PresenceOf(pair.base != kNoKernel, pair.now != kNoKernel);
      if (!pair.why.empty()) {
        change.presence = Presence::kRenamed;
        change.was = old_one.name;
        change.why = pair.why;
      }
      if (pair.base != kNoKernel) change.base_shape = old_one.ShapeText();
      if (pair.now != kNoKernel) change.new_shape = new_one.ShapeText();
      change.base_count = old_one.count;
      change.new_count = new_one.count;
      const std::string& old_name = pair.base == kNoKernel ? new_one.name : old_one.name;
      const auto total = [](const RunSums& run, const std::string& name) {
        const KernelOfRun* const kernel = FindKernel(run, name);
        return kernel == nullptr ? int64_t{0} : kernel->total_ns;
      };
      change.time = Times([&](const RunSums& run) { return total(run, old_name); },
                          [&](const RunSums& run) { return total(run, change.name); }, Better::kLower);
      d_.kernels.push_back(std::move(change));
    }
    Rank(&d_.kernels, [](const KernelChange& kernel) -> const TimeChange& { return kernel.time; });
  }

  // Largest change first, then the longest.
  template <class Rows, class F>
  static void Rank(Rows* rows, F&& time) {
    std::stable_sort(rows->begin(), rows->end(), [&](const auto& a, const auto& b) {
      const TimeChange &x = time(a), &y = time(b);
      const int64_t x_change = std::llabs(x.ChangeNs()), y_change = std::llabs(y.ChangeNs());
      return x_change != y_change ? x_change > y_change : std::max(x.base_ns, x.new_ns) > std::max(y.base_ns, y.new_ns);
    });
  }

  void AddTransfers() {
    std::set<std::pair<std::string, std::string>> keys;
    AddKeys(ShownBase().transfers, &keys);
    AddKeys(ShownNew().transfers, &keys);
    for (const auto& key : keys) {
      const TransferTime* const old_one = Find(ShownBase().transfers, key);
      const TransferTime* const new_one = Find(ShownNew().transfers, key);
      TransferChange change{key.first, key.second, PresenceOf(old_one != nullptr, new_one != nullptr), 0, 0, 0, 0, {}};
      if (old_one != nullptr) change.base_count = old_one->count, change.base_bytes = old_one->size_bytes;
      if (new_one != nullptr) change.new_count = new_one->count, change.new_bytes = new_one->size_bytes;
      change.time = Times([&](const RunSums& run) {
        const TransferTime* const transfer = Find(run.transfers, key);
        return transfer == nullptr ? int64_t{0} : transfer->total_ns;
      });
      d_.transfers.push_back(std::move(change));
    }
    Rank(&d_.transfers, [](const TransferChange& transfer) -> const TimeChange& { return transfer.time; });
  }

  void AddPaths() {
    std::set<std::string> names;
    AddKeys(ShownBase().paths, &names);
    AddKeys(ShownNew().paths, &names);
    for (const std::string& name : names) {
      const PathSums none;
      const auto sums = [&](const RunSums& run) -> const PathSums& {
        const PathSums* const path = Find(run.paths, name);
        return path == nullptr ? none : *path;
      };
      PathChange change;
      change.path = name;
      change.presence = PresenceOf(ShownBase().paths.contains(name), ShownNew().paths.contains(name));
      change.base_count = sums(ShownBase()).count;
      change.new_count = sums(ShownNew()).count;
      change.host = Times([&](const RunSums& run) { return sums(run).host_ns; });
      change.busy = Times([&](const RunSums& run) { return sums(run).busy_ns; });
      change.idle = Times([&](const RunSums& run) { return sums(run).idle_ns; });
      change.window = Times([&](const RunSums& run) { return sums(run).WindowNs(); });
      d_.paths.push_back(std::move(change));
    }
    Rank(&d_.paths, [](const PathChange& path) -> const TimeChange& { return path.window; });
  }

  void AddSteps() {
    if (!HaveSteps()) return;
    const std::optional<StepSums>&base = ShownBase().run->breakdown.steps, &now = ShownNew().run->breakdown.steps;
    StepChange steps{base->path,     now->path,      base->count,   now->count, base->median_ns,
                     now->median_ns, base->total_ns, now->total_ns, {},         {}};
    if (is_judged_by_steps_) steps.judged = CompareSteps();
    if (are_runs_judged_) {
      const auto [old_medians, new_medians] =
          Samples([](const RunSums& sums) { return sums.run->breakdown.steps->median_ns; });
      steps.judged = Compare(old_medians, new_medians, Rules(Better::kLower, 0));
    }
    for (size_t part = 0; part < kStepPartCount; ++part) {
      if (base->parts_ns[part] == 0 && now->parts_ns[part] == 0) continue;
      steps.parts.push_back({StepPartKey(part), StepPartName(part), base->parts_ns[part], now->parts_ns[part]});
    }
    d_.steps = std::move(steps);
  }

  DiffOptions options_;
  std::vector<RunSums> base_, new_;
  double part_floor_ns_ = 0;
  // Times of runs are judged where there are several of each, else the steps within one of each.
  bool are_runs_judged_ = false, is_judged_by_steps_ = false;
  Diff d_;
};

}  // namespace

Diff CompareRuns(const RunSet& base, const RunSet& now, const DiffOptions& options) {
  return Comparer(base, now, options).Run();
}

}  // namespace gprof
