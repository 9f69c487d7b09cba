#include "analysis/causes/first_touch.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "base/demangle.h"
#include "base/short_names.h"
#include "base/units.h"

namespace gprof {
namespace {

// Caches and clocks that are cold make a first launch two or three times as long. Where the other launches differ as
// well, the first may just have had more to do.
constexpr double kTimesTheMedian = 10, kEvenTimes = 2;
constexpr size_t kFewestOthers = 3;
constexpr int64_t kLeastNs = 1'000'000;  // less may be anything

// The launches of a kernel: the first, and how long the others took.
struct Launches {
  int64_t first_start_ns = 0, first_ns = -1;
  std::vector<int64_t> others;
};

std::vector<Launches> LaunchesByName(const Trace& trace) {
  std::vector<Launches> by_name(trace.strings.size());
  for (const Trace::Slice& slice : trace.device_ops) {
    for (const Operation op : OperationsOf(trace, slice)) {
      if (!op.is_kernel()) continue;
      Launches& launches = by_name[op.shared().name.value];
      const int64_t duration_ns = op.duration_ns();
      if (launches.first_ns >= 0 && op.start_ns() >= launches.first_start_ns) {
        launches.others.push_back(duration_ns);
        continue;
      }
      if (launches.first_ns >= 0) launches.others.push_back(launches.first_ns);
      launches.first_start_ns = op.start_ns();
      launches.first_ns = duration_ns;
    }
  }
  return by_name;
}

// How much longer the first took than the median of the others; 0 where that may have other reasons.
int64_t ExcessOf(Launches* launches, double* median_ns) {
  if (launches->others.size() < kFewestOthers) return 0;
  *median_ns = Median(launches->others);
  const auto longest = static_cast<double>(*std::ranges::max_element(launches->others));
  const auto first = static_cast<double>(launches->first_ns);
  if (first < kTimesTheMedian * *median_ns || longest > kEvenTimes * *median_ns) return 0;
  return launches->first_ns - static_cast<int64_t>(*median_ns);
}

template <typename Predicate>
bool HasCallThat(const AnalysisInput& input, Predicate is_it) {
  const Trace& trace = input.trace();
  const std::vector<uint32_t>& calls = input.shared().calls().rare();
  return std::ranges::any_of(calls, [&](uint32_t call) { return is_it(trace.Text(trace.api_calls[call].function)); });
}

// Where kernels ran too seldom to compare their launches, nobody can tell what of their time is the memory that moves:
// that is said beside what else there is, for the kernels that were launched first.
void AddSeldomLaunched(const AnalysisInput& input, const std::vector<Launches>& by_name,
                       std::vector<Finding>* findings) {
  int64_t all_ns = 0, alone_ns = 0, most_ns = 0;
  uint32_t most = 0;
  for (uint32_t name = 0; name < by_name.size(); ++name) {
    const Launches& launches = by_name[name];
    if (launches.first_ns < 0) continue;
    const int64_t others_ns = std::accumulate(launches.others.begin(), launches.others.end(), int64_t{0});
    all_ns += launches.first_ns + others_ns;
    if (launches.others.size() >= kFewestOthers) continue;
    alone_ns += launches.first_ns;
    if (launches.first_ns <= most_ns) continue;
    most_ns = launches.first_ns;
    most = name;
  }
  if (alone_ns < kFirstTouchNs || 2 * alone_ns < all_ns) return;
  const bool prefetches = HasCallThat(
      input, [](std::string_view function) { return function.find("MemPrefetch") != std::string_view::npos; });
  if (prefetches) return;
  Finding finding = NewFinding("memory.first_touch");
  finding.subject.kernel = KernelName(input.trace(), NameId{most});
  finding.severity = Severity::kNote;
  finding.message = "First launches of kernels such as " + BriefName(finding.subject.kernel) + " took " +
                    FormatNs(alone_ns) + ": part of that may be managed memory that moved to the GPU";
  finding.evidence = {"These kernels ran once or a few times, so that there is nothing to compare with",
                      "Migrations were not recorded"};
  finding.gain_ns = alone_ns / 2;
  finding.basis = "half of the time of first launches, a guess; the data still has to be copied in bulk";
  findings->push_back(std::move(finding));
}

}  // namespace

bool AllocatesManagedMemory(const AnalysisInput& input) {
  return HasCallThat(input, [](std::string_view function) {
    return function == "cudaMallocManaged" || function == "cuMemAllocManaged";
  });
}

void AddFirstTouchFinding(const AnalysisInput& input, std::vector<Finding>* findings) {
  const Trace& trace = input.trace();
  if (!trace.managed_memory.empty() || !AllocatesManagedMemory(input)) return;
  std::vector<Launches> by_name = LaunchesByName(trace);
  int64_t excess_ns = 0, most_ns = 0, kernels = 0;
  double median_of_most_ns = 0;
  uint32_t most = 0;
  for (uint32_t name = 0; name < by_name.size(); ++name) {
    double median_ns = 0;
    const int64_t own_ns = ExcessOf(&by_name[name], &median_ns);
    if (own_ns <= 0) continue;
    ++kernels;
    excess_ns += own_ns;
    if (own_ns <= most_ns) continue;
    most_ns = own_ns;
    median_of_most_ns = median_ns;
    most = name;
  }
  if (excess_ns < kLeastNs) {
    AddSeldomLaunched(input, by_name, findings);
    return;
  }
  Finding finding = NewFinding("memory.first_touch", PercentOf(excess_ns, input.shared().window_ns()));
  finding.subject.kernel = KernelName(trace, NameId{most});
  const auto first_ns = static_cast<double>(by_name[most].first_ns);
  finding.message = "The first launch of " + BriefName(finding.subject.kernel) + " took " + FormatNs(first_ns) + ", " +
                    FormatCount(static_cast<int64_t>(first_ns / median_of_most_ns)) +
                    " times the others: managed memory probably moved to the GPU meanwhile";
  finding.evidence.push_back("Median of the other launches: " + FormatNs(median_of_most_ns));
  if (kernels > 1) finding.evidence.push_back(CountOf(kernels - 1, "more kernel") + " likewise");
  finding.evidence.emplace_back("Migrations were not recorded");
  finding.gain_ns = excess_ns;
  finding.basis = "time of first launches above the median; the data still has to be copied in bulk";
  findings->push_back(std::move(finding));
}

}  // namespace gprof
