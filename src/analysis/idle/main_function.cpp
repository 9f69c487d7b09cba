#include "analysis/idle/main_function.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/places/stack_lines.h"
#include "analysis/result/display_names.h"
#include "analysis/samples/sampled_functions.h"
#include "base/demangle.h"
#include "base/units.h"

namespace gprof {
namespace {

// " of FILE in pieces of 128 B" where the function is a call that was recorded with little data each time. Most of such
// calls are too short to be recorded; samples say that they took the time.
std::string Pieces(const Trace& trace, const HostGaps& host, std::string_view function) {
  constexpr int64_t kSmallPieceBytes = 4096, kCallsToBeSure = 10;
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  for (const IdleInWait& wait : host.waits) {
    if (wait.kind.object_kind != trace::OsObject::kFile || trace.Text(wait.kind.function) != function) continue;
    if (wait.calls < kCallsToBeSure || wait.bytes == 0 || wait.bytes > wait.calls * kSmallPieceBytes) continue;
    return " of " + ObjectName(trace, wait.kind) + " in pieces of " +
           FormatBytes(static_cast<double>(wait.bytes) / static_cast<double>(wait.calls));
  }
  return "";
}

// ", 71% at data.py:12 (load)": the line of Python that most of the samples were taken at, where it is worth a word.
std::string MainLine(const Trace& trace, const PythonLines& lines, const HostGaps& host) {
  constexpr double kPercentWorthAWord = 20;
  std::map<uint32_t, int64_t> counts;
  for (const uint32_t sample : host.samples) {
    const uint32_t line = lines.Of(trace.cpu_samples[sample].stack);
    if (line != kNone) ++counts[line];
  }
  const auto main =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (main == counts.end()) return "";
  const double percent = PercentOf(main->second, static_cast<int64_t>(host.samples.size()));
  if (percent < kPercentWorthAWord) return "";
  return ", " + FormatPercent(percent) + " at " + NameOf(trace, lines.all()[main->first]);
}

}  // namespace

std::string MainFunction(const AnalysisInput& input, const HostGaps& host) {
  const Trace& trace = input.trace();
  if (trace.cpu_samples.empty()) return "";
  const auto count = static_cast<int64_t>(host.samples.size());
  if (host.samples.size() < kSamplesToNameAFunction)
    return "; " + CountOf(count, "CPU sample") + " there, too few to name a function";
  const std::vector<FunctionSamples> functions = CountFunctions(trace, host.samples);
  if (functions.empty()) return "";
  const FunctionSamples& main = functions.front();
  return "; " + FormatPercent(PercentOf(main.self, count)) + " of " + CountOf(count, "CPU sample") + " in " +
         ShortName(main.name) + (main.module.empty() ? "" : " (" + main.module + ")") + Pieces(trace, host, main.name) +
         MainLine(trace, input.shared().python_lines(), host);
}

}  // namespace gprof
