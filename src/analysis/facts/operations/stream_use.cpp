#include "analysis/facts/operations/stream_use.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/facts/time/search_near.h"
#include "analysis/result/display_names.h"

namespace gprof {
namespace {

// One in so many: if all of it ran beside the rest, the time would be 1 % shorter, which no two runs agree on.
constexpr int64_t kNegligiblePart = 100;

// What could run beside what: kernels, and copies that neither stage nor hold up the host.
enum class OpRole : uint8_t { kOther, kKernel, kToDevice, kToHost, kOtherCopy };

OpRole RoleOf(const GpuOp& op) {
  if (IsKernelLike(op)) return OpRole::kKernel;
  if (!op.IsCopy() || !op.is_async || op.IsPageable()) return OpRole::kOther;
  const Direction direction = DirectionOf(op);
  return direction == Direction::kH2d   ? OpRole::kToDevice
         : direction == Direction::kD2h ? OpRole::kToHost
                                        : OpRole::kOtherCopy;
}

void AddSum(const PackedOps::Traits& traits, OpRole role, const OpFacts::Sum& sum, StreamUse* use) {
  use->operations += sum.count;
  if (traits.kind == OpKind::kMemcpy || traits.kind == OpKind::kPeerCopy) use->copies += sum.count;
  use->has_graph |= sum.count > 0 && traits.graph != 0;
  if (role == OpRole::kKernel) {
    use->kernels += sum.count;
    use->kernel_ns += sum.time_ns;
  }
  if (role == OpRole::kToDevice) use->to_device_ns += sum.time_ns;
  if (role == OpRole::kToHost) use->to_host_ns += sum.time_ns;
}

// Operations whose device is not known.
void AddHomeless(const Trace& trace, std::vector<StreamUse>* uses) {
  std::vector<BusyTime> busy(uses->size());
  for (const GpuOp& op : trace.ops) {
    if (op.device == kNone && op.stream != kNone) busy[op.stream].Add(op.start_ns, op.end_ns);
  }
  for (size_t i = 0; i < busy.size(); ++i) (*uses)[i].busy_ns += busy[i].busy_ns();
}

// Copies are few: for each the next operation of its stream that counts.
void CountRounds(const Trace& trace, const OpFacts& facts, const StreamOps& of_streams,
                 const std::vector<OpRole>& roles, std::vector<StreamUse>* uses) {
  const PackedOps::Items& ops = trace.ops.items();
  std::vector<size_t> places(uses->size(), 0);  // of the copy before
  for (const uint32_t copy : facts.transfers()) {
    const uint32_t stream = trace.ops.TraitsOf(ops[copy]).stream;
    if (stream == kNone || roles[ops[copy].traits] == OpRole::kOther) continue;
    const std::span<const uint32_t> list = of_streams.OpsOf(stream);
    size_t& place = places[stream];
    place = PartitionPointNear(list.size(), place, [&](size_t i) { return list[i] < copy; });
    size_t next = place + 1;
    while (next < list.size() && roles[ops[list[next]].traits] == OpRole::kOther) ++next;
    if (next < list.size() && roles[ops[list[next]].traits] == OpRole::kKernel) ++(*uses)[stream].rounds;
  }
}

// Streams that together were busy for at most 1 % of the time have nothing that could run beside the others: a
// warm-up in the default stream, a flag that is copied.
void MarkNegligible(const Trace& trace, std::vector<StreamUse>* uses) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<StreamUse*>> streams;  // by process and device
  for (size_t i = 0; i < uses->size(); ++i) {
    if ((*uses)[i].IsUsed()) streams[{trace.streams[i].process, trace.streams[i].device}].push_back(&(*uses)[i]);
  }
  for (auto& [key, all] : streams) {
    std::ranges::sort(all, [](const auto* a, const auto* b) { return a->busy_ns < b->busy_ns; });
    SaturatingSum all_ns, least_ns;
    for (const StreamUse* use : all) all_ns += use->busy_ns;
    for (StreamUse* use : all) {
      least_ns += use->busy_ns;
      use->is_negligible = use != all.back() && least_ns <= all_ns / kNegligiblePart;
    }
  }
}

bool IsBlocking(const Stream& stream) { return stream.is_created && !stream.is_default && !stream.is_non_blocking; }

// Contexts as numbers from 0, one for each stream.
std::vector<uint32_t> ContextsOf(const Trace& trace) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> contexts;
  contexts.reserve(trace.streams.size());
  for (const Stream& stream : trace.streams) {
    const auto next = static_cast<uint32_t>(numbers.size());
    contexts.push_back(numbers.try_emplace({stream.process, stream.context}, next).first->second);
  }
  return contexts;
}

// Of one context: what is known while its operations go by in order.
struct Order {
  bool has_begun = false;  // a blocking stream had work
  int64_t pending_ops = 0;
  SaturatingSum pending_ns;   // of the default stream, since the last work of a blocking stream
  SaturatingSum blocking_ns;  // work of blocking streams
  // What blocking streams did between two runs, and before the last of them.
  struct Work {
    uint32_t stream = kNone;  // kNone: several
    SaturatingSum ns;         // without what needs the whole GPU
    bool is_paired = false;   // with the one before
  };
  Work work, before;
  SaturatingSum apart_ns;  // work that could have run beside its neighbour
  DefaultSplits splits;

  void SeeDefault(const GpuOp& op) {
    if (!has_begun) return;
    ++pending_ops;
    pending_ns += op.DurationNs();
  }
  void SeeBlocking(const GpuOp& op, bool leaves_room) {
    if (pending_ops > 0) EndWork();
    if (!has_begun || pending_ops > 0) {
      work.stream = op.stream;
    } else if (work.stream != op.stream) {
      work.stream = kNone;
    }
    if (leaves_room) work.ns += op.DurationNs();
    has_begun = true;
    blocking_ns += op.DurationNs();
    if (pending_ops == 0) return;
    ++splits.runs;
    splits.operations += pending_ops;
    splits.time_ns += pending_ns;
    pending_ops = pending_ns = 0;
  }
  // Each is beside one neighbour at most, so that no time is won twice.
  void EndWork() {
    const bool are_others = before.stream != work.stream || work.stream == kNone;
    if (are_others && !before.is_paired && std::min(before.ns, work.ns) > 0) {
      apart_ns += std::min(before.ns, work.ns);
      work.is_paired = true;
    }
    before = std::exchange(work, Work{});
  }
};

// Copies run beside kernels, and kernels beside others where their blocks leave SMs free.
bool LeavesRoom(const Trace& trace, const GpuOp& op) {
  if (op.kind != OpKind::kKernel) return op.IsCopy();
  if (op.shape == kNone || op.device == kNone) return false;
  const trace::KernelShapeRecord& shape = trace.shapes[op.shape];
  const double blocks = static_cast<double>(shape.grid_x) * shape.grid_y * shape.grid_z;
  return 2 * blocks <= trace.devices[op.device].properties.sm_count;
}

}  // namespace

int64_t StreamUse::OverlapGainNs() const {
  SaturatingSum all_ns = kernel_ns;
  all_ns += to_device_ns, all_ns += to_host_ns;
  return all_ns - std::max<int64_t>({kernel_ns, to_device_ns, to_host_ns});
}

std::vector<StreamUse> UseOfStreams(const Trace& trace, const OpFacts& ops, const StreamOps& of_streams,
                                    const std::vector<int64_t>& busy_ns) {
  std::vector<StreamUse> uses(trace.streams.size());
  for (size_t i = 0; i < uses.size(); ++i) uses[i].busy_ns = busy_ns[i];
  const std::vector<OpFacts::Sum>& sums = ops.sums();
  std::vector<OpRole> roles;  // by the traits of operations
  bool has_homeless = false;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    roles.push_back(sums[i].count == 0 ? OpRole::kOther : RoleOf(trace.ops[sums[i].first]));
    if (traits.stream == kNone) continue;
    AddSum(traits, roles.back(), sums[i], &uses[traits.stream]);
    has_homeless |= sums[i].count > 0 && traits.device == kNone;
  }
  if (has_homeless) AddHomeless(trace, &uses);
  CountRounds(trace, ops, of_streams, roles, &uses);
  MarkNegligible(trace, &uses);
  return uses;
}

DefaultSplits DefaultSplitsOf(const Trace& trace, const std::vector<StreamUse>& uses) {
  bool has_default = false, has_blocking = false;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].IsUsed()) continue;
    has_default |= trace.streams[i].is_default;
    has_blocking |= IsBlocking(trace.streams[i]);
  }
  if (!has_default || !has_blocking) return {};
  const std::vector<uint32_t> contexts = ContextsOf(trace);
  std::vector<Order> orders(trace.streams.size());
  for (const GpuOp& op : trace.ops) {
    if (op.stream == kNone) continue;
    const Stream& stream = trace.streams[op.stream];
    Order& order = orders[contexts[op.stream]];
    if (stream.is_default) {
      order.SeeDefault(op);
    } else if (IsBlocking(stream)) {
      order.SeeBlocking(op, LeavesRoom(trace, op));
    }
  }
  DefaultSplits sum;
  for (Order& order : orders) {
    order.EndWork();
    sum.runs += order.splits.runs;
    sum.operations += order.splits.operations;
    sum.time_ns += order.splits.time_ns;
    sum.gain_ns += std::min(order.splits.time_ns, order.blocking_ns);
    sum.gain_ns += order.apart_ns;
  }
  return sum;
}

}  // namespace gprof
