#include "analysis/topics/copies/copy_overlap.h"

#include <algorithm>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

// Operations of one sort that overlap, or follow each other closely without one of the other sort starting in between.
struct Run {
  int64_t start_ns = 0, end_ns = 0, busy_ns = 0, count = 0;
  bool waits = false;  // the first of them was launched into a stream that had just been told to wait for an event
};

// Both sorts of one process on one device, in order of time.
struct Runs {
  std::vector<Run> kernels, copies;
  bool was_kernel = false;

  void Add(int64_t start_ns, int64_t end_ns, bool is_kernel, bool waits) {
    std::vector<Run>& runs = is_kernel ? kernels : copies;
    const int64_t longest_gap_ns = was_kernel == is_kernel ? kNextToNs : 0;
    was_kernel = is_kernel;
    if (runs.empty() || start_ns - runs.back().end_ns > longest_gap_ns) {
      runs.push_back({start_ns, end_ns, end_ns - start_ns, 1, waits});
      return;
    }
    Run& run = runs.back();
    run.busy_ns += std::max<int64_t>(0, end_ns - std::max(start_ns, run.end_ns));
    run.end_ns = std::max(run.end_ns, end_ns);
    ++run.count;
  }
};

// Says of each operation whether its stream was told to wait for an event since the operation before it.
class StreamWaits {
 public:
  explicit StreamWaits(const AnalysisInput& input)
      : ops_(input.shared().ops()), waits_ns_(input.trace().streams.size()), next_(input.trace().streams.size()) {
    for (const Sync& sync : input.trace().syncs) {  // sorted by start
      if (sync.kind == trace::SyncKind::kStreamWaitEvent && sync.stream != kNone) {
        waits_ns_[sync.stream].push_back(sync.start_ns);
        has_any_ = true;
      }
    }
  }

  // In the order of the trace.
  bool Before(uint32_t op, uint32_t stream) {
    if (!has_any_ || stream == kNone || waits_ns_[stream].empty()) return false;
    const int64_t launched_ns = ops_.LaunchNs(op);
    const std::vector<int64_t>& waits = waits_ns_[stream];
    size_t& next = next_[stream];
    const size_t first = next;
    while (next < waits.size() && waits[next] < launched_ns) ++next;
    return next != first;
  }

 private:
  const OpFacts& ops_;
  std::vector<std::vector<int64_t>> waits_ns_;
  std::vector<size_t> next_;
  bool has_any_ = false;
};

bool IsOverlappable(const GpuOp& op) {
  if (op.kind != OpKind::kMemcpy || op.graph != 0 || op.IsPageable() || op.size_bytes <= kSmallCopyBytes) return false;
  const Direction direction = DirectionOf(op);
  return direction == Direction::kH2d || direction == Direction::kD2h;
}

enum class Sort : uint8_t { kNone, kKernel, kCopy };
Sort SortOf(const GpuOp& op) {
  return IsKernelLike(op) ? Sort::kKernel : IsOverlappable(op) ? Sort::kCopy : Sort::kNone;
}

CopyOverlap Match(const Runs& runs) {
  CopyOverlap sum;
  std::vector<int64_t> left_ns;  // of each run of kernels: what can still hide a copy
  left_ns.reserve(runs.kernels.size());
  for (const Run& kernel : runs.kernels) left_ns.push_back(kernel.busy_ns);
  size_t first = 0, counted = 0;  // kernels before `counted` are in kernel_ns
  for (const Run& copy : runs.copies) {
    while (first < runs.kernels.size() && runs.kernels[first].end_ns + kNextToNs < copy.start_ns) ++first;
    // Time that a kernel already runs beside the copy hides nothing else.
    int64_t alone_ns = copy.busy_ns, can_hide_ns = 0;
    size_t last = first;
    for (; last < runs.kernels.size() && runs.kernels[last].start_ns <= copy.end_ns + kNextToNs; ++last) {
      const int64_t both_ns = OverlapNs(copy, runs.kernels[last]);
      alone_ns -= both_ns;
      left_ns[last] = std::max<int64_t>(0, left_ns[last] - both_ns);
      const bool depends = runs.kernels[last].waits && runs.kernels[last].start_ns >= copy.end_ns;
      if (!depends) can_hide_ns += left_ns[last];
    }
    if (alone_ns <= 0 || can_hide_ns <= 0) continue;
    sum.copies += copy.count;
    sum.copy_only_ns += alone_ns;
    int64_t rest_ns = std::min(alone_ns, can_hide_ns);
    sum.gain_ns += rest_ns;
    for (size_t i = first; i < last; ++i) {
      if (i >= counted) sum.kernel_ns += runs.kernels[i].busy_ns;
      if (runs.kernels[i].waits && runs.kernels[i].start_ns >= copy.end_ns) continue;
      const int64_t taken_ns = std::min(rest_ns, left_ns[i]);
      left_ns[i] -= taken_ns;
      rest_ns -= taken_ns;
    }
    counted = std::max(counted, last);
  }
  return sum;
}

}  // namespace

void CopyOverlap::Add(const CopyOverlap& other) {
  copies += other.copies;
  copy_only_ns += other.copy_only_ns;
  kernel_ns += other.kernel_ns;
  gain_ns += other.gain_ns;
}

CopyOverlap CopyOverlapOf(const AnalysisInput& input, const PackedOps& transfers) {
  CopyOverlap sum;
  if (std::ranges::none_of(transfers, IsOverlappable)) return sum;
  const Trace& trace = input.trace();
  std::vector<Sort> sorts;
  for (const OpFacts::Sum& of_traits : input.shared().ops().sums()) {
    sorts.push_back(of_traits.count == 0 ? Sort::kNone : SortOf(trace.ops[of_traits.first]));
  }
  StreamWaits waits(input);
  for (const Trace::Slice slice : trace.device_ops) {
    std::vector<Runs> processes(trace.processes.size());
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      trace.ops.PrefetchAfter(i);
      const GpuOp& op = trace.ops[i];
      const bool has_waited = waits.Before(i, op.stream);
      const Sort sort = sorts[trace.ops.TraitsIndex(i)];
      if (op.process == kNone || sort == Sort::kNone) continue;
      if (sort == Sort::kKernel || !has_waited) {
        processes[op.process].Add(op.start_ns, op.end_ns, sort == Sort::kKernel, has_waited);
      }
    }
    for (const Runs& runs : processes) sum.Add(Match(runs));
  }
  return sum;
}

}  // namespace gprof
