#include "analysis/topics/streams/stream_findings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "base/units.h"

namespace gprof {
namespace {

// Below this share of the busy time overlap is an accident of two edges that meet.
constexpr double kOverlapPercent = 1;
constexpr double kGainWorthAFinding = 5;  // percent of the busy time
constexpr int64_t kRounds = 2;            // copies before kernels: fewer leave nothing to overlap with

// Streams that the processes asked for: those they created or gave a name.
struct Demand {
  int64_t processes = 0, asked = 0, used = 0;
  bool some_process_used_several = false;
};

// Frameworks make streams: XLA, whose users have none to choose, and PyTorch, which hands out those of a pool. Where
// PyTorch made no pool, the streams are those of its libraries, and so are those in which nothing of its own ran.
struct FrameworkStreams {
  explicit FrameworkStreams(const AnalysisInput& input)
      : processes(input.trace().processes.size(), 0), streams(input.trace().streams.size(), 0) {
    const Trace& trace = input.trace();
    for (uint32_t i = 0; i < input.shared().ops().sums().size(); ++i) {
      const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
      if (input.shared().ops().sums()[i].count == 0 || traits.process == kNone || traits.stream == kNone) continue;
      const bool is_its_own = traits.kind == OpKind::kKernel && IsOfFramework(trace.Text(traits.name));
      processes[traits.process] |= is_its_own;
      streams[traits.stream] |= is_its_own || traits.kind == OpKind::kMemcpy;
    }
  }
  static bool IsOfFramework(std::string_view kernel) {
    constexpr std::string_view kParts[] = {"at::native", "2at6native", "stream_executor"};
    return std::ranges::any_of(kParts,
                               [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; });
  }
  std::vector<uint8_t> processes, streams;  // have one; with kernels of it, or copies
};

// Streams of different GPUs cannot take work from each other, so that each GPU of a process is looked at by itself.
Demand DemandOf(const AnalysisInput& input, const std::vector<StreamUse>& uses) {
  const Trace& trace = input.trace();
  const FrameworkStreams framework(input);
  struct OfGpu {
    int64_t created = 0, named = 0, used = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, OfGpu> gpus;  // by process and device
  const bool knows_created = !trace.Lacks(Fact::kStreamsMade);
  for (size_t i = 0; i < trace.streams.size(); ++i) {
    const Stream& stream = trace.streams[i];
    if (stream.process == kNone) continue;
    OfGpu& gpu = gpus[{stream.process, stream.device}];
    // Where the making of streams was not recorded, those that were used and are no default streams were made.
    const bool is_created = knows_created ? stream.is_created : uses[i].IsUsed() && !stream.is_default;
    gpu.created += is_created;
    gpu.named += stream.names_given;
    const bool is_of_library = framework.processes[stream.process] != 0 && framework.streams[i] == 0;
    gpu.used += uses[i].IsUsed() && !is_of_library && (is_created || stream.names_given > 0);
  }
  Demand demand;
  std::set<uint32_t> processes;
  for (const auto& [key, gpu] : gpus) {
    const bool has_pool = gpu.created >= kFewestOfAPool || !knows_created;
    if (framework.processes[key.first] != 0 && !has_pool && gpu.named < 2) continue;
    const int64_t created = gpu.created >= kFewestOfAPool ? gpu.used : gpu.created;
    const int64_t asked = std::max(created, gpu.named);
    if (asked < 2) continue;
    processes.insert(key.first);
    demand.asked += asked;
    demand.used += gpu.used;
    demand.some_process_used_several |= gpu.used >= 2;
  }
  demand.processes = static_cast<int64_t>(processes.size());
  return demand;
}

std::string Asked(const Demand& demand) {
  const std::string streams = CountOf(demand.asked, "stream");
  return demand.processes == 1 ? streams + " requested"
                               : CountOf(demand.processes, "process", "processes") + " requested " + streams;
}

int64_t CountPageable(const AnalysisInput& input) {
  int64_t count = 0;
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count > 0 && input.trace().ops[sum.first].IsPageable()) count += sum.count;
  }
  return count;
}

// What is known to keep streams apart.
std::string Serialisers(const AnalysisInput& input, int64_t pageable, const StreamWaits& waits) {
  const Trace& trace = input.trace();
  int64_t in_default_stream = 0;
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count == 0) continue;
    const GpuOp& op = trace.ops[sum.first];
    if (op.stream != kNone && trace.streams[op.stream].is_default) in_default_stream += sum.count;
  }
  std::string text;
  if (pageable > 0) text += " " + CountOf(pageable, "pageable copy", "pageable copies") + " blocked the host.";
  if (in_default_stream > 0) {
    text += " " + CountOf(in_default_stream, "operation") +
            " ran in the default stream, which synchronises with all other streams unless they are non-blocking.";
  }
  if (const StreamWaitSite* worst = waits.Worst()) {
    text += " Event waits delayed work " + CountOf(waits.held, "time") + ", for " + FormatNs(waits.held_ns) +
            " in total, mostly " + DescribeWait(trace, *worst) + ".";
  }
  return text;
}

// What would run side by side if the copies were asynchronous and their memory pinned. Work of the default stream stays
// where it is.
int64_t GainWithPinnedMemory(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  SaturatingSum kernel_ns, to_device_ns, to_host_ns;
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count == 0) continue;
    const GpuOp& op = trace.ops[sum.first];
    if (op.stream == kNone || trace.streams[op.stream].is_default) continue;
    if (IsKernelLike(op)) kernel_ns += sum.time_ns;
    if (!op.IsCopy()) continue;
    if (DirectionOf(op) == Direction::kH2d) to_device_ns += sum.time_ns;
    if (DirectionOf(op) == Direction::kD2h) to_host_ns += sum.time_ns;
  }
  SaturatingSum all_ns = kernel_ns;
  all_ns += to_device_ns, all_ns += to_host_ns;
  return all_ns - std::max<int64_t>({kernel_ns, to_device_ns, to_host_ns});
}

// Copies that come once are no reason for streams: where kernels take longer than copies, those are all there is to
// hide.
int64_t LimitToJudged(const AnalysisInput& input, int64_t gain_ns) {
  const JudgedTime& judged = input.shared().judged(input);
  return judged.devices.kernel_ns < judged.CopyOnlyNs() ? gain_ns : std::min(gain_ns, judged.CopyOnlyNs());
}

void SetGain(const AnalysisInput& input, Finding* finding) {
  finding->gain_ns = LimitToJudged(input, GainOfOverlap(input));
  if (finding->gain_ns > 0) finding->basis = "assumes kernels and copies in each direction run concurrently";
}

// What kernels could win that leave multiprocessors without a block, if they ran side by side. Those of the default
// stream stay where they are, and those that wait for something run no shorter.
int64_t GainOfSmallKernels(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  SaturatingSum gain_ns;
  std::map<uint32_t, SaturatingSum> time_of;  // by stream
  for (uint32_t i = 0; i < input.shared().ops().sums().size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind != OpKind::kKernel || traits.shape == kNone || traits.device == kNone) continue;
    if (traits.stream == kNone || trace.streams[traits.stream].is_default) continue;
    if (IsWaitingKernel(trace.Text(traits.name))) continue;
    const int64_t time_ns = input.shared().ops().sums()[i].time_ns;
    time_of[traits.stream] += time_ns;
    const trace::KernelShapeRecord& shape = trace.shapes[traits.shape];
    const double blocks = static_cast<double>(shape.grid_x) * shape.grid_y * shape.grid_z;
    const double used = blocks / std::max(1.0, static_cast<double>(trace.devices[traits.device].properties.sm_count));
    if (used < 1) gain_ns += static_cast<int64_t>((1 - used) * static_cast<double>(time_ns));
  }
  SaturatingSum all_ns;
  int64_t busiest_ns = 0;
  for (const auto& [stream, time_ns] : time_of) {
    all_ns += time_ns;
    busiest_ns = std::max<int64_t>(busiest_ns, time_ns);
  }
  // Where one stream has nearly all of it, there is little to run beside that.
  const int64_t others_ns = all_ns - busiest_ns;
  const bool has_one = others_ns < busiest_ns / 10;
  return has_one ? std::min<int64_t>(gain_ns, others_ns) : static_cast<int64_t>(gain_ns);
}

uint32_t MostNames(const Trace& trace) {
  uint32_t most = 0;
  for (const Stream& stream : trace.streams) most = std::max(most, stream.names_given);
  return most;
}

// The stream that did most of the work, as the table of streams has it first.
std::string Busiest(const Trace& trace, const std::vector<StreamUse>& uses) {
  std::string name;
  int64_t most_ns = -1;
  for (uint32_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].IsUsed() || uses[i].busy_ns < most_ns) continue;
    std::string other = StreamName(trace, i);
    if (uses[i].busy_ns == most_ns && other > name) continue;
    name = std::move(other);
    most_ns = uses[i].busy_ns;
  }
  return name;
}

Finding OneUsed(const AnalysisInput& input, const std::vector<StreamUse>& uses, const Demand& demand,
                const Concurrency& concurrency) {
  Finding finding = NewFinding("streams.one_used");
  finding.subject.stream = Busiest(input.trace(), uses);
  finding.message = Asked(demand) + ", " + (demand.used == 0 ? "none" : FormatCount(demand.used)) + " used";
  if (concurrency.OverlapNs() == 0) finding.message += ", no overlap";
  if (demand.used == 0) {
    finding.message += ": the work ran in the default stream";
    finding.advice = "Pass the streams to the launches (<<<grid, block, shared, stream>>>) and to cudaMemcpyAsync.";
  } else {
    const uint32_t names = MostNames(input.trace());
    if (names >= 2) finding.advice += " One stream handle was given " + CountOf(names, "name") + ".";
  }
  SetGain(input, &finding);
  return finding;
}

// The program says in its ranges that it has several streams; what it made is one, which it uses under several names.
Finding OneUsedAsNamed(const AnalysisInput& input, const NamedInRanges& named) {
  Finding finding = NewFinding("streams.one_used");
  finding.subject.stream = StreamName(input.trace(), named.stream);
  finding.message = CountOf(named.names, "stream") + " named in NVTX ranges (\"" + named.first + "\" to \"" +
                    named.last + "\"), one used: all " + CountOf(named.operations, "operation") +
                    " of these ranges ran in " + finding.subject.stream;
  SetGain(input, &finding);
  return finding;
}

Finding NoOverlap(const AnalysisInput& input, const Demand& demand, const Concurrency& concurrency,
                  const DefaultSplits& splits, const StreamWaits& waits) {
  Finding finding = NewFinding("streams.no_overlap");
  finding.message = Asked(demand) + ", " + FormatCount(demand.used) + " used, ";
  finding.message += concurrency.OverlapNs() == 0
                         ? "never two concurrently"
                         : "two concurrently for only " +
                               FormatPercent(PercentOf(concurrency.OverlapNs(), concurrency.BusyNs())) +
                               " of busy time";
  const int64_t pageable = CountPageable(input);
  if (pageable > 0) {
    finding.message += ": " + CountOf(pageable, "pageable copy", "pageable copies") + " blocked the host until done";
  }
  finding.advice += Serialisers(input, pageable, waits);
  SetGain(input, &finding);
  if (finding.gain_ns == 0 && pageable > 0) {
    finding.gain_ns = GainWithPinnedMemory(input);
    finding.basis =
        "assumes kernels and copies in each direction run concurrently, with asynchronous copies from pinned memory";
  }
  // Where the default stream keeps them apart, that has a finding of its own.
  const int64_t small_ns = splits.gain_ns > 0 ? 0 : GainOfSmallKernels(input);
  if (small_ns > finding.gain_ns) {
    finding.gain_ns = small_ns;
    finding.basis = "kernel time minus the share of SMs that have a block";
  }
  // Kernels that fill the GPU run one after the other in any stream.
  if (finding.gain_ns == 0) finding.severity = Severity::kInfo;
  return finding;
}

Finding Overlap(const Demand& demand, const Concurrency& concurrency) {
  const auto percent = [&](int64_t time_ns) { return FormatPercent(PercentOf(time_ns, concurrency.BusyNs())); };
  Finding finding = NewFinding("streams.overlap");
  const char* besides = demand.some_process_used_several ? "" : " in addition to the default stream";
  finding.message = Asked(demand) + ", " + FormatCount(demand.used) + " used" + besides + ", overlapping for " +
                    percent(concurrency.OverlapNs()) + " of busy time";
  finding.evidence.push_back("Up to " + CountOf(static_cast<int64_t>(concurrency.MaxLevel()), "stream") +
                             " concurrently: kernels with kernels " + percent(concurrency.kernel_overlap_ns) +
                             ", copies with kernels " + percent(concurrency.copy_compute_ns));
  return finding;
}

// Processes that did all their work in one stream, copies and kernels in turn.
struct OneOnly {
  int64_t processes = 0, copies = 0, kernels = 0, gain_ns = 0;
  uint32_t stream = kNone;  // one of them
};

OneOnly OneOnlyOf(const Trace& trace, const std::vector<StreamUse>& uses) {
  std::vector<int64_t> used(trace.processes.size(), 0);
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].DoesWork() && trace.streams[i].process != kNone) ++used[trace.streams[i].process];
  }
  OneOnly sum;
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const StreamUse& use = uses[i];
    const uint32_t process = trace.streams[i].process;
    if (process == kNone || used[process] != 1 || use.is_negligible || use.rounds < kRounds || use.has_graph) continue;
    ++sum.processes;
    sum.copies += use.copies;
    sum.kernels += use.kernels;
    sum.gain_ns += use.OverlapGainNs();
    sum.stream = i;
  }
  return sum;
}

void AddOneOnly(const Trace& trace, const OneOnly& one, int64_t busy_ns, std::vector<Finding>* findings) {
  if (one.processes == 0 || PercentOf(one.gain_ns, busy_ns) < kOverlapPercent) return;
  Finding finding = NewFinding("streams.one_only", PercentOf(one.gain_ns, busy_ns));
  finding.subject.stream = StreamName(trace, one.stream);
  finding.message = CountOf(one.kernels, "kernel") + " and " + CountOf(one.copies, "copy", "copies") +
                    " ran one after the other in " +
                    (one.processes == 1 ? "one stream (" + StreamName(trace, one.stream) + ")"
                                        : "one stream of each of " + FormatCount(one.processes) + " processes") +
                    ": copies never overlapped kernels";
  finding.gain_ns = one.gain_ns;
  finding.basis =
      "assumes kernels and asynchronous copies in each direction run concurrently; includes the saving of "
      "memcpy.overlap";
  findings->push_back(std::move(finding));
}

void AddDefaultSplits(const DefaultSplits& splits, int64_t busy_ns, std::vector<Finding>* findings) {
  if (splits.runs < kRounds || PercentOf(splits.gain_ns, busy_ns) < kGainWorthAFinding) return;
  Finding finding = NewFinding("streams.default_splits", PercentOf(splits.gain_ns, busy_ns));
  finding.message = "The default stream serialised other streams " + CountOf(splits.runs, "time") + ": " +
                    CountOf(splits.operations, "operation") + " in it took " + FormatNs(splits.time_ns) +
                    " between work of blocking streams";
  finding.gain_ns = splits.gain_ns;
  finding.basis = "assumes the default-stream work and the work around it run concurrently";
  findings->push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> StreamFindings(const AnalysisInput& input, const std::vector<StreamUse>& uses,
                                    const Concurrency& concurrency, const DefaultSplits& splits,
                                    const StreamWaits& waits) {
  if (concurrency.BusyNs() == 0) return {};
  const Trace& trace = input.trace();
  const Demand demand = DemandOf(input, uses);
  std::vector<Finding> findings;
  AddStreamWaitFinding(trace, waits, concurrency.WindowNs(), &findings);
  if (demand.asked >= 2 && PercentOf(concurrency.OverlapNs(), concurrency.BusyNs()) < kOverlapPercent) {
    findings.push_back(demand.some_process_used_several ? NoOverlap(input, demand, concurrency, splits, waits)
                                                        : OneUsed(input, uses, demand, concurrency));
    // Which wins all that DefaultSplits could, as a rule.
    if (findings.back().gain_ns < splits.gain_ns) AddDefaultSplits(splits, concurrency.BusyNs(), &findings);
    RankFindings(&findings);
    return findings;
  }
  const NamedInRanges named = demand.asked < 2 ? NamedInRangesOf(input) : NamedInRanges{};
  if (demand.asked >= 2) {
    findings.push_back(Overlap(demand, concurrency));
  } else if (named.names >= 2) {
    findings.push_back(OneUsedAsNamed(input, named));
  } else {
    AddOneOnly(trace, OneOnlyOf(trace, uses), concurrency.BusyNs(), &findings);
  }
  AddDefaultSplits(splits, concurrency.BusyNs(), &findings);
  RankFindings(&findings);
  return findings;
}

}  // namespace gprof
