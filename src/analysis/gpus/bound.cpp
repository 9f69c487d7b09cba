#include "analysis/gpus/bound.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/copies/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/idle/gaps.h"
#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"
#include "analysis/result/findings.h"
#include "base/demangle.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kKernelBoundPercent = 90, kCopyBoundPercent = 50;  // of the window
constexpr size_t kKernelsNamed = 3;
constexpr double kPercentWorthNaming = 5;  // of the kernel time

std::string Ns(int64_t ns) { return FormatNs(static_cast<double>(ns)); }

// "gpu0 is", "2 GPUs are"
std::string DevicesAre(const Trace& trace) {
  const std::string devices = UsedDevices(trace);
  return devices + (devices.ends_with("GPUs") ? " are" : " is");
}

// Groups of kernels, those that took longest first.
std::vector<uint32_t> LongestKernels(const std::vector<Statistics>& times) {
  std::vector<uint32_t> order(times.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
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

// "ncu --kernel-name Fan2 --launch-count 3 ./gaussian"
std::string CommandFor(const Trace& trace, const std::string& kernel) {
  std::string program = "APP";
  if (trace.processes.size() == 1 && trace.processes[0].command_line != NameId{}) {
    program = trace.Text(trace.processes[0].command_line);
  }
  return "ncu --kernel-name " + kernel + " --launch-count 3 " + program;
}

// `longest` are those of LongestKernels.
Finding KernelBound(const AnalysisInput& input, const std::vector<uint32_t>& longest) {
  const KernelGroups& kernels = input.shared().kernels();
  const std::vector<Statistics>& times = input.shared().kernel_times();
  const int64_t window_ns = input.shared().window_ns();
  int64_t all_ns = 0;
  for (const Statistics& of_kernel : times) all_ns += of_kernel.total;
  const std::string first = kernels.Name(longest.front());
  Finding finding = NewFinding("gpu.kernel_bound");
  finding.subject.kernel = first;
  finding.message = DevicesAre(input.trace()) + " kernel-bound: kernels run " +
                    FormatPercent(PercentOf(input.shared().kernel_busy_ns(), window_ns)) + " of " + Ns(window_ns);
  for (const uint32_t kernel : longest) {
    const double percent = PercentOf(times[kernel].total, all_ns);
    if (kernel != longest.front() && percent < kPercentWorthNaming) break;
    finding.message += (kernel == longest.front() ? ". Of the kernel time " : ", ") + ShortName(kernels.Name(kernel)) +
                       " takes " + FormatPercent(percent) + " (" + Ns(times[kernel].total) + " in " +
                       CountOf(times[kernel].count, "launch", "launches") + ")";
  }
  finding.advice += " To see what limits it: " + CommandFor(input.trace(), FunctionOf(first));
  finding.gain_ns = times[longest.front()].total / 2;
  finding.basis = "half of the time of " + std::string(ShortName(first)) + ", as if it were twice as fast";
  return finding;
}

// "host to device 671.09 MB at 14.18 GB/s"
std::string DirectionsOf(const AnalysisInput& input) {
  struct Traffic {
    int64_t time_ns = 0;
    uint64_t bytes = 0;
  };
  std::array<Traffic, kDirectionCount> traffic{};
  for (const GpuOp& op : TransfersOf(input)) {
    if (!op.IsCopy()) continue;
    Traffic& of = traffic[static_cast<size_t>(DirectionOf(op))];
    of.time_ns += op.DurationNs();
    of.bytes += op.size_bytes;
  }
  std::string text;
  for (size_t i = 0; i < traffic.size(); ++i) {
    if (traffic[i].time_ns == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(DirectionName(static_cast<Direction>(i))) + " " +
            FormatBytes(static_cast<double>(traffic[i].bytes)) + " at " +
            FormatBytesPerSecond(BytesPerSecond(traffic[i].bytes, traffic[i].time_ns));
  }
  return text;
}

// Busy with no kernel running.
double PercentOfCopies(const SharedFacts& shared) {
  return PercentOf(shared.busy_ns() - shared.kernel_busy_ns(), shared.window_ns());
}

Finding CopyBound(const AnalysisInput& input) {
  Finding finding = NewFinding("gpu.copy_bound");
  finding.message = DevicesAre(input.trace()) + " copy-bound: " + FormatPercent(PercentOfCopies(input.shared())) +
                    " of " + Ns(input.shared().window_ns()) + " it copied with no kernel running (" +
                    DirectionsOf(input) + ")";
  return finding;
}

}  // namespace

std::vector<Finding> BoundFindings(const AnalysisInput& input) {
  const SharedFacts& shared = input.shared();
  std::vector<Finding> findings;
  if (shared.window_ns() <= 0) return findings;
  const KernelGroups& kernels = shared.kernels();
  if (PercentOf(shared.kernel_busy_ns(), shared.window_ns()) >= kKernelBoundPercent && kernels.size() > 0) {
    // Kernels of NCCL run while they wait for other ranks: the analysis `nccl` says what that is.
    const std::vector<uint32_t> longest = LongestKernels(shared.kernel_times());
    if (!IsNcclKernel(kernels.Name(longest.front()))) findings.push_back(KernelBound(input, longest));
  }
  if (PercentOfCopies(shared) >= kCopyBoundPercent) findings.push_back(CopyBound(input));
  return findings;
}

}  // namespace gprof
