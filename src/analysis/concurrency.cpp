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
      shared_ns_(trace_.streams.size() + 1, 0) {
  MakeParts(input.shared().ops().sums());
}

Concurrency ConcurrencySweep::Run(uint32_t device) {
  const Trace::Slice slice = trace_.device_ops[device];
  if (!HasWindow(trace_, device)) return {};
  device_ = device;
  const bool is_selected = !trace_.device_windows.empty();
  now_ns_ = is_selected ? trace_.device_windows[device].time.start_ns : trace_.ops[slice.first].start_ns;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    trace_.ops.PrefetchAfter(i);
    const GpuOp& op = trace_.ops[i];
    EndUntil(op.start_ns);
    AdvanceTo(op.start_ns);
    Part part = parts_[trace_.ops.FactsIndex(i)];
    part.end_ns = op.end_ns;
    if (ends_.empty() && i + 1 < slice.last && part.end_ns <= trace_.ops[i + 1].start_ns) {
      AddAlone(part);
      continue;
    }
    Begin(part);
    ends_.push(part);
  }
  while (!ends_.empty()) EndUntil(ends_.top().end_ns);
  if (is_selected) AdvanceTo(trace_.device_windows[device].time.end_ns);
  return Finish();
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
        {0, stream, IsKernelLike(op), op.IsCopy(), direction == Direction::kH2d, direction == Direction::kD2h});
  }
}

void ConcurrencySweep::EndUntil(int64_t time_ns) {
  while (!ends_.empty() && ends_.top().end_ns <= time_ns) {
    AdvanceTo(ends_.top().end_ns);
    End(ends_.top());
    ends_.pop();
  }
}

void ConcurrencySweep::AdvanceTo(int64_t time_ns) {
  if (time_ns <= now_ns_) return;
  // Idle time counts where it was recorded.
  const int64_t passed_ns = active_streams_ > 0
                                ? time_ns - now_ns_
                                : recorded_.ForEachOfDevice(device_, now_ns_, time_ns, [](int64_t, int64_t) {});
  now_ns_ = time_ns;
  if (level_ns_.size() <= active_streams_) level_ns_.resize(active_streams_ + 1);
  level_ns_[active_streams_] += passed_ns;
  if (active_streams_ >= 2) several_ns_ += passed_ns;
  state_ns_[state_] += passed_ns;
}

// Nothing runs beside it, so that it changes nothing but the sums.
void ConcurrencySweep::AddAlone(const Part& part) {
  const int64_t passed_ns = part.end_ns - now_ns_;
  if (passed_ns <= 0) return;
  now_ns_ = part.end_ns;
  if (level_ns_.size() < 2) level_ns_.resize(2);
  level_ns_[1] += passed_ns;
  state_ns_[(part.is_kernel ? kKernels : 0) | (part.is_copy ? kCopies : 0)] += passed_ns;
}

void ConcurrencySweep::Begin(const Part& part) {
  Running& stream = running_[part.stream];
  if (stream.ops++ == 0) {
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

void ConcurrencySweep::End(const Part& part) {
  Running& stream = running_[part.stream];
  if (--stream.ops == 0) {
    shared_ns_[part.stream] += several_ns_ - stream.shared_from_ns;
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

void ConcurrencySweep::SetState() {
  state_ = (kernels_ > 0 ? kKernels : 0) | (copies_ > 0 ? kCopies : 0) |
           (kernel_streams_ >= 2 ? kSeveralKernels : 0) | (to_device_ > 0 && to_host_ > 0 ? kTwoWay : 0);
}

Concurrency ConcurrencySweep::Finish() {
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
