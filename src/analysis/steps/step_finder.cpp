#include "analysis/steps/step_finder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "base/saturate.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr int64_t kFewestSteps = 5;

// Operators of a framework, what autograd runs for them, loaders and libraries: they repeat within a step, and are
// none.
bool IsPartOfAStep(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {
      "aten::",    "autograd::", "prim::", "torch::",    "c10::", "enumerate(",        "nccl",
      "ncclGroup", "cudnn",      "cublas", "Optimizer.", "cuda",  "record_param_comms"};
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) || Contains(name, "Backward") ||
         Contains(name, "DataLoader");
}

// The entries of one path on one thread.
struct Candidate {
  uint32_t thread = kNone;
  NameId path;
  uint16_t depth = 0;
  bool has_depths = false;  // it is entered at more than one depth
  int64_t count = 0, covered_ns = 0, total_ns = 0;
};

class Search {
 public:
  Search(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges, const std::string& wanted)
      : trace_(trace),
        ranges_(ranges),
        wanted_(wanted),
        window_(trace.ops.empty() ? Interval{trace.start_ns, trace.end_ns} : ops.window()),
        facts_of_threads_(trace.threads.size()),
        slots_(trace.strings.size()) {
    for (uint32_t i = 0; i < ranges.sums().size(); ++i) {
      const uint32_t thread = trace.ranges.TraitsAt(i).thread;
      if (thread != kNone && ranges.sums()[i].whole > 0) facts_of_threads_[thread].push_back(i);
    }
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) Look(thread);
  }

  const Candidate& best() const { return best_; }
  const Interval& window() const { return window_; }
  // Some path is entered often and at one depth, whatever it covers.
  bool has_repeats() const { return has_repeats_; }

 private:
  bool IsWanted(const PackedRanges::Traits& range) const {
    if (wanted_.empty()) return !IsPartOfAStep(trace_.Text(range.name));
    const NameId domain = range.domain == kNone ? NameId{} : trace_.domains[range.domain].name;
    return MatchesPath(wanted_, trace_.Text(range.path), trace_.Text(domain)) ||
           MatchesGlob(wanted_, trace_.Text(range.name));
  }

  void Look(uint32_t thread) {
    std::vector<uint32_t> paths = Count(thread);
    if (wanted_.empty()) {
      std::erase_if(paths, [&](uint32_t path) { return !Repeats(slots_[path]); });
      has_repeats_ |= !paths.empty();
    }
    if (paths.empty()) return;
    uint16_t least = std::numeric_limits<uint16_t>::max();
    for (const uint32_t path : paths) least = std::min(least, slots_[path].depth);
    // Without a name the outermost path that covers most is chosen, so that those within need not be measured.
    ranges_.ForEachWhole(thread, least, [&](uint32_t range) { AddTime(range); });
    const auto is_done = [&](uint32_t path) { return slots_[path].depth == least && CoversMost(slots_[path]); };
    const bool is_found = wanted_.empty() && std::any_of(paths.begin(), paths.end(), is_done);
    if (!is_found) {
      ranges_.ForEachWhole(thread, [&](uint32_t range) {
        if (trace_.ranges.items()[range].depth != least) AddTime(range);
      });
    }
    for (const uint32_t path : paths) {
      if (!wanted_.empty() || CoversMost(slots_[path])) Offer(slots_[path]);
    }
  }

  // The entries of each path on the thread; returns the paths that may be what is looked for.
  std::vector<uint32_t> Count(uint32_t thread) {
    std::vector<uint32_t> paths;
    for (const uint32_t i : facts_of_threads_[thread]) {
      const PackedRanges::Traits& traits = trace_.ranges.TraitsAt(i);
      const RangeFacts::Sum& sum = ranges_.sums()[i];
      Candidate& slot = slots_[traits.path.value];
      if (slot.thread != thread) {
        slot = {thread, traits.path, sum.least_depth, false, 0, 0, 0};
        if (IsWanted(traits)) paths.push_back(traits.path.value);
      }
      slot.has_depths |= sum.least_depth != slot.depth || sum.most_depth != slot.depth;
      slot.count += sum.whole;
    }
    return paths;
  }

  void AddTime(uint32_t index) {
    const PackedRanges& ranges = trace_.ranges;
    const PackedRanges::Item& range = ranges.items()[index];
    Candidate& slot = slots_[ranges.TraitsOf(range).path.value];
    const int64_t start_ns = range.start_ns(), end_ns = start_ns + ranges.DurationNs(range);
    AddWrapping(&slot.total_ns, end_ns - start_ns);
    slot.covered_ns += OverlapNs(Interval{start_ns, end_ns}, window_);
  }

  static bool Repeats(const Candidate& candidate) { return candidate.count >= kFewestSteps && !candidate.has_depths; }

  void Offer(const Candidate& candidate) {
    if (best_.thread == kNone || IsBetter(candidate, best_)) best_ = candidate;
  }

  bool CoversMost(const Candidate& candidate) const {
    return candidate.covered_ns > 0 && candidate.covered_ns >= window_.DurationNs() - candidate.covered_ns;
  }

  bool IsBetter(const Candidate& a, const Candidate& b) const {
    const int a_depth = wanted_.empty() ? a.depth : 0, b_depth = wanted_.empty() ? b.depth : 0;
    const auto a_name = trace_.Text(a.path), b_name = trace_.Text(b.path);
    return std::tie(a_depth, b.covered_ns, b.total_ns, a_name) < std::tie(b_depth, a.covered_ns, a.total_ns, b_name);
  }

  const Trace& trace_;
  const RangeFacts& ranges_;
  const std::string& wanted_;
  const Interval window_;
  std::vector<std::vector<uint32_t>> facts_of_threads_;  // of whole ranges
  std::vector<Candidate> slots_;                         // by NameId of the path, of the thread looked at last
  Candidate best_;
  bool has_repeats_ = false;
};

// Where a long start-up makes all steps together a small part of the window, the work says what the step is: the
// kernels that any thread of the process launched while the range was open. Any thread, as autograd launches the
// backward pass from one of its own.
class SearchByWork {
 public:
  SearchByWork(const Trace& trace, const OpFacts& ops) : trace_(trace), ops_(ops) {
    std::vector<std::vector<Launched>> of_process = KernelsOfProcesses();
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
      const uint32_t process = trace.threads[thread].process;
      if (process != kNone && !of_process[process].empty()) Look(thread, of_process[process]);
    }
  }

  const Candidate& best() const { return best_; }
  int64_t best_work_ns() const { return best_work_ns_; }
  int64_t all_work_ns() const { return all_work_ns_; }

 private:
  struct Launched {
    int64_t at_ns, kernel_ns;
  };

  struct Slot {
    Candidate candidate;
    int64_t work_ns = 0, working_count = 0;
  };

  std::vector<std::vector<Launched>> KernelsOfProcesses() const {
    std::vector<std::vector<Launched>> of_process(trace_.processes.size());
    for (uint32_t i = 0; i < trace_.ops.size(); ++i) {
      const GpuOp& op = trace_.ops[i];
      if (op.kind != OpKind::kKernel || op.process == kNone || ops_.CallOf(i) == kNone) continue;
      of_process[op.process].push_back({ops_.LaunchNs(i), op.DurationNs()});
    }
    for (auto& kernels : of_process) {
      const auto earlier = [](const Launched& a, const Launched& b) { return a.at_ns < b.at_ns; };
      if (!std::is_sorted(kernels.begin(), kernels.end(), earlier)) std::sort(kernels.begin(), kernels.end(), earlier);
    }
    return of_process;
  }

  // Entries of a path at one depth do not overlap, so each kernel is in at most one of them.
  void Look(uint32_t thread, const std::vector<Launched>& kernels) {
    std::vector<int64_t> sums_ns{0};  // kernel time launched before each
    for (const Launched& kernel : kernels) {
      sums_ns.push_back(sums_ns.back());
      AddWrapping(&sums_ns.back(), kernel.kernel_ns);
    }
    const auto launched_before = [&](int64_t time_ns) {
      const auto at = std::partition_point(kernels.begin(), kernels.end(),
                                           [&](const Launched& kernel) { return kernel.at_ns < time_ns; });
      return sums_ns[static_cast<size_t>(at - kernels.begin())];
    };
    std::map<uint32_t, Slot> slots;
    const Trace::Slice slice = trace_.thread_ranges[thread];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      if (!range.is_push_pop || range.is_open || range.is_cut || IsPartOfAStep(trace_.Text(range.name))) continue;
      Slot& slot = slots.try_emplace(range.path.value, Slot{{thread, range.path, range.depth, false, 0, 0, 0}, 0, 0})
                       .first->second;
      slot.candidate.has_depths |= slot.candidate.depth != range.depth;
      ++slot.candidate.count;
      const int64_t work_ns = SubtractWrapping(launched_before(range.end_ns), launched_before(range.start_ns));
      AddWrapping(&slot.work_ns, work_ns);
      slot.working_count += work_ns > 0;
    }
    for (const auto& [path, slot] : slots) Offer(slot, sums_ns.back());
  }

  void Offer(const Slot& slot, int64_t all_ns) {
    if (slot.working_count < kFewestSteps || slot.candidate.has_depths) return;
    if (slot.work_ns < all_ns - slot.work_ns) return;
    const auto key = [&](const Candidate& candidate, int64_t work_ns) {
      return std::tuple(candidate.depth, -work_ns, trace_.Text(candidate.path));
    };
    if (best_.thread != kNone && key(best_, best_work_ns_) <= key(slot.candidate, slot.work_ns)) return;
    best_ = slot.candidate;
    best_work_ns_ = slot.work_ns;
    all_work_ns_ = all_ns;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  Candidate best_;
  int64_t best_work_ns_ = 0, all_work_ns_ = 0;
};

StepChoice ChoiceOf(const Trace& trace, const RangeFacts& ranges, const Candidate& best) {
  StepChoice choice{best.thread, best.path, {}, best.covered_ns, 0, 0, 0};
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  const auto add = [&](uint32_t index) {
    const PackedRanges::Item& range = trace.ranges.items()[index];
    if (trace.ranges.TraitsOf(range).path != best.path) return;
    if (range.start_ns() < end_ns) return;  // a trace that contradicts itself
    end_ns = trace.ranges.EndNs(range);
    choice.ranges.push_back(index);
  };
  if (best.has_depths) {
    ranges.ForEachWhole(best.thread, add);
  } else {
    ranges.ForEachWhole(best.thread, best.depth, add);
  }
  return choice;
}

std::optional<StepChoice> Find(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges,
                               const std::string& wanted) {
  const Search search(trace, ops, ranges, wanted);
  if (search.best().thread != kNone) {
    StepChoice choice = ChoiceOf(trace, ranges, search.best());
    choice.window_ns = search.window().DurationNs();
    return choice;
  }
  if (!wanted.empty() || !search.has_repeats()) return std::nullopt;
  const SearchByWork by_work(trace, ops);
  if (by_work.best().thread == kNone) return std::nullopt;
  StepChoice choice = ChoiceOf(trace, ranges, by_work.best());
  choice.work_ns = by_work.best_work_ns();
  choice.all_work_ns = by_work.all_work_ns();
  return choice;
}

}  // namespace

std::optional<StepChoice> FindStep(const AnalysisInput& input, const std::string& wanted) {
  if (wanted.empty()) return input.shared().step();
  return Find(input.trace(), input.shared().ops(), input.shared().ranges(), wanted);
}

std::optional<StepChoice> FindStepUnnamed(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges) {
  return Find(trace, ops, ranges, "");
}

}  // namespace gprof
