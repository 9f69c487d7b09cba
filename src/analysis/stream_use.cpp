#include "analysis/stream_use.h"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/names.h"
#include "analysis/shared_facts.h"

namespace gprof {
namespace {

// What could run beside what: kernels, and copies that neither stage nor hold up the host.
enum class Role : uint8_t { kOther, kKernel, kToDevice, kToHost, kOtherCopy };

Role RoleOf(const GpuOp& op) {
  if (IsKernelLike(op)) return Role::kKernel;
  if (!op.IsCopy() || !op.is_async || op.IsPageable()) return Role::kOther;
  const Direction direction = DirectionOf(op);
  return direction == Direction::kH2d ? Role::kToDevice : direction == Direction::kD2h ? Role::kToHost : Role::kOtherCopy;
}

// What is known of a stream while its operations go by in order.
struct Sequence {
  BusyTime busy;
  int64_t rounds = 0;
  bool came_copy = false;

  void See(Role role, int64_t start_ns, int64_t end_ns) {
    busy.Add(start_ns, end_ns);
    if (role == Role::kKernel) {
      rounds += came_copy;
      came_copy = false;
    } else {
      came_copy |= role != Role::kOther;
    }
  }
};

void AddSum(const PackedOps::Facts& facts, Role role, const OpFacts::Sum& sum, StreamUse* use) {
  use->operations += sum.count;
  if (facts.kind == OpKind::kMemcpy || facts.kind == OpKind::kPeerCopy) use->copies += sum.count;
  use->has_graph |= sum.count > 0 && facts.graph != 0;
  if (role == Role::kKernel) {
    use->kernels += sum.count;
    use->kernel_ns += sum.time_ns;
  }
  if (role == Role::kToDevice) use->to_device_ns += sum.time_ns;
  if (role == Role::kToHost) use->to_host_ns += sum.time_ns;
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
  bool has_begun = false;                    // a blocking stream had work
  int64_t pending_ops = 0, pending_ns = 0;   // of the default stream, since the last work of a blocking stream
  int64_t blocking_ns = 0;                   // work of blocking streams
  DefaultSplits splits;

  void SeeDefault(const GpuOp& op) {
    if (!has_begun) return;
    ++pending_ops;
    pending_ns += op.DurationNs();
  }
  void SeeBlocking(const GpuOp& op) {
    has_begun = true;
    blocking_ns += op.DurationNs();
    if (pending_ops == 0) return;
    ++splits.runs;
    splits.operations += pending_ops;
    splits.time_ns += pending_ns;
    pending_ops = pending_ns = 0;
  }
};

}  // namespace

int64_t StreamUse::OverlapGainNs() const {
  return kernel_ns + to_device_ns + to_host_ns - std::max({kernel_ns, to_device_ns, to_host_ns});
}

std::vector<StreamUse> UseOfStreams(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<StreamUse> uses(trace.streams.size());
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  struct Kind {
    uint32_t stream;
    Role role;
  };
  std::vector<Kind> kinds;  // by the facts of operations
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Facts& facts = trace.ops.FactsAt(i);
    const Role role = sums[i].count == 0 ? Role::kOther : RoleOf(trace.ops[sums[i].first]);
    kinds.push_back({static_cast<uint32_t>(std::min<size_t>(facts.stream, uses.size())), role});
    if (facts.stream != kNone) AddSum(facts, role, sums[i], &uses[facts.stream]);
  }
  std::vector<Sequence> sequences(uses.size() + 1);  // the last one of what has no stream
  for (uint32_t i = 0; i < trace.ops.size(); ++i) {
    trace.ops.PrefetchAfter(i);
    const Kind kind = kinds[trace.ops.FactsIndex(i)];
    sequences[kind.stream].See(kind.role, trace.ops[i].start_ns, trace.ops[i].end_ns);
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    uses[i].busy = sequences[i].busy;
    uses[i].rounds = sequences[i].rounds;
  }
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
      order.SeeBlocking(op);
    }
  }
  DefaultSplits sum;
  for (const Order& order : orders) {
    sum.runs += order.splits.runs;
    sum.operations += order.splits.operations;
    sum.time_ns += order.splits.time_ns;
    sum.gain_ns += std::min(order.splits.time_ns, order.blocking_ns);
  }
  return sum;
}

}  // namespace gprof
