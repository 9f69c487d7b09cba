#include "analysis/concurrency.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/gaps.h"
#include "analysis/names.h"
#include "analysis/shared_facts.h"

namespace gprof {

int64_t Concurrency::WindowNs() const { return std::accumulate(level_ns.begin(), level_ns.end(), int64_t{0}); }
int64_t Concurrency::BusyNs() const { return level_ns.empty() ? 0 : WindowNs() - level_ns[0]; }
int64_t Concurrency::OverlapNs() const {
  return level_ns.size() < 2 ? 0 : std::accumulate(level_ns.begin() + 2, level_ns.end(), int64_t{0});
}

void Concurrency::Add(const Concurrency& other) {
  level_ns.resize(std::max(level_ns.size(), other.level_ns.size()));
  for (size_t i = 0; i < other.level_ns.size(); ++i) level_ns[i] += other.level_ns[i];
  kernel_overlap_ns += other.kernel_overlap_ns;
  copy_compute_ns += other.copy_compute_ns;
  two_way_ns += other.two_way_ns;
  kernel_ns += other.kernel_ns;
  copy_ns += other.copy_ns;
}

// Operations without a stream count as one stream, the last of them.
ConcurrencySweep::ConcurrencySweep(const AnalysisInput& input)
    : trace_(input.trace()),
      recorded_(input.shared().recorded()),
      running_(trace_.streams.size() + 1),
      shared_ns_(trace_.streams.size() + 1, 0),
      busy_ns_(trace_.streams.size() + 1, 0),
      alone_ns_(trace_.ops.FactsCount(), 0) {
  MakeParts(input.shared().ops().sums());
}

Concurrency ConcurrencySweep::Run(uint32_t device) {
  const Trace::Slice slice = trace_.device_ops[device];
  if (!HasWindow(trace_, device)) return {};
  device_ = device;
  const bool is_selected = !trace_.device_windows.empty();
  now_ns_ = is_selected ? trace_.device_windows[device].time.start_ns : trace_.ops[slice.first].start_ns;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    EndUntil(trace_.ops[i].start_ns);
    if (ends_.empty()) i = AddAlone(i, slice.last);
    trace_.ops.PrefetchAfter(i);
    AdvanceTo(trace_.ops[i].start_ns);
    const uint32_t facts = trace_.ops.FactsIndex(i);
    Begin(parts_[facts]);
    ends_.push({trace_.ops[i].end_ns, facts});
  }
  while (!ends_.empty()) EndUntil(ends_.top().time_ns);
  if (is_selected) AdvanceTo(trace_.device_windows[device].time.end_ns);
  return TakeSums();
}

void ConcurrencySweep::MakeParts(const std::vector<OpFacts::Sum>& sums) {
  for (uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0) {
      parts_.push_back({});
      continue;
    }
    const GpuOp& op = trace_.ops[sums[i].first];
    const auto stream = static_cast<uint32_t>(std::min<size_t>(op.stream, trace_.streams.size()));
    const Direction direction = op.IsCopy() ? DirectionOf(op) : Direction::kOther;
    parts_.push_back(
        {stream, IsKernelLike(op), op.IsCopy(), direction == Direction::kH2d, direction == Direction::kD2h});
  }
}

inline void ConcurrencySweep::EndUntil(int64_t time_ns) {
  while (!ends_.empty() && ends_.top().time_ns <= time_ns) {
    AdvanceTo(ends_.top().time_ns);
    Finish(parts_[ends_.top().facts]);
    ends_.pop();
  }
}

inline void ConcurrencySweep::AdvanceTo(int64_t time_ns) {
  if (time_ns <= now_ns_) return;
  const int64_t passed_ns = active_streams_ > 0 ? time_ns - now_ns_ : IdleNs(now_ns_, time_ns);
  now_ns_ = time_ns;
  if (level_ns_.size() <= active_streams_) level_ns_.resize(active_streams_ + 1);
  level_ns_[active_streams_] += passed_ns;
  if (active_streams_ >= 2) several_ns_ += passed_ns;
  state_ns_[state_] += passed_ns;
}

// Idle time counts where it was recorded.
int64_t ConcurrencySweep::IdleNs(int64_t from_ns, int64_t to_ns) const {
  return recorded_.ForEachOfDevice(device_, from_ns, to_ns, [](int64_t, int64_t) {});
}

// Most operations have nothing beside them, so that they change nothing but sums.
uint32_t ConcurrencySweep::AddAlone(uint32_t op, uint32_t last) {
  const bool is_throughout = recorded_.IsThroughout(device_);
  const PackedOps::Item* const items = trace_.ops.items().data();
  const PackedOps::Item* item = items + op;
  int64_t now_ns = now_ns_, idle_ns = 0, busy_ns = 0, start_ns = item->start_ns();
  for (; item + 1 < items + last; ++item) {
    PrefetchForReading(item);
    const int64_t end_ns = trace_.ops.EndNs(*item), next_ns = item[1].start_ns();
    if (end_ns > next_ns) break;
    if (start_ns > now_ns) {
      idle_ns += is_throughout ? start_ns - now_ns : IdleNs(now_ns, start_ns);
      now_ns = start_ns;
    }
    const int64_t passed_ns = std::max<int64_t>(end_ns - now_ns, 0);
    alone_ns_[item->facts] += passed_ns;
    busy_ns += passed_ns;
    now_ns += passed_ns;
    start_ns = next_ns;
  }
  now_ns_ = now_ns;
  if (level_ns_.size() < 2) level_ns_.resize(busy_ns > 0 ? 2 : 1);
  level_ns_[0] += idle_ns;
  if (busy_ns > 0) level_ns_[1] += busy_ns;
  return static_cast<uint32_t>(item - items);
}

inline void ConcurrencySweep::Begin(const Part& part) {
  Running& stream = running_[part.stream];
  if (stream.ops++ == 0) {
    stream.from_ns = now_ns_;
    stream.shared_from_ns = several_ns_;
    ++active_streams_;
  }
  if (part.is_kernel) {
    kernel_streams_ += stream.kernels++ == 0;
    ++kernels_;
  }
  copies_ += part.is_copy;
  to_device_ += part.is_to_device;
  to_host_ += part.is_to_host;
  SetState();
}

inline void ConcurrencySweep::Finish(const Part& part) {
  Running& stream = running_[part.stream];
  if (--stream.ops == 0) {
    shared_ns_[part.stream] += several_ns_ - stream.shared_from_ns;
    busy_ns_[part.stream] += now_ns_ - stream.from_ns;
    --active_streams_;
  }
  if (part.is_kernel) {
    kernel_streams_ -= --stream.kernels == 0;
    --kernels_;
  }
  copies_ -= part.is_copy;
  to_device_ -= part.is_to_device;
  to_host_ -= part.is_to_host;
  SetState();
}

inline void ConcurrencySweep::SetState() {
  state_ = (kernels_ > 0 ? kKernels : 0) | (copies_ > 0 ? kCopies : 0) |
           (kernel_streams_ >= 2 ? kSeveralKernels : 0) | (to_device_ > 0 && to_host_ > 0 ? kTwoWay : 0);
}

Concurrency ConcurrencySweep::TakeSums() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t alone_ns = std::exchange(alone_ns_[i], 0);
    state_ns_[(parts_[i].is_kernel ? kKernels : 0) | (parts_[i].is_copy ? kCopies : 0)] += alone_ns;
    busy_ns_[parts_[i].stream] += alone_ns;
  }
  Concurrency result;
  result.level_ns = std::exchange(level_ns_, {});
  for (size_t state = 0; state < kStates; ++state) {
    const int64_t ns = std::exchange(state_ns_[state], 0);
    if (state & kKernels) result.kernel_ns += ns;
    if (state & kCopies) result.copy_ns += ns;
    if ((state & kKernels) && (state & kCopies)) result.copy_compute_ns += ns;
    if (state & kSeveralKernels) result.kernel_overlap_ns += ns;
    if (state & kTwoWay) result.two_way_ns += ns;
  }
  return result;
}

}  // namespace gprof
