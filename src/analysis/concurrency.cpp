#include "analysis/concurrency.h"

#include <algorithm>
#include <numeric>

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
      shared_ns_(trace_.streams.size() + 1, 0) {}

Concurrency ConcurrencySweep::Run(uint32_t device) {
  const Trace::Slice slice = trace_.device_ops[device];
  if (!HasWindow(trace_, device)) return {};
  device_ = device;
  const bool is_selected = !trace_.device_windows.empty();
  now_ns_ = is_selected ? trace_.device_windows[device].time.start_ns : trace_.ops[slice.first].start_ns;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    EndUntil(trace_.ops[i].start_ns);
    AdvanceTo(trace_.ops[i].start_ns);
    Change(trace_.ops[i], 1);
    ends_.emplace(trace_.ops[i].end_ns, i);
  }
  while (!ends_.empty()) EndUntil(ends_.top().first);
  if (is_selected) AdvanceTo(trace_.device_windows[device].time.end_ns);
  return std::exchange(result_, {});
}

void ConcurrencySweep::EndUntil(int64_t time_ns) {
  while (!ends_.empty() && ends_.top().first <= time_ns) {
    AdvanceTo(ends_.top().first);
    Change(trace_.ops[ends_.top().second], -1);
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
  if (result_.level_ns.size() <= active_streams_) result_.level_ns.resize(active_streams_ + 1);
  result_.level_ns[active_streams_] += passed_ns;
  if (active_streams_ >= 2) several_ns_ += passed_ns;
  if (kernel_streams_ >= 2) result_.kernel_overlap_ns += passed_ns;
  if (kernels_ > 0) result_.kernel_ns += passed_ns;
  if (copies_ > 0) result_.copy_ns += passed_ns;
  if (kernels_ > 0 && copies_ > 0) result_.copy_compute_ns += passed_ns;
  if (to_device_ > 0 && to_host_ > 0) result_.two_way_ns += passed_ns;
}

void ConcurrencySweep::Change(const GpuOp& op, int by) {
  const size_t index = op.stream == kNone ? trace_.streams.size() : op.stream;
  Running& stream = running_[index];
  const bool was_active = stream.ops > 0, had_kernels = stream.kernels > 0;
  stream.ops += by;
  if (IsKernelLike(op)) stream.kernels += by, kernels_ += by;
  if (op.IsCopy()) {
    copies_ += by;
    const Direction direction = DirectionOf(op);
    if (direction == Direction::kH2d) to_device_ += by;
    if (direction == Direction::kD2h) to_host_ += by;
  }
  const bool is_active = stream.ops > 0;
  if (is_active && !was_active) stream.shared_from_ns = several_ns_;
  if (was_active && !is_active) shared_ns_[index] += several_ns_ - stream.shared_from_ns;
  active_streams_ += static_cast<size_t>(is_active) - static_cast<size_t>(was_active);
  kernel_streams_ += static_cast<size_t>(stream.kernels > 0) - static_cast<size_t>(had_kernels);
}

}  // namespace gprof
