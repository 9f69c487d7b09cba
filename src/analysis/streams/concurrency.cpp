#include "analysis/streams/concurrency.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/facts/shared_facts.h"
#include "analysis/idle/gaps.h"
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
    if (sums[i].count == 0 || trace.ops.FactsAt(i).device != device) continue;
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
  if (std::find(ran_one_by_one.begin(), ran_one_by_one.end(), 0) != ran_one_by_one.end()) {
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
  if (AddSumsAlone(device)) return TakeSums();
  const bool is_selected = !trace_.device_windows.empty();
  now_ns_ = is_selected ? trace_.device_windows[device].time.start_ns : trace_.ops[slice.first].start_ns;
  const PackedOps::Item* const items = trace_.ops.items().data();
  const size_t few = pairs_ns_.empty() ? 0 : 1;
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    EndUntil(items[i].start_ns());
    if (ends_.size() <= few) {
      i = AddFew(i, slice.last);
      if (i == slice.last) break;
    }
    PrefetchForReading(&items[i]);
    AdvanceTo(items[i].start_ns());
    Begin(parts_[items[i].facts]);
    ends_.push({trace_.ops.EndNs(items[i]), items[i].facts});
  }
  while (!ends_.empty()) EndUntil(ends_.top().time_ns);
  if (is_selected) AdvanceTo(trace_.device_windows[device].time.end_ns);
  return TakeSums();
}

bool ConcurrencySweep::AddSumsAlone(uint32_t device) {
  if (!RanOneByOne(input_, device)) return false;
  const std::vector<OpFacts::Sum>& sums = shared_.ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count > 0 && trace_.ops.FactsAt(i).device == device) alone_ns_[i] = sums[i].time_ns;
  }
  level_ns_ = {shared_.window_ns(device) - shared_.busy(device).any.busy_ns()};
  return true;
}

void ConcurrencySweep::MakeParts(const std::vector<OpFacts::Sum>& sums) {
  for (uint32_t i = 0; i < sums.size(); ++i) {
    if (sums[i].count == 0) {
      AddNumber({});
      continue;
    }
    const GpuOp& op = trace_.ops[sums[i].first];
    const auto stream = static_cast<uint32_t>(std::min<size_t>(op.stream, trace_.streams.size()));
    const Direction direction = op.IsCopy() ? DirectionOf(op) : Direction::kOther;
    AddNumber({stream, IsKernelLike(op), op.IsCopy(), direction == Direction::kH2d, direction == Direction::kD2h, 0});
  }
  // Programs with many streams have too many pairs to be worth it.
  if (different_.size() <= kMostDifferent) pairs_ns_.resize(different_.size() * different_.size());
}

void ConcurrencySweep::AddNumber(Part part) {
  const auto alike = std::find_if(different_.begin(), different_.end(), [&](const Part& p) { return p.IsLike(part); });
  part.number = static_cast<uint32_t>(alike - different_.begin());
  if (part.number == different_.size() && part.number <= kMostDifferent) different_.push_back(part);
  parts_.push_back(part);
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

// Most operations have nothing or one other beside them: time is added up by what ran, whatever that means.
uint32_t ConcurrencySweep::AddFew(uint32_t op, uint32_t last) {
  const bool is_throughout = recorded_.IsThroughout(device_), has_pairs = !pairs_ns_.empty();
  const Part* const parts = parts_.data();
  int64_t* const alone_ns = alone_ns_.data();
  int64_t* const pairs_ns = pairs_ns_.data();
  const size_t row = different_.size();
  const PackedOps::Item* const items = trace_.ops.items().data();
  const PackedOps::Item *item = items + op, *const end = items + last;
  int64_t now_ns = now_ns_, idle_ns = 0;
  auto [end_ns, facts] = TakeRunning();
  for (; item != end; ++item) {
    PrefetchForReading(item);
    const int64_t start_ns = item->start_ns();
    if (end_ns <= start_ns) {
      if (end_ns > now_ns) alone_ns[facts] += end_ns - now_ns, now_ns = end_ns;
      if (start_ns > now_ns) {
        idle_ns += is_throughout ? start_ns - now_ns : IdleNs(now_ns, start_ns);
        now_ns = start_ns;
      }
      end_ns = trace_.ops.EndNs(*item), facts = item->facts;
      continue;
    }
    // Beside it runs this one, until the first of both ends, if no third one starts before.
    const int64_t beside_end_ns = trace_.ops.EndNs(*item);
    const int64_t both_end_ns = std::min(end_ns, beside_end_ns);
    if (!has_pairs || (item + 1 != end && item[1].start_ns() < both_end_ns)) break;
    if (start_ns > now_ns) alone_ns[facts] += start_ns - now_ns, now_ns = start_ns;
    if (both_end_ns > now_ns) {
      pairs_ns[parts[facts].number * row + parts[item->facts].number] += both_end_ns - now_ns;
      now_ns = both_end_ns;
    }
    if (beside_end_ns > end_ns) end_ns = beside_end_ns, facts = item->facts;
  }
  now_ns_ = now_ns;
  if (level_ns_.empty()) level_ns_.resize(1);
  level_ns_[0] += idle_ns;
  PutRunning({end_ns, facts});
  return static_cast<uint32_t>(item - items);
}

// What runs, if anything does: for those who go on without it in ends_, or after that.
inline ConcurrencySweep::End ConcurrencySweep::TakeRunning() {
  if (ends_.empty()) return {INT64_MIN, 0};
  const End end = ends_.top();
  Finish(parts_[end.facts]);
  ends_.pop();
  return end;
}

inline void ConcurrencySweep::PutRunning(const End& end) {
  if (end.time_ns <= now_ns_) return;
  Begin(parts_[end.facts]);
  ends_.push(end);
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
  state_ = (kernels_ > 0 ? kKernels : 0) | (copies_ > 0 ? kCopies : 0) | (kernel_streams_ >= 2 ? kSeveralKernels : 0) |
           (to_device_ > 0 && to_host_ > 0 ? kTwoWay : 0);
}

void ConcurrencySweep::AddPair(const Part& a, const Part& b, int64_t time_ns) {
  const bool is_one_stream = a.stream == b.stream;
  const size_t streams = is_one_stream ? 1 : 2;
  if (level_ns_.size() <= streams) level_ns_.resize(streams + 1);
  level_ns_[streams] += time_ns;
  busy_ns_[a.stream] += time_ns;
  if (!is_one_stream) {
    busy_ns_[b.stream] += time_ns;
    shared_ns_[a.stream] += time_ns, shared_ns_[b.stream] += time_ns;
  }
  size_t state = (a.is_kernel || b.is_kernel ? kKernels : 0) | (a.is_copy || b.is_copy ? kCopies : 0);
  if (a.is_kernel && b.is_kernel && !is_one_stream) state |= kSeveralKernels;
  if ((a.is_to_device || b.is_to_device) && (a.is_to_host || b.is_to_host)) state |= kTwoWay;
  state_ns_[state] += time_ns;
}

Concurrency ConcurrencySweep::TakeSums() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t alone_ns = std::exchange(alone_ns_[i], 0);
    if (alone_ns == 0) continue;
    state_ns_[(parts_[i].is_kernel ? kKernels : 0) | (parts_[i].is_copy ? kCopies : 0)] += alone_ns;
    busy_ns_[parts_[i].stream] += alone_ns;
    if (level_ns_.size() < 2) level_ns_.resize(2);
    level_ns_[1] += alone_ns;
  }
  for (size_t i = 0; i < pairs_ns_.size(); ++i) {
    const int64_t pair_ns = std::exchange(pairs_ns_[i], 0);
    if (pair_ns != 0) AddPair(different_[i / different_.size()], different_[i % different_.size()], pair_ns);
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
