#include "analysis/run_analyses.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <numeric>
#include <string_view>
#include <system_error>
#include <thread>

#include "analysis/lacks.h"
#include "base/spill.h"

namespace gprof {
namespace {

// These take longest, so that no core is left alone with one of them at the end. The first of them makes what most need;
// `api` needs the least of it, and does not wait for it meanwhile.
constexpr std::array<std::string_view, 8> kFirst = {"idle",    "api",           "launches", "critical_path", "nvtx",
                                                    "streams", "small_kernels", "steps"};

std::vector<std::size_t> OrderOf(std::span<const Analysis* const> analyses) {
  std::vector<std::size_t> order(analyses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    return std::find(kFirst.begin(), kFirst.end(), analyses[i]->name) - kFirst.begin();
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace

// Analyses are pure functions of the same input, so a large one keeps as many cores busy as there are.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  constexpr std::size_t kWorthThreads = 200'000;  // operations, calls and ranges
  const bool is_large = trace.ops.size() + trace.api_calls.size() + trace.ranges.size() >= kWorthThreads;
  // Side by side they need their memory at the same time.
  const std::size_t cores = is_large && !IsSpilling() ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  const std::vector<std::size_t> order = OrderOf(analyses);
  std::atomic<std::size_t> next{0};
  std::vector<AnalysisResult> results(analyses.size());
  std::vector<std::exception_ptr> failures(analyses.size());
  const auto work = [&] {
    for (std::size_t at = next++; at < analyses.size(); at = next++) {
      const std::size_t i = order[at];
      try {
        results[i] = analyses[i]->run(input, options);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < std::min(cores, analyses.size()); ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // a limit of processes: those that did start will do
    }
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  DropUnknownMetrics(trace, results);
  return results;
}

}  // namespace gprof
