#include "analysis/topics/streams/concurrency.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/facts/gaps/gaps.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/display_names.h"
#include "base/saturate.h"

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

bool RanOneByOne(const AnalysisInput& input, uint32_t device) {
  const Trace& trace = input.trace();
  if (!trace.device_windows.empty() || !input.shared().recorded().IsThroughout(device)) return false;
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  SaturatingSum time_ns;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0 || trace.ops.TraitsAt(i).device != device) continue;
    if (sums[i].share_ns != sums[i].time_ns) return false;  // some have no length, or end before they start
    time_ns += sums[i].time_ns;
  }
  return time_ns == input.shared().busy(device).any.busy_ns();
}

int64_t GainOfOverlap(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  struct Copies {
    BusyTime to_device, to_host;
  };
  std::vector<Copies> copies(trace.device_ops.size());
  const auto of_copy = [&](const GpuOp& op) -> BusyTime* {
    if (op.device == kNone || !op.IsCopy()) return nullptr;
    const Direction direction = DirectionOf(op);
    if (direction == Direction::kH2d) return &copies[op.device].to_device;
    return direction == Direction::kD2h ? &copies[op.device].to_host : nullptr;
  };
  std::vector<uint8_t> ran_one_by_one;
  for (uint32_t device = 0; device < copies.size(); ++device) ran_one_by_one.push_back(RanOneByOne(input, device));
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count == 0) continue;
    const GpuOp op = trace.ops[sum.first];
    BusyTime* const busy = of_copy(op);
    if (busy == nullptr || ran_one_by_one[op.device] == 0) continue;
    *busy = BusyTime(busy->busy_ns() + sum.time_ns, busy->end_ns());
  }
  if (std::ranges::find(ran_one_by_one, 0) != ran_one_by_one.end()) {
    for (const uint32_t i : input.shared().ops().transfers()) {
      const GpuOp op = trace.ops[i];
      BusyTime* const busy = of_copy(op);
      if (busy != nullptr && ran_one_by_one[op.device] == 0) busy->Add(op.start_ns, op.end_ns);
    }
  }
  int64_t gain_ns = 0;
  for (uint32_t device = 0; device < copies.size(); ++device) {
    const GapList::Busy& busy = input.shared().busy(device);
    const int64_t longest_ns =
        std::max({busy.kernels.busy_ns(), copies[device].to_device.busy_ns(), copies[device].to_host.busy_ns()});
    if (longest_ns > 0) gain_ns += busy.any.busy_ns() - longest_ns;
  }
  return gain_ns;
}

// Operations without a stream count as one stream, the last of them.
ConcurrencySweep::ConcurrencySweep(const AnalysisInput& input)
    : input_(input),
      trace_(input.trace()),
      shared_(input.shared()),
      running_(trace_.streams.size() + 1),
      shared_ns_(trace_.streams.size() + 1, 0),
      busy_ns_(trace_.streams.size() + 1, 0) {
  for (const OpFacts::Sum& sum : shared_.ops().sums()) {
    parts_.push_back(sum.count == 0 ? Part{} : PartOf(trace_.ops[sum.first]));
  }
}

ConcurrencySweep::Part ConcurrencySweep::PartOf(const GpuOp& op) const {
  const auto stream = static_cast<uint32_t>(std::min<size_t>(op.stream, trace_.streams.size()));
  if (IsKernelLike(op)) return {stream, kKernel};
  if (!op.IsCopy()) return {stream, kNeither};
  const Direction direction = DirectionOf(op);
  return {stream, direction == Direction::kH2d ? kToDevice : direction == Direction::kD2h ? kToHost : kOtherCopy};
}

Concurrency ConcurrencySweep::Run(uint32_t device) {
  const Trace::Slice slice = trace_.device_ops[device];
  if (!HasWindow(trace_, device)) return {};
  level_ns_ = {shared_.gaps(device).idle_ns()};
  if (AddSumsAlone(device)) return TakeSums();
  now_ns_ = shared_.gaps(device).start_ns();
  const auto all = OperationsOf(trace_, slice);
  for (auto next = all.begin(); next != all.end();) {
    const Operation op = *next;
    ++next;
    EndUntil(op.start_ns());
    AdvanceTo(op.start_ns());
    const bool is_last_for_now = !(next != all.end()) || (*next).start_ns() >= op.end_ns();
    if (ends_.empty() && is_last_for_now) {  // nothing runs beside it, as with most
      AddAlone(parts_[op.kind_number()], op.end_ns());
      continue;
    }
    Begin(parts_[op.kind_number()]);
    ends_.push({op.end_ns(), op.kind_number()});
  }
  EndUntil(INT64_MAX);
  return TakeSums();
}

// Where none ran beside another, the sums of their times say all.
bool ConcurrencySweep::AddSumsAlone(uint32_t device) {
  if (!RanOneByOne(input_, device)) return false;
  const std::vector<OpFacts::Sum>& sums = shared_.ops().sums();
  now_ns_ = 0;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0 || trace_.ops.TraitsAt(i).device != device) continue;
    AddAlone(parts_[i], now_ns_ + sums[i].time_ns);
  }
  return true;
}

// From now until then.
inline void ConcurrencySweep::AddAlone(const Part& part, int64_t end_ns) {
  if (end_ns <= now_ns_) return;
  const int64_t passed_ns = end_ns - std::exchange(now_ns_, end_ns);
  if (level_ns_.size() < 2) level_ns_.resize(2);
  level_ns_[1] += passed_ns;
  busy_ns_[part.stream] += passed_ns;
  state_ns_[part.sort == kKernel ? kKernels : part.sort == kNeither ? 0 : kCopies] += passed_ns;
}

inline void ConcurrencySweep::EndUntil(int64_t time_ns) {
  while (!ends_.empty() && ends_.top().time_ns <= time_ns) {
    AdvanceTo(ends_.top().time_ns);
    Finish(parts_[ends_.top().kind_number]);
    ends_.pop();
  }
}

inline void ConcurrencySweep::AdvanceTo(int64_t time_ns) {
  if (time_ns <= now_ns_) return;
  const int64_t since_ns = std::exchange(now_ns_, time_ns), passed_ns = time_ns - since_ns;
  if (active_streams_ == 0) return;
  if (level_ns_.size() <= active_streams_) level_ns_.resize(active_streams_ + 1);
  level_ns_[active_streams_] += passed_ns;
  if (active_streams_ >= 2) several_ns_ += passed_ns;
  state_ns_[State()] += passed_ns;
}

inline void ConcurrencySweep::Begin(const Part& part) {
  Running& stream = running_[part.stream];
  if (stream.ops++ == 0) {
    stream.from_ns = now_ns_;
    stream.shared_from_ns = several_ns_;
    ++active_streams_;
  }
  if (part.sort == kKernel) kernel_streams_ += stream.kernels++ == 0;
  ++running_of_[part.sort];
}

inline void ConcurrencySweep::Finish(const Part& part) {
  Running& stream = running_[part.stream];
  if (--stream.ops == 0) {
    shared_ns_[part.stream] += several_ns_ - stream.shared_from_ns;
    busy_ns_[part.stream] += now_ns_ - stream.from_ns;
    --active_streams_;
  }
  if (part.sort == kKernel) kernel_streams_ -= --stream.kernels == 0;
  --running_of_[part.sort];
}

inline size_t ConcurrencySweep::State() const {
  const bool to_device = running_of_[kToDevice] > 0, to_host = running_of_[kToHost] > 0;
  const bool copies = to_device || to_host || running_of_[kOtherCopy] > 0;
  return (kernel_streams_ > 0) * kKernels | copies * kCopies | (kernel_streams_ >= 2) * kSeveralKernels |
         (to_device && to_host) * kTwoWay;
}

Concurrency ConcurrencySweep::TakeSums() {
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
