#include "analysis/topics/gpus/nccl_messages.h"

#include <algorithm>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/time/search_near.h"

namespace gprof {
namespace {

// Names of ranges have it in front.
std::string_view WithoutPrefix(std::string_view name) {
  constexpr std::string_view kPrefix = "nccl";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

bool IsGather(std::string_view function) { return function == "AllGather" || function == "ReduceScatter"; }

}  // namespace

bool NcclMessage::NeedsRanks() const { return IsGather(function) || function == "AllReduce"; }

double NcclMessage::AlgorithmBytes() const {
  const auto size = static_cast<double>(bytes);
  return IsGather(function) ? size * static_cast<double>(ranks) : size;
}

double NcclMessage::BusBytes() const {
  const auto size = static_cast<double>(bytes), n = static_cast<double>(ranks);
  if (IsGather(function)) return size * (n - 1);
  return function == "AllReduce" && ranks > 0 ? size * 2 * (n - 1) / n : size;
}

NcclMessages::NcclMessages(const Trace& trace, const IsCollective& is_collective) : trace_(trace) {
  if (AreRecords()) {
    ReadRecords(is_collective);
  } else {
    ReadPayloads(is_collective);
  }
}

int64_t NcclMessages::RanksOfJob(uint32_t thread) const {
  const uint32_t process = thread == kNone ? kNone : trace_.threads[thread].process;
  return process == kNone ? 0 : trace_.processes[process].world_size;
}

// ---- payloads ----

void NcclMessages::ReadPayloads(const IsCollective& is_collective) {
  for (const NvtxPayload& payload : trace_.payloads) ReadPayload(payload);
  if (all_.empty()) return;
  for (const auto& [range, index] : of_range_) {
    const auto found = communicators_.find(all_[index].communicator);
    all_[index].ranks = found != communicators_.end() ? found->second : RanksOfJob(trace_.ranges[range].thread);
  }
  for (const GpuOp& op : trace_.ops) {
    if (is_collective(op)) AddKernelOfRange(op);
  }
  for (NcclMessage& message : all_) {
    if (message.kernels) message.kernel_ns = static_cast<double>(message.kernels->DurationNs());
  }
}

void NcclMessages::ReadPayload(const NvtxPayload& payload) {
  if (payload.range == kNone || payload.domain == kNone) return;
  if (trace_.Text(trace_.domains[payload.domain].name) != "NCCL") return;
  std::string communicator;
  int64_t ranks = 0, bytes = -1;
  for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
    const PayloadValue& value = trace_.payload_values[i];
    const std::string_view key = trace_.Text(value.key);
    if (key.find("communicator ID") != std::string_view::npos) {
      communicator = value.is_integer ? std::to_string(value.integer) : std::string(trace_.Text(value.text));
    }
    if (!value.is_integer) continue;
    if (key.find("size [bytes]") != std::string_view::npos) bytes = value.integer;
    if (key == "No. of ranks") ranks = value.integer;
  }
  if (ranks > 0 && !communicator.empty()) communicators_[communicator] = ranks;
  if (bytes < 0 || !of_range_.try_emplace(payload.range, all_.size()).second) return;
  const NvtxRange& range = trace_.ranges[payload.range];
  NcclMessage message;
  message.function = WithoutPrefix(trace_.Text(range.name));
  message.path = range.path;
  message.called_ns = range.start_ns;
  message.thread = range.thread;
  message.bytes = bytes;
  message.communicator = std::move(communicator);
  all_.push_back(std::move(message));
}

void NcclMessages::AddKernelOfRange(const GpuOp& op) {
  const uint32_t call = OutermostCall(trace_, op.api);
  uint32_t range = call == kNone ? kNone : trace_.api_calls[call].range;
  while (range != kNone) {
    const auto found = of_range_.find(range);
    if (found != of_range_.end()) {
      NcclMessage& message = all_[found->second];
      if (!message.kernels) message.kernels = Interval{op.start_ns, op.end_ns};
      message.kernels->start_ns = std::min(message.kernels->start_ns, op.start_ns);
      message.kernels->end_ns = std::max(message.kernels->end_ns, op.end_ns);
      message.device = op.device;
      return;
    }
    range = RangeAround(trace_, range);
  }
}

// ---- records ----

void NcclMessages::ReadRecords(const IsCollective& is_collective) {
  for (const Collective& record : trace_.collectives) {
    NcclMessage message;
    message.function = trace_.Text(record.function);
    message.called_ns = record.start_ns;
    message.thread = record.thread;
    message.bytes = static_cast<int64_t>(std::min<uint64_t>(record.size_bytes, INT64_MAX));
    if (record.communicator != 0) message.communicator = std::to_string(record.communicator);
    message.ranks = record.ranks > 0 ? record.ranks : RanksOfJob(record.thread);
    message.record = &record;
    all_.push_back(std::move(message));
  }
  std::map<uint32_t, std::vector<Launch>> by_thread;
  for (uint32_t i = 0; i < trace_.ops.size(); ++i) {
    const GpuOp& op = trace_.ops[i];
    const uint32_t call = is_collective(op) ? OutermostCall(trace_, op.api) : kNone;
    if (call == kNone) continue;
    const ApiCall& launch = trace_.api_calls[call];
    if (launch.thread != kNone) by_thread[launch.thread].push_back({launch.start_ns, call, i});
  }
  for (auto& [thread, launches] : by_thread) {
    std::ranges::stable_sort(launches, {}, &Launch::start_ns);
  }
  AddKernelsOfLaunches(by_thread);
}

// NCCL tells of the operations of a kernel right after it has launched it, on the same thread. So the kernel of an
// operation is the last that its thread had launched by then; operations of a group may share one.
void NcclMessages::AddKernelsOfLaunches(const std::map<uint32_t, std::vector<Launch>>& by_thread) {
  struct Share {
    std::vector<size_t> messages;
    double bytes = 0;
  };
  std::map<uint32_t, Share> shares;  // by operation
  for (size_t i = 0; i < all_.size(); ++i) {
    const Collective& record = *all_[i].record;
    const auto launches = by_thread.find(record.thread);
    if (record.is_captured || launches == by_thread.end()) continue;
    auto at = std::upper_bound(launches->second.begin(), launches->second.end(), record.end_ns,
                               [](int64_t end_ns, const Launch& launch) { return end_ns < launch.start_ns; });
    if (at == launches->second.begin()) continue;
    --at;
    // Where the call is known, a kernel from before is not its own: that was not recorded.
    if (record.DurationNs() > 0 && at->start_ns < record.start_ns) continue;
    Share& share = shares[at->op];
    share.messages.push_back(i);
    share.bytes += static_cast<double>(all_[i].bytes);
    const GpuOp& op = trace_.ops[at->op];
    all_[i].kernels = Interval{op.start_ns, op.end_ns};
    all_[i].device = op.device;
    const uint32_t range = trace_.api_calls[at->call].range;
    if (range != kNone) all_[i].path = trace_.ranges[range].path;
  }
  for (const auto& [op, share] : shares) {
    for (const size_t i : share.messages) {
      const double part = share.bytes > 0 ? static_cast<double>(all_[i].bytes) / share.bytes
                                          : 1 / static_cast<double>(share.messages.size());
      all_[i].kernel_ns = part * static_cast<double>(all_[i].kernels->DurationNs());
    }
  }
}

}  // namespace gprof
