#include "analysis/step_finder.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace gprof {
namespace {

constexpr int64_t kFewestSteps = 5;

Interval GpuWindow(const Trace& trace) {
  if (trace.ops.empty()) return {trace.start_ns, trace.end_ns};
  Interval window{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const GpuOp& op : trace.ops) {
    window.start_ns = std::min(window.start_ns, op.start_ns);
    window.end_ns = std::max(window.end_ns, op.end_ns);
  }
  return window;
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
  Search(const Trace& trace, const std::string& wanted)
      : trace_(trace), wanted_(wanted), window_(GpuWindow(trace)), slots_(trace.strings.size()) {
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) Look(thread);
  }

  const Candidate& best() const { return best_; }
  const Interval& window() const { return window_; }

 private:
  bool IsWanted(const NvtxRange& range) const {
    return wanted_.empty() || trace_.Text(range.path) == wanted_ || trace_.Text(range.name) == wanted_;
  }

  void Look(uint32_t thread) {
    std::vector<uint32_t> paths;
    const Trace::Slice slice = trace_.thread_ranges[thread];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxRange& range = trace_.ranges[i];
      if (!range.is_push_pop || range.is_open || range.is_cut) continue;
      Candidate& slot = slots_[range.path.value];
      if (slot.thread != thread) {
        slot = {thread, range.path, range.depth, false, 0, 0, 0};
        if (IsWanted(range)) paths.push_back(range.path.value);
      }
      slot.has_depths |= slot.depth != range.depth;
      ++slot.count;
      slot.total_ns += range.DurationNs();
      slot.covered_ns +=
          std::max<int64_t>(0, std::min(range.end_ns, window_.end_ns) - std::max(range.start_ns, window_.start_ns));
    }
    for (const uint32_t path : paths) Offer(slots_[path]);
  }

  void Offer(const Candidate& candidate) {
    if (wanted_.empty() && (candidate.count < kFewestSteps || candidate.has_depths || !CoversMost(candidate))) return;
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
  const std::string& wanted_;
  const Interval window_;
  std::vector<Candidate> slots_;  // by NameId of the path, of the thread looked at last
  Candidate best_;
};

}  // namespace

std::optional<StepChoice> FindStep(const Trace& trace, const std::string& wanted) {
  const Search search(trace, wanted);
  const Candidate& best = search.best();
  if (best.thread == kNone) return std::nullopt;
  StepChoice choice{best.thread, best.path, {}, best.covered_ns, search.window().DurationNs()};
  const Trace::Slice slice = trace.thread_ranges[best.thread];
  int64_t end_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const NvtxRange& range = trace.ranges[i];
    if (range.path != best.path || !range.is_push_pop || range.is_open || range.is_cut) continue;
    if (range.start_ns < end_ns) continue;  // a trace that contradicts itself
    end_ns = range.end_ns;
    choice.ranges.push_back(i);
  }
  return choice;
}

}  // namespace gprof
