#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/facts/host/loader_workers.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/topics/idle/idle_findings.h"
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
std::string MainLine(const Trace& trace, const PythonLines& lines, const IdleSamples& sampled) {
  constexpr double kPercentWorthAWord = 20;
  std::map<uint32_t, int64_t> counts;
  for (const uint32_t sample : sampled.samples) {
    const uint32_t line = lines.LineOf(trace.cpu_samples[sample].stack);
    if (line != kNone) ++counts[line];
  }
  const auto main = std::ranges::max_element(counts, {}, [](const auto& x) { return x.second; });
  if (main == counts.end()) return "";
  const double percent = PercentOf(main->second, static_cast<int64_t>(sampled.samples.size()));
  if (percent < kPercentWorthAWord) return "";
  return ", " + FormatPercent(percent) + " at " + NameOf(trace, lines.all()[main->first]);
}

}  // namespace

IdleSamples SamplesOf(const Trace& trace, const HostGaps& host, const std::vector<Interval>& times,
                      const std::vector<Interval>& without) {
  IdleSamples sampled;
  std::ranges::copy_if(host.samples, std::back_inserter(sampled.samples), [&](uint32_t sample) {
    const int64_t time_ns = trace.cpu_samples[sample].time_ns;
    const auto has = [&](const Interval& time) { return time.start_ns <= time_ns && time_ns < time.end_ns; };
    return std::ranges::any_of(times, has) && std::ranges::none_of(without, has);
  });
  if (sampled.samples.size() == host.samples.size()) {
    sampled.functions = host.functions;
  } else {
    SampledFunctions functions(trace);
    sampled.functions = CountFunctions(functions, sampled.samples);
  }
  return sampled;
}

void AddMainFunction(const AnalysisInput& input, const HostGaps& host, const IdleSamples& sampled, Finding* finding) {
  const Trace& trace = input.trace();
  if (trace.cpu_samples.empty()) return;
  const std::string samples = CountOf(static_cast<int64_t>(sampled.samples.size()), "CPU sample");
  if (!sampled.HasEnough()) {
    finding->evidence.push_back(samples + " there, too few to name a function");
    return;
  }
  if (sampled.functions.empty()) return;
  const FunctionSamples& main = sampled.functions.front();
  finding->evidence.push_back(FormatPercent(PercentOf(main.self, static_cast<int64_t>(sampled.samples.size()))) +
                              " of " + samples + " in " + ShortName(main.name) +
                              (main.module.empty() ? "" : " (" + main.module + ")") + Pieces(trace, host, main.name) +
                              MainLine(trace, input.shared().python_lines(), sampled));
}

bool LoadsData(const Trace& trace, const IdleSamples& sampled) {
  if (!sampled.HasEnough()) return false;
  std::vector<bool> is_loading(trace.stacks.size());
  for (size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackNode& node = trace.stacks[i];
    is_loading[i] = node.parent != kNone && is_loading[node.parent];
    if (is_loading[i] || node.frame == kNone || trace.frames[node.frame].module == kNone) continue;
    const std::string_view file = trace.Text(trace.modules[trace.frames[node.frame].module].path);
    is_loading[i] = file.find("/torch/utils/data/") != std::string_view::npos;
  }
  const auto loading = std::ranges::count_if(sampled.samples, [&](uint32_t sample) {
    const uint32_t stack = trace.cpu_samples[sample].stack;
    return stack != kNone && is_loading[stack];
  });
  return 2 * static_cast<size_t>(loading) >= sampled.samples.size();
}

std::string LoaderAdvice(const Trace& trace, int64_t loading_ns, int64_t window_ns) {
  constexpr double kMost = 128;  // the rest of the time is too short to say
  const double enough =
      static_cast<double>(loading_ns) / static_cast<double>(std::max<int64_t>(1, window_ns - loading_ns));
  return "The program loads its data itself: DataLoader(num_workers=N) does so in other processes while the GPU works" +
         (enough > kMost ? "." : "; " + LoaderWorkersOf(trace).KeepUp(enough));
}

bool StartsProcesses(const IdleSamples& sampled) {
  const std::vector<FunctionSamples>& functions = sampled.functions;
  if (!sampled.HasEnough() || functions.empty()) return false;
  std::string_view name = functions.front().name;
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  const auto is_it = [&](std::string_view function) {
    return name == function || name.starts_with("libc_" + std::string(function));
  };
  const bool does = is_it("fork") || is_it("Fork") || is_it("vfork") || is_it("clone") || is_it("clone3") ||
                    name.starts_with("posix_spawn") || name.starts_with("spawni");
  return does && 2 * functions.front().self >= static_cast<int64_t>(sampled.samples.size());
}

std::string GraphsRecordedInPart(const Trace& trace) {
  int64_t launches = 0, tied = 0, without_call = 0;
  for (const ApiCall& call : trace.api_calls) {
    if (call.api_class != ApiClass::kGraphLaunch) continue;
    ++launches;
    tied += call.op_count;
  }
  if (launches == 0 || trace.recorder.empty()) return {};
  for (const Operation op : OperationsOf(trace)) without_call += op.call() == kNone;
  if (without_call == 0) return {};
  return CountOf(launches, "graph launch", "graph launches") + ", " + CountOf(tied, "operation") + " tied to them, " +
         FormatCount(without_call) +
         " with no call: the capture has only some of the operations of its graphs, and the GPU may have worked in "
         "these gaps. Record graphs as a whole, or with gprof-cli profile.";
}

}  // namespace gprof
