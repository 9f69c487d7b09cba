#include "analysis/launches/launch_blocking.h"

#include <algorithm>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Shorter kernels may end before a launch that does not wait for them has returned.
constexpr int64_t kLongEnoughNs = 20'000;
constexpr int64_t kLaunchNs = 5'000;
constexpr int64_t kLaunchesOfAPattern = 20, kOthersAllowed = 20;
constexpr double kNearlyAllPercent = 95;

struct Launches {
  int64_t waited = 0, others = 0;
  double Percent() const { return PercentOf(waited, waited + others); }
};

bool HasLongKernels(const AnalysisInput& input) {
  const std::vector<Statistics>& times = input.shared().kernel_times();
  return std::any_of(times.begin(), times.end(), [](const Statistics& of) { return of.max >= kLongEnoughNs; });
}

// Stops when enough launches did not wait: in most traces these are the first ones.
Launches Count(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  Launches launches;
  for (const Operation op : OperationsOf(trace)) {
    if (!op.is_kernel() || op.duration_ns() < kLongEnoughNs) continue;
    const uint32_t call = ops.CallOf(op.index());
    if (call == kNone) continue;
    if (trace.api_calls[call].end_ns >= op.end_ns()) {
      ++launches.waited;
    } else if (++launches.others > kOthersAllowed && launches.Percent() < kNearlyAllPercent) {
      return launches;
    }
  }
  return launches;
}

// What the launching calls of all kernels took beyond that of a launch which does not wait.
int64_t BlockedNs(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  SaturatingSum blocked_ns;
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = op.is_kernel() ? ops.CallOf(op.index()) : kNone;
    if (call == kNone || trace.api_calls[call].end_ns < op.end_ns()) continue;
    blocked_ns += std::max<int64_t>(trace.api_calls[call].DurationNs() - kLaunchNs, 0);
  }
  return blocked_ns;
}

}  // namespace

void AddLaunchBlocking(const AnalysisInput& input, std::vector<Finding>* findings) {
  if (!HasLongKernels(input)) return;
  const Launches launches = Count(input);
  if (launches.waited < kLaunchesOfAPattern || launches.Percent() < kNearlyAllPercent) return;
  const int64_t idle_ns = input.shared().window_ns() - input.shared().busy_ns();
  Finding finding = NewFinding("launch.blocking");
  finding.message = "Launches are synchronous, as with CUDA_LAUNCH_BLOCKING=1: " + FormatPercent(launches.Percent()) +
                    " of " + CountOf(launches.waited + launches.others, "launch call") +
                    " returned only after their kernel had ended";
  finding.gain_ns = std::min(idle_ns, BlockedNs(input));
  finding.basis = "idle time that launching while kernels run would avoid";
  findings->push_back(std::move(finding));
}

}  // namespace gprof
