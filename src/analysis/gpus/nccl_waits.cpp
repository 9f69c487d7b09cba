#include "analysis/gpus/nccl_waits.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/findings.h"
#include "analysis/idle/gaps/gaps.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentWorthAFinding = 5;  // of the windows of those that waited
constexpr double kTogetherPercent = 95;      // of the collectives, where nothing names communicators
constexpr double kMostlyPercent = 60;        // of the waiting is for the same GPU

struct Call {
  std::string_view name;
  int64_t called_ns = 0;  // by the host
  Interval kernels;
};

struct Member {
  uint32_t device = kNone;
  Call call;
};

struct OfDevice {
  int64_t collectives = 0, last = 0, waiting_ns = 0, kernel_ns = 0;
  std::map<uint32_t, int64_t> waited_for_ns;  // by the device that came last
  int64_t for_hosts_ns = 0;                   // of waiting_ns: the last one's host had not called NCCL yet
  int64_t late_host_ns = 0;                   // the same, of the others, for the host of this one
};

// Times of two hosts differ by more than what collectives wait.
bool IsOneHost(const Trace& trace) {
  return std::all_of(trace.processes.begin(), trace.processes.end(), [&](const Process& process) {
    return trace.Text(process.host) == trace.Text(trace.processes.front().host);
  });
}

class Waits {
 public:
  Waits(const NcclMessages& messages, const IsCollective& is_collective)
      : trace_(messages.trace()), knows_hosts_(messages.AreRecords()) {
    if (messages.AreRecords()) {
      MatchBySequence(messages);
    } else {
      MatchPayloads(messages, is_collective);
    }
  }

  bool knows_hosts() const { return knows_hosts_; }
  const std::map<uint32_t, OfDevice>& devices() const { return devices_; }

 private:
  void MatchPayloads(const NcclMessages& messages, const IsCollective& is_collective) {
    std::map<std::string_view, std::map<uint32_t, std::vector<Call>>> communicators;
    for (const NcclMessage& message : messages.all()) {
      if (!CanBeMatched(message)) continue;
      communicators[message.communicator][message.device].push_back(
          {message.function, message.called_ns, *message.kernels});
    }
    for (auto& [communicator, devices] : communicators) Match(&devices);
    if (communicators.empty()) MatchByOrder(is_collective);
  }

  // A send is half of a pair: its other half has another name and number.
  static bool CanBeMatched(const NcclMessage& message) {
    return !message.communicator.empty() && message.kernels && message.device != kNone && !message.IsPeerToPeer();
  }

  // NCCL counts the operations of each function on a communicator, alike in all its ranks.
  void MatchBySequence(const NcclMessages& messages) {
    std::map<std::tuple<std::string_view, std::string_view, uint64_t>, std::vector<Member>> meetings;
    for (const NcclMessage& message : messages.all()) {
      if (!CanBeMatched(message)) continue;
      std::vector<Member>& members = meetings[{message.communicator, message.function, message.record->sequence}];
      const bool is_there = std::any_of(members.begin(), members.end(),
                                        [&](const Member& member) { return member.device == message.device; });
      if (!is_there) members.push_back({message.device, {message.function, message.called_ns, *message.kernels}});
    }
    for (const auto& [key, members] : meetings) {
      if (members.size() > 1) AddCollective(members);
    }
  }

  // Where nothing names communicators, all GPUs may be in one: then they ran the same kernels in the same order, and
  // each of them ended after the last had begun.
  void MatchByOrder(const IsCollective& is_collective) {
    std::map<uint32_t, std::vector<Call>> devices;
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      const Trace::Slice slice = trace_.device_ops[device];
      for (uint32_t i = slice.first; i < slice.last; ++i) {
        const GpuOp op = trace_.ops[i];
        if (!is_collective(op) || trace_.Text(op.name).find("SendRecv") != std::string_view::npos) continue;
        devices[device].push_back({trace_.Text(op.name), op.start_ns, {op.start_ns, op.end_ns}});
      }
    }
    if (devices.size() > 1 && AreTogether(devices)) Match(&devices);
  }

  static bool AreTogether(const std::map<uint32_t, std::vector<Call>>& devices) {
    const size_t count = devices.begin()->second.size();
    size_t overlapping = 0;
    for (const auto& [device, calls] : devices) {
      if (calls.size() != count) return false;
    }
    for (size_t i = 0; i < count; ++i) {
      int64_t last_start_ns = INT64_MIN, first_end_ns = INT64_MAX;
      for (const auto& [device, calls] : devices) {
        last_start_ns = std::max(last_start_ns, calls[i].kernels.start_ns);
        first_end_ns = std::min(first_end_ns, calls[i].kernels.end_ns);
      }
      overlapping += first_end_ns >= last_start_ns;
    }
    return 100 * static_cast<double>(overlapping) >= kTogetherPercent * static_cast<double>(count);
  }

  // Every rank makes the collectives of a communicator in the same order. Where the trace has more of one rank than of
  // another nobody knows which belong together.
  void Match(std::map<uint32_t, std::vector<Call>>* devices) {
    if (devices->size() < 2) return;
    std::vector<uint32_t> ids;
    std::vector<std::vector<Call>*> calls;
    for (auto& [device, of_device] : *devices) {
      std::sort(of_device.begin(), of_device.end(),
                [](const Call& a, const Call& b) { return a.called_ns < b.called_ns; });
      ids.push_back(device);
      calls.push_back(&of_device);
    }
    for (const auto* of_device : calls) {
      const auto has_same_name = [](const Call& a, const Call& b) { return a.name == b.name; };
      if (!std::equal(of_device->begin(), of_device->end(), calls[0]->begin(), calls[0]->end(), has_same_name)) return;
    }
    for (size_t number = 0; number < calls[0]->size(); ++number) {
      std::vector<Member> members;
      for (size_t i = 0; i < ids.size(); ++i) members.push_back({ids[i], (*calls[i])[number]});
      AddCollective(members);
    }
  }

  void AddCollective(const std::vector<Member>& members) {
    const Member& last = *std::max_element(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return a.call.kernels.start_ns < b.call.kernels.start_ns;
    });
    for (const Member& member : members) {
      const Interval& kernels = member.call.kernels;
      OfDevice& of_device = devices_[member.device];
      ++of_device.collectives;
      of_device.kernel_ns += kernels.DurationNs();
      of_device.last += &member == &last;
      // Kernels that ended before the last one began did not need it: a rank that only gives.
      const int64_t until_ns = std::min(last.call.kernels.start_ns, kernels.end_ns);
      const int64_t waiting_ns = until_ns - kernels.start_ns;
      if (waiting_ns <= 0) continue;
      of_device.waiting_ns += waiting_ns;
      of_device.waited_for_ns[last.device] += waiting_ns;
      if (!knows_hosts_) continue;
      const int64_t host_ns = std::clamp<int64_t>(last.call.called_ns - kernels.start_ns, 0, waiting_ns);
      of_device.for_hosts_ns += host_ns;
      devices_[last.device].late_host_ns += host_ns;
    }
  }

  const Trace& trace_;
  const bool knows_hosts_;
  std::map<uint32_t, OfDevice> devices_;
};

std::pair<uint32_t, int64_t> MostOf(const std::map<uint32_t, int64_t>& sums_ns) {
  std::pair<uint32_t, int64_t> most{kNone, 0};
  for (const auto& [device, ns] : sums_ns) {
    if (ns > most.second) most = {device, ns};
  }
  return most;
}

Table WaitTable(const Trace& trace, const Waits& waits, uint32_t max_rows) {
  Table table{"nccl_waits",
              "Waiting in collectives",
              {{"device", "GPU", Unit::kText, false},
               {"waiting_ns", "Waiting", Unit::kNs, false},
               {"waiting_percent", "Waiting (%)", Unit::kPercent, false},
               {"collectives", "Collectives", Unit::kCount, false},
               {"last", "Last", Unit::kCount, false},
               {"most_for", "Mostly for", Unit::kText, false}},
              {},
              "Waiting: from the start of an NCCL kernel to the start of the last rank's, in percent of the time of "
              "these kernels. Mostly for: the GPU that arrived last for most of that time."};
  if (waits.knows_hosts()) {
    table.columns.push_back({"for_hosts_ns", "For late hosts", Unit::kNs, false});
    table.note +=
        " For late hosts: part of Waiting in which the host of the last rank had not yet called NCCL; for the rest, "
        "its GPU had other work or had not yet started the launched kernel.";
  }
  for (const auto& [device, of_device] : waits.devices()) {
    const auto [most_for, ns] = MostOf(of_device.waited_for_ns);
    table.rows.push_back({DeviceScope(trace, device), of_device.waiting_ns,
                          PercentOf(of_device.waiting_ns, of_device.kernel_ns), of_device.collectives, of_device.last,
                          most_for == kNone ? Cell() : Cell(DeviceScope(trace, most_for))});
    if (waits.knows_hosts()) table.rows.back().push_back(of_device.for_hosts_ns);
  }
  SortAndCut(&table, 1, 0, max_rows);
  return table;
}

std::string HostText(const Waits& waits, const OfDevice& straggler, int64_t slow_ns) {
  if (!waits.knows_hosts()) return "";
  const double percent = PercentOf(straggler.late_host_ns, slow_ns);
  return ". For " + FormatPercent(percent) + " of that time its host had not yet called NCCL: " +
         (percent >= 50 ? "the host is late" : "its GPU is, with work from before");
}

void AddFinding(const AnalysisInput& input, const Waits& waits, AnalysisResult* result) {
  const Trace& trace = input.trace();
  std::map<uint32_t, int64_t> caused_ns;
  int64_t waiting_ns = 0, window_ns = 0;
  for (const auto& [device, of_device] : waits.devices()) {
    if (of_device.waiting_ns == 0) continue;
    waiting_ns += of_device.waiting_ns;
    window_ns += input.shared().window_ns(device);
    for (const auto& [last, ns] : of_device.waited_for_ns) caused_ns[last] += ns;
  }
  const auto [slow, slow_ns] = MostOf(caused_ns);
  if (slow == kNone || PercentOf(waiting_ns, window_ns) < kPercentWorthAFinding) return;
  if (PercentOf(slow_ns, waiting_ns) < kMostlyPercent) return;
  const OfDevice& straggler = waits.devices().at(slow);
  Finding finding = NewFinding("nccl.straggler");
  finding.message = DeviceScope(trace, slow) + " arrived last in " + std::to_string(straggler.last) + " of " +
                    CountOf(straggler.collectives, "collective") + ": other GPUs waited for it for " +
                    FormatNs(slow_ns) + "; waiting in NCCL kernels took " +
                    FormatPercent(PercentOf(waiting_ns, window_ns)) + " of their GPU window" +
                    HostText(waits, straggler, slow_ns);
  finding.gain_ns = slow_ns;
  finding.basis = "time from the start of their kernels to the start of the last rank's";
  finding.subject.device = DeviceScope(trace, slow);
  result->findings.push_back(std::move(finding));
}

}  // namespace

int64_t AddNcclWaits(const AnalysisInput& input, const NcclMessages& messages, const IsCollective& is_collective,
                     uint32_t max_rows, AnalysisResult* result) {
  const Trace& trace = input.trace();
  if (!IsOneHost(trace)) return 0;
  const Waits waits(messages, is_collective);
  if (waits.devices().empty()) return 0;
  int64_t waiting_ns = 0, for_hosts_ns = 0;
  for (const auto& [device, of_device] : waits.devices()) {
    AddMetric(result, "nccl.waiting_ns", of_device.waiting_ns, DeviceScope(trace, device));
    waiting_ns += of_device.waiting_ns;
    for_hosts_ns += of_device.for_hosts_ns;
  }
  AddMetric(result, "nccl.waiting_ns", waiting_ns);
  if (waits.knows_hosts()) AddMetric(result, "nccl.late_host_ns", for_hosts_ns);
  result->tables.push_back(WaitTable(trace, waits, max_rows));
  AddFinding(input, waits, result);
  return waiting_ns;
}

}  // namespace gprof
