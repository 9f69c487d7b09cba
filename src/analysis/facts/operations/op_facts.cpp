#include "analysis/facts/operations/op_facts.h"

#include <algorithm>
#include <limits>

#include "base/saturate.h"

namespace gprof {
namespace {

Interval Nothing() { return {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}; }

void Widen(Interval* interval, const Interval& by) {
  interval->start_ns = std::min(interval->start_ns, by.start_ns);
  interval->end_ns = std::max(interval->end_ns, by.end_ns);
}

bool IsTransfer(OpKind kind) { return kind == OpKind::kMemcpy || kind == OpKind::kPeerCopy || kind == OpKind::kMemset; }

bool IsOfGraph(const PackedOps::Traits& traits) {
  return traits.kind == OpKind::kGraph || traits.graph != 0 || traits.graph_node != 0 || traits.node != kNone;
}

}  // namespace

// GPU time by owner and device, in one array, as owners and devices are few. What has no owner or no device is kept as
// well, so that nobody has to ask.
class OpFacts::Shares {
 public:
  Shares(size_t owners, size_t devices)
      : owners_(owners), devices_(devices), shares_ns_((owners + 1) * (devices + 1)) {}

  // The place of both is the sum of these.
  size_t RowOf(uint32_t owner) const { return std::min<size_t>(owner, owners_) * (devices_ + 1); }
  size_t ColumnOf(uint32_t device) const { return std::min<size_t>(device, devices_); }
  int64_t& operator[](size_t place) { return shares_ns_[place]; }

  uint32_t LargestOf(uint32_t owner) const {
    const auto begin = shares_ns_.begin() + static_cast<std::ptrdiff_t>(RowOf(owner));
    const auto at = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(devices_));
    return devices_ == 0 || *at == 0 ? kNone : static_cast<uint32_t>(at - begin);
  }

 private:
  size_t owners_, devices_;
  std::vector<int64_t> shares_ns_;
};

OpFacts::OpFacts(const Trace& trace)
    : trace_(trace),
      has_op_(trace.api_calls.size(), 0),
      sums_(trace.ops.TraitsCount(), {0, 0, 0, Nothing(), kNone}),
      kernels_of_name_(trace.strings.size(), 0),
      counts_of_streams_(trace.streams.size(), 0),
      of_process_(trace.processes.size() + 1, {Nothing(), kNone}),
      window_(Nothing()),
      devices_of_threads_(trace.threads.size(), kNone) {
  const size_t devices = trace.device_ops.size();
  Shares of_threads(trace.threads.size(), devices), of_processes(trace.processes.size(), devices);
  ReadOperations(&of_threads);
  AddUp(&of_processes);
  ChooseDevices(of_threads, of_processes);
}

void OpFacts::ReadOperations(Shares* of_threads) {
  std::vector<size_t> columns, rows;  // by kinds of operations, and of calls
  std::vector<uint8_t> are_rare;      // by kinds of operations
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const PackedOps::Traits& traits = trace_.ops.TraitsAt(i);
    columns.push_back(of_threads->ColumnOf(traits.device));
    are_rare.push_back(IsTransfer(traits.kind) || IsOfGraph(traits));
  }
  for (uint32_t i = 0; i < trace_.api_calls.TraitsCount(); ++i) {
    rows.push_back(of_threads->RowOf(trace_.api_calls.TraitsAt(i).thread));
  }
  for (const Operation op : OperationsOf(trace_)) {
    const uint32_t kind = op.kind_number();
    const int64_t start_ns = op.start_ns(), end_ns = op.end_ns(), time_ns = end_ns - start_ns;
    const int64_t share_ns = std::max<int64_t>(time_ns, 1);
    Sum& sum = sums_[kind];
    if (sum.count++ == 0) {  // what shares all this is of one device, whose operations are in order
      sum.first = op.index();
      sum.window.start_ns = start_ns;
    }
    sum.window.end_ns = std::max(sum.window.end_ns, end_ns);
    AddWrapping(&sum.time_ns, time_ns);
    AddWrapping(&sum.share_ns, share_ns);
    if (are_rare[kind] != 0) ListRare(op);
    const uint32_t call = CallOf(op);
    if (call == kNone) continue;
    has_op_[call] = 1;
    AddWrapping(&(*of_threads)[rows[trace_.api_calls.TraitsIndex(call)] + columns[kind]], share_ns);
  }
}

void OpFacts::ListRare(const Operation& op) {
  if (IsTransfer(op.shared().kind)) transfers_.push_back(op.index());
  if (IsOfGraph(op.shared())) graph_ops_.push_back(op.index());
}

void OpFacts::AddUp(Shares* of_processes) {
  for (uint32_t i = 0; i < sums_.size(); ++i) {
    const Sum& sum = sums_[i];
    if (sum.count == 0) continue;
    const PackedOps::Traits& traits = trace_.ops.TraitsAt(i);
    counts_[static_cast<size_t>(traits.kind)] += sum.count;
    if (traits.kind == OpKind::kKernel) kernels_of_name_[traits.name.value] += sum.count;
    if (traits.stream != kNone) counts_of_streams_[traits.stream] += static_cast<uint32_t>(sum.count);
    const size_t place = of_processes->RowOf(traits.process) + of_processes->ColumnOf(traits.device);
    AddWrapping(&(*of_processes)[place], sum.share_ns);
    Widen(&window_, sum.window);
    OfProcess& of_process = of_process_[Slot(traits.process)];
    const auto is_first = [&] {
      if (of_process.first == kNone || sum.window.start_ns != of_process.window.start_ns) {
        return of_process.first == kNone || sum.window.start_ns < of_process.window.start_ns;
      }
      return sum.first < of_process.first;
    };
    if (is_first()) of_process.first = sum.first;
    Widen(&of_process.window, sum.window);
  }
}

void OpFacts::ChooseDevices(const Shares& of_threads, const Shares& of_processes) {
  for (uint32_t thread = 0; thread < devices_of_threads_.size(); ++thread) {
    uint32_t& device = devices_of_threads_[thread];
    device = of_threads.LargestOf(thread);
    const uint32_t process = trace_.threads[thread].process;
    if (device == kNone && process != kNone) device = of_processes.LargestOf(process);
  }
}

StreamOps::StreamOps(const Trace& trace, const std::vector<uint32_t>& counts) : ends_(counts.size() + 1, 0) {
  for (size_t i = 0; i < counts.size(); ++i) ends_[i + 1] = ends_[i] + counts[i];
  ops_.resize(ends_.back());
  std::vector<size_t*> end_of;  // by the traits of operations: of what its stream has so far
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const uint32_t stream = trace.ops.TraitsAt(i).stream;
    end_of.push_back(stream == kNone ? nullptr : &ends_[stream]);
  }
  const PackedOps::Item* item = trace.ops.items().data();
  uint32_t* const ops = ops_.data();
  size_t* const* const end_of_traits = end_of.data();
  for (uint32_t i = 0, count = static_cast<uint32_t>(trace.ops.size()); i < count; ++i, ++item) {
    PrefetchForReading(item);
    size_t* const end = end_of_traits[item->traits];
    if (end != nullptr) ops[(*end)++] = i;
  }
}

}  // namespace gprof
