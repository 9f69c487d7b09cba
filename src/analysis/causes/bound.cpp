#include "analysis/causes/bound.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/causes/counters/counter_rules.h"
#include "analysis/causes/launch_split.h"
#include "analysis/facts/counters/counter_breakdown.h"
#include "analysis/facts/counters/counter_formulas.h"
#include "analysis/facts/counters/counter_groups.h"
#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/operations/used_devices.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "base/demangle.h"
#include "base/short_names.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kKernelBoundPercent = 80, kCopyBoundPercent = 50;  // of the window
constexpr double kMostlyKernelsPercent = 60;                        // of the window: optimising kernels helps as well
constexpr double kKernelsBesideCopiesPercent = 25;                  // of the window with copies that come once
constexpr int64_t kLeastKernelNs = 1'000'000;                       // less is no work to speak of
// That kernels could be faster is a guess: what is known to be in the way of that much of the window comes first.
constexpr int kMostPercent = 15, kMostPercentBesideIdle = 8;
constexpr size_t kKernelsNamed = 3;
constexpr double kPercentWorthNaming = 5;  // of the kernel time

// "gpu0 is", "2 GPUs are"
std::string DevicesAre(const Trace& trace) {
  const std::string devices = NameOfUsedDevices(trace);
  return devices + (devices.ends_with("GPUs") ? " are" : " is");
}

bool AreKernels(const DeviceTimes& times, double percent) {
  return times.kernel_ns >= kLeastKernelNs && PercentOf(times.kernel_ns, times.window_ns) >= percent;
}

bool AreKernelBound(const DeviceTimes& times) { return AreKernels(times, kKernelBoundPercent); }

// "gpu0 is kernel-bound: kernels run for 90% of 2.00 s after warm-up". `when`: see WhenOf.
std::string BoundByKernels(const Trace& trace, const DeviceTimes& sum, const std::string& when) {
  return DevicesAre(trace) + (AreKernelBound(sum) ? " kernel-bound: kernels run for " : " running kernels for ") +
         FormatPercent(PercentOf(sum.kernel_ns, sum.window_ns)) + " of " + FormatNs(sum.window_ns) + when;
}

// Where there is idle time as well, it has findings of its own.
Finding NewBoundFinding(const DeviceTimes& sum) {
  Finding finding = NewFinding("gpu.kernel_bound");
  if (!AreKernelBound(sum)) finding.advice = "Optimise the top kernels, or run fewer of them.";
  return finding;
}

// When managed memory moves to or from a device, or its pages fault there.
IntervalSet ManagedTransfersOf(const Trace& trace, uint32_t device) {
  std::vector<Interval> transfers;
  for (const ManagedMemory& m : trace.managed_memory) {
    if (m.source == device || m.destination == device) transfers.push_back({m.start_ns, m.end_ns});
  }
  std::ranges::sort(transfers, {}, &Interval::start_ns);
  IntervalSet set;
  for (const Interval& transfer : transfers) set.Add(transfer.start_ns, transfer.end_ns);
  return set;
}

std::string WhenJudged(const JudgedTime& judged) { return judged.steady ? WhenOf(judged.steady->step) : ""; }

Interval TimeOf(const JudgedTime& judged) {
  return judged.steady ? judged.steady->time : Interval{INT64_MIN, INT64_MAX};
}

// Kernels of NCCL run while they wait for other ranks, and others while they wait for pages of managed memory. Neither
// is work: the analyses `nccl` and `memory` say what it is.
DeviceTimes WorkOfKernels(const AnalysisInput& input, const JudgedTime& judged) {
  const Trace& trace = input.trace();
  DeviceTimes times = judged.devices;
  const NcclKernels of_nccl(trace);
  if (!of_nccl.HasAny() && trace.managed_memory.empty()) return times;
  const Interval time = TimeOf(judged);
  times.kernel_ns = 0;
  for (const Trace::Slice& slice : trace.device_ops) {
    IntervalSet kernels;
    for (const Operation op : OperationsOf(trace, slice)) {
      if (!op.is_kernel() || of_nccl.Has(op.shared())) continue;
      const int64_t start_ns = std::max(op.start_ns(), time.start_ns), end_ns = std::min(op.end_ns(), time.end_ns);
      if (start_ns < end_ns) kernels.Add(start_ns, end_ns);
    }
    const IntervalSet transfers = ManagedTransfersOf(trace, static_cast<uint32_t>(&slice - trace.device_ops.data()));
    IntervalSet::Cursor waiting(transfers);
    for (const Interval& kernel : kernels.intervals()) {
      times.kernel_ns += kernel.DurationNs() - waiting.Covered(kernel.start_ns, kernel.end_ns);
    }
  }
  return times;
}

// What later parts of a program need for their first launches is start-up as well.
DeviceTimes WithoutFirstLaunches(const AnalysisInput& input, const JudgedTime& judged, DeviceTimes times) {
  if (!AreKernelBound(times)) times.window_ns -= SplitLaunches(input, TimeOf(judged)).FirstsNs();
  return times;
}

// Results are copied once, however long the kernels run before that.
DeviceTimes WithoutDownload(const JudgedTime& judged, DeviceTimes times) {
  if (!AreKernelBound(times)) times.window_ns -= judged.download_ns + judged.upload_ns;
  return times;
}

// Groups of kernels but those of NCCL, those that took longest first.
std::vector<uint32_t> LongestKernels(const KernelGroups& kernels, const std::vector<Statistics>& times) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < times.size(); ++i) {
    if (!IsNcclKernel(kernels.Name(i))) order.push_back(i);
  }
  const auto longer = [&](uint32_t a, uint32_t b) { return times[a].total > times[b].total; };
  std::partial_sort(order.begin(), order.begin() + std::min(order.size(), kKernelsNamed), order.end(), longer);
  order.resize(std::min(order.size(), kKernelsNamed));
  return order;
}

// What ncu calls a kernel: the function alone, without namespaces and template arguments.
std::string FunctionOf(const std::string& kernel) {
  std::string name = ShortName(kernel);
  name = name.substr(0, name.find('<'));
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

// As the option -k of gprof-cli and ncu wants several: 'regex:^(Fan1|Fan2)$'
std::string FilterFor(const std::vector<std::string>& functions) {
  if (functions.size() == 1) return functions.front();
  std::string filter = "'regex:^(";
  for (const std::string& function : functions) filter += (&function == &functions.front() ? "" : "|") + function;
  return filter + ")$'";
}

// "gprof-cli counters --set full -k Fan2 -c 3 ./gaussian (ncu takes the same options)"
// Helpers of the program, such as those that load data, do not use the GPU. One of several ranks is no program.
std::string CommandFor(const AnalysisInput& input, const std::vector<std::string>& functions) {
  const Trace& trace = input.trace();
  std::vector<uint32_t> of_gpu;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (input.shared().ops().FirstOf(i) != kNone) of_gpu.push_back(i);
  }
  std::string program = "APP";
  if (of_gpu.size() == 1) {
    const Process& process = trace.processes[of_gpu.front()];
    const bool is_program = process.command_line != NameId{} && (trace.processes.size() == 1 || process.rank < 0);
    if (is_program) program = trace.Text(process.command_line);
  }
  return "gprof-cli counters --set full -k " + FilterFor(functions) + " -c 3 " + program +
         " (ncu takes the same options)";
}

// What counters say of kernels, where the run has them: of profile --counters, or of another trace of the program.
class Counted {
 public:
  explicit Counted(const Trace& trace) : kernels_(KernelCountersOf(trace)) {
    diagnosed_ = DiagnosedKernels(trace, kernels_);
  }

  // Of the launches of `name` that took longest.
  void Add(const std::string& name) {
    const auto at = std::ranges::find_if(diagnosed_, [&](const DiagnosedKernel& k) { return k.kernel->name == name; });
    if (at == diagnosed_.end()) return;
    ++count_;
    has_reasons_ &= TopStall(*at->kernel).has_value();
    text_ += (text_.empty() ? "By counters: " : ", ") + BriefName(name) + " " + WordsOf(*at);
  }

  // "By counters: saxpy memory bound, reduce low occupancy"
  const std::string& text() const { return text_; }
  // Reasons are known of so many of those that were asked for, and there is nothing more to measure.
  bool HasReasonsOf(size_t count) const { return count_ == count && has_reasons_; }

 private:
  static std::string WordsOf(const DiagnosedKernel& k) {
    const std::string verdict = VerdictOf(k);
    if (!verdict.empty()) return verdict;
    const Throughputs throughputs = ThroughputsOf(*k.kernel);
    if (!throughputs.compute && !throughputs.memory) return "not known";
    return "near neither peak (compute " + FormatPercent(throughputs.compute.value_or(0)) + ", memory " +
           FormatPercent(throughputs.memory.value_or(0)) + (throughputs.is_whole ? ")" : ", or more)");
  }

  std::vector<KernelCounters> kernels_;
  std::vector<DiagnosedKernel> diagnosed_;
  std::string text_;
  size_t count_ = 0;
  bool has_reasons_ = true;
};

// "first launches, copies after the last kernel"
std::string WithoutWhat(const JudgedTime& judged, bool are_firsts_left_out, bool are_copies_left_out) {
  std::string text = are_firsts_left_out ? "first launches" : "";
  if (!are_copies_left_out) return text;
  text += std::string(text.empty() ? "" : ", ") + "copies ";
  if (judged.upload_ns > 0) text += "before the first ";
  if (judged.upload_ns > 0 && judged.download_ns > 0) text += "and ";
  return text + (judged.download_ns > 0 ? "after the last kernel" : "kernel");
}

// If that share of the kernels ran twice as fast.
void SetGain(const DeviceTimes& sum, double share, const std::string& kernels, Finding* finding) {
  const int most_percent = AreKernelBound(sum) ? kMostPercent : kMostPercentBesideIdle;
  finding->about_ns = sum.kernel_ns;
  finding->gain_ns = std::min(static_cast<int64_t>(share * static_cast<double>(sum.kernel_ns) / 2),
                              sum.window_ns / 100 * most_percent);
  finding->basis = "assumes these " + kernels + " run up to twice as fast; capped at " + std::to_string(most_percent) +
                   "% of the time";
}

// The kernels that a finding names.
struct NamedKernels {
  std::vector<std::string> names, lines, functions;  // functions are those of ncu, each once
  int64_t total_ns = 0;
};

// Of `longest`, those that are worth naming.
NamedKernels NameKernels(const AnalysisInput& input, const std::vector<uint32_t>& longest, int64_t all_ns) {
  NamedKernels named;
  std::vector<std::string> shares;
  for (const uint32_t kernel : longest) {
    const Statistics& times = input.shared().kernel_times()[kernel];
    const double percent = PercentOf(times.total, all_ns);
    if (kernel != longest.front() && percent < kPercentWorthNaming) break;
    named.names.push_back(input.shared().kernels().Name(kernel));
    shares.push_back(": " + FormatPercent(percent) + " of the kernel time (" + FormatNs(times.total) + " in " +
                     CountOf(times.count, "launch", "launches") + ")");
    named.total_ns += times.total;
    const std::string function = FunctionOf(named.names.back());
    if (std::ranges::find(named.functions, function) == named.functions.end()) named.functions.push_back(function);
  }
  named.lines = BriefNames(named.names);
  for (size_t i = 0; i < shares.size(); ++i) named.lines[i] += shares[i];
  return named;
}

// `longest` are those of LongestKernels; `without`: what `sum` leaves out of the time that is judged.
Finding KernelBound(const AnalysisInput& input, const DeviceTimes& sum, const std::string& when, std::string without,
                    const std::vector<uint32_t>& longest) {
  const KernelGroups& kernels = input.shared().kernels();
  int64_t all_ns = 0;
  bool has_nccl = false;
  for (uint32_t i = 0; i < input.shared().kernel_times().size(); ++i) {
    const bool is_nccl = IsNcclKernel(kernels.Name(i));
    has_nccl |= is_nccl;
    all_ns += is_nccl ? 0 : input.shared().kernel_times()[i].total;
  }
  const NamedKernels named = NameKernels(input, longest, all_ns);
  Finding finding = NewBoundFinding(sum);
  finding.subject.kernel = named.names.front();
  finding.message = BoundByKernels(input.trace(), sum, when) + "; longest: " + BriefNames(named.names).front();
  finding.evidence = named.lines;
  Counted counted(input.trace());
  for (const std::string& name : named.names) counted.Add(name);
  if (!counted.text().empty()) finding.evidence.push_back(counted.text());
  if (has_nccl) without += (without.empty() ? "" : ", ") + std::string("kernels of NCCL");
  if (!without.empty()) finding.evidence.push_back("Left out: " + without);
  finding.advice += counted.HasReasonsOf(named.names.size())
                        ? " The findings kernel.* say what limits them."
                        : " To see what limits them: " + CommandFor(input, named.functions);
  // Of kernels that run at the same time, the share of the window.
  const double share = static_cast<double>(named.total_ns) / static_cast<double>(std::max<int64_t>(all_ns, 1));
  SetGain(sum, share, "kernels", &finding);
  return finding;
}

// Graphs that were recorded as a whole took longer than all kernels that were recorded by themselves.
bool AreMostlyGraphs(const AnalysisInput& input) {
  int64_t graphs_ns = 0, kernels_ns = 0;
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const OpKind kind = input.trace().ops.TraitsAt(i).kind;
    if (kind == OpKind::kGraph) graphs_ns += sums[i].time_ns;
    if (kind == OpKind::kKernel) kernels_ns += sums[i].time_ns;
  }
  return graphs_ns > kernels_ns;
}

// Graphs that were recorded as a whole say nothing of what they run.
Finding GraphBound(const AnalysisInput& input, const DeviceTimes& sum, const JudgedTime& judged) {
  Finding finding = NewFinding("gpu.graph_bound");
  finding.message = DevicesAre(input.trace()) + " running CUDA graphs for " +
                    FormatPercent(PercentOf(sum.kernel_ns, sum.window_ns)) + " of " + FormatNs(sum.window_ns) +
                    WhenJudged(judged) + "; their nodes were not recorded, so kernels or copies may take that time";
  SetGain(sum, 1, "graphs", &finding);
  return finding;
}

// "H2D 671.09 MB at 14.18 GB/s"
std::string DirectionsOf(const AnalysisInput& input) {
  struct Traffic {
    int64_t time_ns = 0;
    uint64_t bytes = 0;
  };
  std::array<Traffic, kDirectionCount> traffic{};
  for (const GpuOp& op : TransfersOf(input.trace(), input.shared().ops())) {
    if (!op.IsCopy()) continue;
    Traffic& of = traffic[static_cast<size_t>(DirectionOf(op))];
    of.time_ns += op.DurationNs();
    of.bytes += op.size_bytes;
  }
  std::string text;
  for (size_t i = 0; i < traffic.size(); ++i) {
    if (traffic[i].time_ns == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(ShortDirectionName(static_cast<Direction>(i))) + " " +
            FormatBytes(traffic[i].bytes) + " at " +
            FormatBytesPerSecond(BytesPerSecond(traffic[i].bytes, traffic[i].time_ns));
  }
  return text;
}

Finding CopyBound(const AnalysisInput& input, const JudgedTime& judged) {
  const DeviceTimes& sum = judged.devices;
  Finding finding = NewFinding("gpu.copy_bound");
  finding.message = DevicesAre(input.trace()) +
                    " copy-bound: " + FormatPercent(PercentOf(sum.busy_ns - sum.kernel_ns, sum.window_ns)) + " of " +
                    FormatNs(sum.window_ns) + WhenJudged(judged) + " spent copying with no kernel running";
  finding.evidence.push_back(DirectionsOf(input));
  finding.gain_ns = sum.busy_ns - sum.kernel_ns;
  finding.basis = "all time spent copying with no kernel running";
  return finding;
}

}  // namespace

bool IsKernelBound(const AnalysisInput& input, const std::string& step) {
  const JudgedTime judged = JudgedBy(input, step);
  return AreKernelBound(WithoutFirstLaunches(input, judged, judged.devices));
}

std::vector<Finding> BoundFindings(const AnalysisInput& input, const std::string& step) {
  const JudgedTime judged = JudgedBy(input, step);
  const DeviceTimes& times = judged.devices;
  std::vector<Finding> findings;
  if (times.window_ns <= 0) return findings;
  const DeviceTimes repeated = WithoutFirstLaunches(input, judged, WorkOfKernels(input, judged));
  const DeviceTimes work = WithoutDownload(judged, repeated);
  if (AreKernels(work, kMostlyKernelsPercent) && AreKernels(repeated, kKernelsBesideCopiesPercent)) {
    const std::vector<uint32_t> longest = LongestKernels(input.shared().kernels(), input.shared().kernel_times());
    const std::string without =
        WithoutWhat(judged, repeated.window_ns < times.window_ns, work.window_ns < repeated.window_ns);
    findings.push_back(longest.empty() || AreMostlyGraphs(input)
                           ? GraphBound(input, work, judged)
                           : KernelBound(input, work, WhenJudged(judged), without, longest));
  }
  // Copies that come once, after kernels that fill the GPU, have findings of their own.
  const bool is_kernel_bound = !findings.empty() && AreKernelBound(work);
  if (!is_kernel_bound && PercentOf(times.busy_ns - times.kernel_ns, times.window_ns) >= kCopyBoundPercent) {
    findings.push_back(CopyBound(input, judged));
  }
  return findings;
}

}  // namespace gprof
