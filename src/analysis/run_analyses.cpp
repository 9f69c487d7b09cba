#include "analysis/run_analyses.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>

#include "analysis/lacks.h"
#include "base/spill.h"

namespace gprof {

// Analyses are pure functions of the same input, so a large one keeps as many cores busy as there are.
std::vector<AnalysisResult> RunAll(const AnalysisInput& input, std::span<const Analysis* const> analyses,
                                   const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  constexpr std::size_t kWorthThreads = 200'000;  // operations, calls and ranges
  const bool is_large = trace.ops.size() + trace.api_calls.size() + trace.ranges.size() >= kWorthThreads;
  // Side by side they need their memory at the same time.
  const std::size_t cores = is_large && !IsSpilling() ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  std::atomic<std::size_t> next{0};
  std::vector<AnalysisResult> results(analyses.size());
  std::vector<std::exception_ptr> failures(analyses.size());
  const auto work = [&] {
    for (std::size_t i = next++; i < analyses.size(); i = next++) {
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
