#include "analysis/stream_findings.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "analysis/findings.h"
#include "analysis/gaps.h"
#include "analysis/names.h"
#include "analysis/statistics.h"
#include "base/units.h"

namespace gprof {
namespace {

// Below this share of the busy time overlap is an accident of two edges that meet.
constexpr double kOverlapPercent = 1;

// Streams that the processes asked for: those they created or gave a name.
struct Demand {
  int64_t processes = 0, asked = 0, used = 0;
  bool some_process_used_several = false;
};

Demand DemandOf(const Trace& trace, const std::vector<uint8_t>& is_used) {
  struct OfProcess {
    int64_t created = 0, named = 0, used = 0;
  };
  std::vector<OfProcess> processes(trace.processes.size());
  for (size_t i = 0; i < trace.streams.size(); ++i) {
    const Stream& stream = trace.streams[i];
    if (stream.process == kNone) continue;
    OfProcess& process = processes[stream.process];
    process.created += stream.is_created;
    process.named += stream.names_given;
    process.used += is_used[i] != 0 && (stream.is_created || stream.names_given > 0);
  }
  Demand demand;
  for (const OfProcess& process : processes) {
    const int64_t asked = std::max(process.created, process.named);
    if (asked < 2) continue;
    ++demand.processes;
    demand.asked += asked;
    demand.used += process.used;
    demand.some_process_used_several |= process.used >= 2;
  }
  return demand;
}

// At best kernels and the copies of each direction run side by side, so that the longest of them is what remains.
int64_t GainOfOverlap(const Trace& trace) {
  int64_t gain_ns = 0;
  for (const Trace::Slice slice : trace.device_ops) {
    BusyTime busy, kernels, to_device, to_host;
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const GpuOp& op = trace.ops[i];
      busy.Add(op.start_ns, op.end_ns);
      if (IsKernelLike(op)) kernels.Add(op.start_ns, op.end_ns);
      if (!op.IsCopy()) continue;
      if (DirectionOf(op) == Direction::kH2d) to_device.Add(op.start_ns, op.end_ns);
      if (DirectionOf(op) == Direction::kD2h) to_host.Add(op.start_ns, op.end_ns);
    }
    const int64_t longest_ns = std::max({kernels.busy_ns(), to_device.busy_ns(), to_host.busy_ns()});
    if (longest_ns > 0) gain_ns += busy.busy_ns() - longest_ns;
  }
  return gain_ns;
}

std::string Asked(const Demand& demand) {
  const std::string streams = CountOf(demand.asked, "stream");
  return demand.processes == 1 ? "Asked for " + streams
                               : CountOf(demand.processes, "process", "processes") + " asked for " + streams;
}

// What is known to keep streams apart.
std::string Serialisers(const Trace& trace) {
  int64_t pageable = 0, in_default_stream = 0;
  for (const GpuOp& op : trace.ops) {
    pageable += op.IsPageable();
    in_default_stream += op.stream != kNone && trace.streams[op.stream].is_default;
  }
  std::string text;
  if (pageable > 0) text += " There are " + CountOf(pageable, "pageable copy", "pageable copies") + ", which wait.";
  if (in_default_stream > 0) {
    text += " " + CountOf(in_default_stream, "operation") +
            " ran in the default stream, which waits for all others unless they are non-blocking.";
  }
  return text;
}

void SetGain(const Trace& trace, Finding* finding) {
  finding->gain_ns = GainOfOverlap(trace);
  if (finding->gain_ns > 0) finding->basis = "kernels and the copies of each direction running side by side";
}

Finding OneUsed(const Trace& trace, const Demand& demand, const Concurrency& concurrency) {
  Finding finding;
  finding.id = "streams.one_used";
  finding.severity = Severity::kWarning;
  finding.message = Asked(demand) + ", " + (demand.used == 0 ? "none" : FormatCount(demand.used)) + " used";
  if (concurrency.OverlapNs() == 0) finding.message += ", no overlap";
  if (demand.used == 0) {
    finding.message += ": the work ran in the default stream";
    finding.advice = "Pass the streams to the launches (<<<grid, block, shared, stream>>>) and to cudaMemcpyAsync.";
  } else {
    finding.advice = "Give each part of the work its own stream: the same handle seems to be used for all.";
  }
  SetGain(trace, &finding);
  return finding;
}

Finding NoOverlap(const Trace& trace, const Demand& demand, const Concurrency& concurrency) {
  Finding finding;
  finding.id = "streams.no_overlap";
  finding.severity = Severity::kWarning;
  finding.message = Asked(demand) + ", " + FormatCount(demand.used) + " used, ";
  finding.message += concurrency.OverlapNs() == 0
                         ? "never two at the same time"
                         : "two at the same time for only " +
                               FormatPercent(PercentOf(concurrency.OverlapNs(), concurrency.BusyNs())) +
                               " of the busy time";
  finding.advice = "Launch all parts before waiting for the first, with asynchronous copies of pinned memory." +
                   Serialisers(trace);
  SetGain(trace, &finding);
  return finding;
}

Finding Overlap(const Demand& demand, const Concurrency& concurrency) {
  const auto percent = [&](int64_t time_ns) { return FormatPercent(PercentOf(time_ns, concurrency.BusyNs())); };
  Finding finding;
  finding.id = "streams.overlap";
  finding.severity = Severity::kInfo;
  const char* besides = demand.some_process_used_several ? "" : " besides the default stream";
  finding.message = Asked(demand) + ", " + FormatCount(demand.used) + " used" + besides + ", overlap for " +
                    percent(concurrency.OverlapNs()) + " of the busy time (up to " +
                    CountOf(static_cast<int64_t>(concurrency.MaxLevel()), "stream") +
                    " at a time; kernels with kernels " + percent(concurrency.kernel_overlap_ns) +
                    ", copies with kernels " + percent(concurrency.copy_compute_ns) + ")";
  return finding;
}

}  // namespace

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
}

std::vector<Finding> StreamFindings(const Trace& trace, const std::vector<uint8_t>& is_used,
                                    const Concurrency& concurrency) {
  const Demand demand = DemandOf(trace, is_used);
  if (demand.asked < 2 || concurrency.BusyNs() == 0) return {};
  if (PercentOf(concurrency.OverlapNs(), concurrency.BusyNs()) >= kOverlapPercent) {
    return {Overlap(demand, concurrency)};
  }
  if (!demand.some_process_used_several) return {OneUsed(trace, demand, concurrency)};
  return {NoOverlap(trace, demand, concurrency)};
}

}  // namespace gprof
