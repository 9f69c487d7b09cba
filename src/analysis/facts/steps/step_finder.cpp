#include "analysis/facts/steps/step_finder.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/result/display_names.h"
#include "base/saturate.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr int64_t kFewestSteps = 5;

// From the first outermost range to the end of the last one: what a program without GPU work has in place of the
// GPU's window.
Interval TimeOfRanges(const Trace& trace, const RangeFacts& ranges) {
  Interval time{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    ranges.ForEachWhole(thread, 0, [&](uint32_t index) {
      const PackedRanges::Item& range = trace.ranges.items()[index];
      time.start_ns = std::min(time.start_ns, range.start_ns());
      time.end_ns = std::max(time.end_ns, trace.ranges.EndNs(range));
    });
  }
  return time.start_ns < time.end_ns ? time : Interval{trace.start_ns, trace.end_ns};
}

// By traits of operations: kernels, but for those of NCCL, which take as long as their rank waits.
std::vector<uint8_t> AreWork(const Trace& trace) {
  std::vector<uint8_t> are_work;
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    are_work.push_back(IsKernelLike(traits.kind) && !IsNcclKernel(trace.Text(traits.name)));
  }
  return are_work;
}

// The entries of one path on one thread.
struct Candidate {
  uint32_t thread = kNone;
  NameId path;
  uint16_t depth = 0;
  bool has_depths = false;  // it is entered at more than one depth
  bool is_named = false;    // a step, going by its name
  int64_t count = 0, covered_ns = 0, total_ns = 0;

  bool Repeats() const { return count >= kFewestSteps && !has_depths; }
  bool IsNamed() const { return is_named && !has_depths; }
  // A name that means a step says more than how often something repeats.
  int Order() const { return IsNamed() ? (Repeats() ? 0 : 1) : 2; }
};

class Search {
 public:
  Search(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges, const std::string& wanted, StepNames* names)
      : trace_(trace),
        ranges_(ranges),
        wanted_(wanted),
        names_(*names),
        window_(trace.ops.empty() ? TimeOfRanges(trace, ranges) : ops.window()),
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
    if (wanted_.empty()) return !names_.ArePartOfAStep(range.name);
    const NameId domain = range.domain == kNone ? NameId{} : trace_.domains[range.domain].name;
    return MatchesPath(wanted_, trace_.Text(range.path), trace_.Text(domain)) ||
           MatchesGlob(wanted_, trace_.Text(range.name));
  }

  void Look(uint32_t thread) {
    std::vector<uint32_t> paths = Count(thread);
    if (wanted_.empty()) {
      std::erase_if(paths, [&](uint32_t path) { return !slots_[path].Repeats() && !slots_[path].IsNamed(); });
      has_repeats_ |= !paths.empty();
    }
    if (paths.empty()) return;
    uint16_t least = std::numeric_limits<uint16_t>::max();
    for (const uint32_t path : paths) least = std::min(least, slots_[path].depth);
    // Without a name the outermost path that covers most is chosen, so that those within need not be measured.
    ranges_.ForEachWhole(thread, least, [&](uint32_t range) { AddTime(range); });
    const bool has_names = std::ranges::any_of(paths, [&](uint32_t path) { return slots_[path].IsNamed(); });
    const auto is_done = [&](uint32_t path) {
      const Candidate& slot = slots_[path];
      return slot.depth == least && slot.Order() == (has_names ? 0 : 2) && CoversMost(slot);
    };
    const bool is_found = wanted_.empty() && std::ranges::any_of(paths, is_done);
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
        slot = {thread, traits.path, sum.least_depth, false, MeansAStep(trace_.Text(traits.name)), 0, 0, 0};
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

  void Offer(const Candidate& candidate) {
    if (best_.thread == kNone || IsBetter(candidate, best_)) best_ = candidate;
  }

  bool CoversMost(const Candidate& candidate) const {
    return candidate.covered_ns > 0 && candidate.covered_ns >= window_.DurationNs() - candidate.covered_ns;
  }

  bool IsBetter(const Candidate& a, const Candidate& b) const {
    const bool is_asked_for = !wanted_.empty();
    const auto a_place = is_asked_for ? std::pair(0, 0) : std::pair(a.Order(), int{a.depth});
    const auto b_place = is_asked_for ? std::pair(0, 0) : std::pair(b.Order(), int{b.depth});
    const auto a_name = trace_.Text(a.path), b_name = trace_.Text(b.path);
    return std::tie(a_place, b.covered_ns, b.total_ns, a_name) < std::tie(b_place, a.covered_ns, a.total_ns, b_name);
  }

  const Trace& trace_;
  const RangeFacts& ranges_;
  const std::string& wanted_;
  StepNames& names_;
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
  SearchByWork(const Trace& trace, const OpFacts& ops, StepNames* names) : trace_(trace), ops_(ops), names_(*names) {
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
    const std::vector<uint8_t> are_work = AreWork(trace_);
    for (const Operation op : OperationsOf(trace_)) {
      const PackedOps::Traits& traits = op.shared();
      if (traits.kind != OpKind::kKernel || are_work[op.kind_number()] == 0) continue;
      if (traits.process == kNone || ops_.CallOf(op) == kNone) continue;
      of_process[traits.process].push_back({ops_.LaunchNs(op), op.duration_ns()});
    }
    for (auto& kernels : of_process) {
      const auto earlier = [](const Launched& a, const Launched& b) { return a.at_ns < b.at_ns; };
      if (!std::ranges::is_sorted(kernels, earlier)) std::ranges::sort(kernels, earlier);
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
      const auto at =
          std::ranges::partition_point(kernels, [&](const Launched& kernel) { return kernel.at_ns < time_ns; });
      return sums_ns[static_cast<size_t>(at - kernels.begin())];
    };
    std::map<uint32_t, Slot> slots;
    const Trace::Slice slice = trace_.thread_ranges[thread];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      if (!range.is_push_pop || range.is_open || range.is_cut || names_.ArePartOfAStep(range.name)) continue;
      Slot& slot = slots[range.path.value];
      if (slot.candidate.count == 0) {
        slot.candidate = {thread, range.path, range.depth, false, MeansAStep(trace_.Text(range.name)), 0, 0, 0};
      }
      slot.candidate.has_depths |= slot.candidate.depth != range.depth;
      ++slot.candidate.count;
      const int64_t work_ns = SubtractWrapping(launched_before(range.end_ns), launched_before(range.start_ns));
      AddWrapping(&slot.work_ns, work_ns);
      slot.working_count += work_ns > 0;
    }
    for (const auto& [path, slot] : slots) Offer(slot, sums_ns.back());
  }

  void Offer(const Slot& slot, int64_t all_ns) {
    const bool is_often_enough = slot.working_count >= kFewestSteps || slot.candidate.is_named;
    if (!is_often_enough || slot.candidate.has_depths) return;
    if (slot.work_ns < all_ns - slot.work_ns) return;
    const auto key = [&](const Candidate& candidate, int64_t work_ns) {
      return std::tuple(candidate.Order(), candidate.depth, -work_ns, trace_.Text(candidate.path));
    };
    if (best_.thread != kNone && key(best_, best_work_ns_) <= key(slot.candidate, slot.work_ns)) return;
    best_ = slot.candidate;
    best_work_ns_ = slot.work_ns;
    all_work_ns_ = all_ns;
  }

  const Trace& trace_;
  const OpFacts& ops_;
  StepNames& names_;
  Candidate best_;
  int64_t best_work_ns_ = 0, all_work_ns_ = 0;
};

StepChoice ChoiceOf(const Trace& trace, const RangeFacts& ranges, const Candidate& best) {
  StepChoice choice{best.thread, best.path, {}, best.covered_ns, 0, 0, 0, best.IsNamed()};
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

// Whether most of the kernel time of its process was launched within the ranges. It may have been where no launch is
// known. Of many kernels, those at equal distances tell.
bool OwnsMostWork(const Trace& trace, const OpFacts& ops, const StepChoice& choice) {
  constexpr uint32_t kLookedAt = 1 << 14;
  const auto count = static_cast<uint32_t>(trace.ops.size());
  const uint32_t process = trace.threads[choice.thread].process;
  const std::vector<uint8_t> are_work = AreWork(trace);
  const auto start_of = [&](std::size_t k) { return trace.ranges.items()[choice.ranges[k]].start_ns(); };
  std::size_t after = 0;  // the first range that begins after the launch: mostly that of the kernel before
  SaturatingSum within_ns, all_ns;
  for (uint32_t i = 0; i < count; i += count / kLookedAt + 1) {
    const Operation op(trace.ops, i);
    const uint32_t call = are_work[op.kind_number()] != 0 && op.shared().process == process ? ops.CallOf(op) : kNone;
    if (call == kNone) continue;
    all_ns += op.duration_ns();
    const int64_t launch_ns = Call(trace.api_calls, call).start_ns();
    if ((after > 0 && launch_ns < start_of(after - 1)) ||
        (after < choice.ranges.size() && start_of(after) <= launch_ns)) {
      const auto is_before = [&](uint32_t range) { return trace.ranges.items()[range].start_ns() <= launch_ns; };
      after = static_cast<std::size_t>(std::partition_point(choice.ranges.begin(), choice.ranges.end(), is_before) -
                                       choice.ranges.begin());
    }
    if (after > 0 && launch_ns < trace.ranges[choice.ranges[after - 1]].end_ns) within_ns += op.duration_ns();
  }
  return int64_t{within_ns} >= int64_t{all_ns} - int64_t{within_ns};
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool IsCollective(std::string_view lower_case) {
  // Each word has one of these in it, and few names do.
  constexpr std::string_view kParts[] = {"all", "reduc", "broadc", "sendr"};
  constexpr std::string_view kWords[] = {"allreduce",      "all_reduce", "allgather",  "all_gather", "reducescatter",
                                         "reduce_scatter", "alltoall",   "all_to_all", "broadcast",  "sendrecv"};
  const auto has = [&](std::string_view part) { return Contains(lower_case, part); };
  return std::any_of(std::begin(kParts), std::end(kParts), has) &&
         std::any_of(std::begin(kWords), std::end(kWords), has);
}

// "_ReduceFromModelParallelRegion": a function of autograd, which PyTorch names by its class.
bool IsPrivateClass(std::string_view name) {
  return name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1])) != 0;
}

}  // namespace

std::optional<StepChoice> FindStep(const Trace& trace, const OpFacts& ops, const RangeFacts& ranges,
                                   const std::string& wanted) {
  StepNames names(trace);
  const Search search(trace, ops, ranges, wanted, &names);
  if (search.best().thread != kNone) {
    StepChoice choice = ChoiceOf(trace, ranges, search.best());
    choice.window_ns = search.window().DurationNs();
    if (!wanted.empty() || OwnsMostWork(trace, ops, choice)) return choice;
  }
  if (!wanted.empty() || !search.has_repeats()) return std::nullopt;
  const SearchByWork by_work(trace, ops, &names);
  if (by_work.best().thread == kNone) return std::nullopt;
  StepChoice choice = ChoiceOf(trace, ranges, by_work.best());
  choice.work_ns = by_work.best_work_ns();
  choice.all_work_ns = by_work.all_work_ns();
  return choice;
}

bool IsPartOfAStep(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {
      "aten::",     "autograd::", "prim::", "torch::", "c10::", "c10d::", "enumerate(", "nccl",
      "gloo:",      "ncclGroup",  "cudnn",  "cublas",  "cuda",  "vllm::", "Optimizer.", "record_param_comms",
      "nn.Module: "};
  constexpr std::string_view kParts[] = {"Backward", "DataLoader", "AccumulateGrad", ".layers."};
  const bool is_known =
      std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                  [&](std::string_view beginning) { return name.starts_with(beginning); }) ||
      std::any_of(std::begin(kParts), std::end(kParts), [&](std::string_view part) { return Contains(name, part); });
  if (is_known || IsPrivateClass(name)) return true;
  const std::string lower = LowerCase(name);
  return lower.starts_with("layer") || IsCollective(lower);
}

bool MeansAStep(std::string_view name) {
  if (name.starts_with("execute_context_")) return true;
  const size_t last = name.find_last_not_of("0123456789#*=:_- ");  // what counts its instances
  const std::string word = LowerCase(name.substr(0, last == std::string_view::npos ? 0 : last + 1));
  constexpr std::string_view kWords[] = {"step", "iteration", "iter", "generate"};
  constexpr std::string_view kEnds[] = {"profilerstep",   "train_step", "training_step",     "train_batch",
                                        "training_batch", "train_iter", "training_iteration"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords) ||
         std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return word.ends_with(end); });
}

bool StepNames::ArePartOfAStep(NameId name) {
  std::optional<bool>& known = are_part_[name.value];
  if (!known) known = IsPartOfAStep(trace_.Text(name));
  return *known;
}

}  // namespace gprof
