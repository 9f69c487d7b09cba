// From the start of each process to its first GPU operation, split into what took the time; what the first launch of a
// kernel costs more than later ones; the just-in-time compiler.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/recording/overhead_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/recorded_time.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kLoadPercentWorthAFinding = 5, kSlowPercentWorthAFinding = 25;  // of the time of the process
constexpr double kWorkPercentOfARun = 1;  // less GPU work than that is not what a run is about
// Nor is work of so few operations that takes less than a tenth of what CUDA needs to start.
constexpr size_t kFewOperations = 32;
constexpr int64_t kTimesOfTheWork = 10;
constexpr int64_t kStartWorthAFindingNs = 10'000'000;
constexpr int64_t kLoadWorthAFindingNs = 10'000'000, kSlowWorthAFindingNs = 1'000'000'000;

// Where several go on at one time, the first of them counts.
enum class Part : uint8_t {
  kProfiler,
  kCompile,
  kCodeCache,
  kModule,
  kLazy,
  kContext,
  kMemory,
  kLaunch,
  kOtherCall,
  kBetween,
  kBefore,
};
constexpr size_t kParts = 11;
constexpr std::string_view kPartNames[kParts] = {"profiling (CUPTI)",
                                                 "JIT compilation",
                                                 "JIT cache",
                                                 "module loading",
                                                 "lazy kernel loading",
                                                 "CUDA context creation",
                                                 "memory allocation",
                                                 "first launch",
                                                 "other CUDA calls",
                                                 "host code between CUDA calls",
                                                 "host code before the first CUDA call"};
constexpr Part kLoading[] = {Part::kCompile, Part::kCodeCache, Part::kModule, Part::kLazy};

using Split = std::array<int64_t, kParts>;
int64_t At(const Split& split, Part part) { return split[static_cast<size_t>(part)]; }

struct Startup {
  uint32_t process = kNone;
  int64_t total_ns = 0;  // to the first GPU operation
  int64_t life_ns = 0;   // of the process
  Split split{};
  int64_t work_ns = 0;  // from its first GPU operation to the end of its last
  int64_t AfterNs() const { return life_ns - total_ns - work_ns; }
  int64_t LoadingNs() const {
    int64_t sum_ns = 0;
    for (const Part part : kLoading) sum_ns += At(split, part);
    return sum_ns;
  }
};

// ---- the split ----

struct Edge {
  int64_t time_ns;
  Part part;
  int change;
};

bool MakesContext(const Trace& trace, const ApiCall& call) {
  return call.api_class == ApiClass::kLoad && IsAboutContexts(trace.Text(call.function));
}

// The first call of the runtime makes the context, whatever it is for, unless another call did; kNone for none.
std::vector<uint32_t> ImplicitContextCalls(const Trace& trace, const CallFacts& calls) {
  std::vector<uint32_t> first(trace.processes.size(), kNone);
  for (uint32_t i = 0; i < calls.sums().size(); ++i) {
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    const CallFacts::Sum& sum = calls.sums()[i];
    if (sum.count == 0 || traits.process == kNone || traits.api_class == ApiClass::kQuery) continue;
    if (trace.Text(traits.function) == "cuInit") continue;
    uint32_t& at = first[traits.process];
    const int64_t start_ns = at == kNone ? INT64_MAX : trace.api_calls[at].start_ns;
    if (sum.start_ns < start_ns || (sum.start_ns == start_ns && sum.first < at)) at = sum.first;
  }
  return first;
}

Part PartOf(const Trace& trace, uint32_t index, uint32_t context_call, uint32_t launch_call) {
  const ApiCall& call = trace.api_calls[index];
  if (index == context_call || MakesContext(trace, call)) return Part::kContext;
  if (index == launch_call) return Part::kLaunch;
  if (call.api_class == ApiClass::kLoad) return Part::kModule;
  return call.api_class == ApiClass::kMemory ? Part::kMemory : Part::kOtherCall;
}

Part PartOfOverhead(uint32_t kind) {
  if (kind == kOverheadCompiler) return Part::kCompile;
  if (kind == kOverheadModuleLoading) return Part::kModule;
  return kind == kOverheadLazyLoading ? Part::kLazy : Part::kProfiler;
}

Part PartOfJit(const Jit& jit) {
  constexpr uint8_t kCompiles = 3;  // 1 loads from the cache, 2 stores into it
  return jit.operation == kCompiles ? Part::kCompile : Part::kCodeCache;
}

// Gives every nanosecond of [from_ns, to_ns) to the first of the parts that go on then.
Split Sweep(std::vector<Edge> edges, int64_t from_ns, int64_t to_ns, int64_t first_call_ns) {
  edges.push_back({first_call_ns, Part::kBetween, 1});
  edges.push_back({to_ns, Part::kBetween, -1});
  std::ranges::sort(edges, {}, &Edge::time_ns);
  Split split{};
  std::array<int, kParts> going_on{};
  going_on[static_cast<size_t>(Part::kBefore)] = 1;
  int64_t at_ns = from_ns;
  for (const Edge& edge : edges) {
    const int64_t until_ns = std::clamp(edge.time_ns, at_ns, to_ns);
    const auto* part = std::ranges::find_if(going_on, [](int count) { return count > 0; });
    split[static_cast<size_t>(part - going_on.begin())] += until_ns - at_ns;
    at_ns = until_ns;
    going_on[static_cast<size_t>(edge.part)] += edge.change;
  }
  return split;
}

// What the thread did that launched the first operation.
Split SplitOf(const Trace& trace, uint32_t launch_call, uint32_t context_call, int64_t from_ns, int64_t to_ns) {
  std::vector<Edge> edges;
  const auto add = [&](int64_t start_ns, int64_t end_ns, Part part) {
    start_ns = std::max(start_ns, from_ns);
    end_ns = std::min(end_ns, to_ns);
    if (start_ns >= end_ns) return;
    edges.push_back({start_ns, part, 1});
    edges.push_back({end_ns, part, -1});
  };
  int64_t first_call_ns = to_ns;
  const uint32_t thread = launch_call == kNone ? kNone : trace.api_calls[launch_call].thread;
  if (thread == kNone) return {};  // it is not known what the program did
  const Trace::Slice slice = trace.thread_api_calls[thread];
  for (uint32_t i = slice.first; i < slice.last && trace.api_calls[i].start_ns < to_ns; ++i) {
    const ApiCall& call = trace.api_calls[i];
    if (call.parent != kNone) continue;
    first_call_ns = std::min(first_call_ns, std::max(call.start_ns, from_ns));
    // The launch goes on until the operation starts.
    add(call.start_ns, i == launch_call ? to_ns : call.end_ns, PartOf(trace, i, context_call, launch_call));
  }
  for (const Overhead& o : trace.overheads) {
    if (o.start_ns >= to_ns) break;
    if (o.thread == thread && o.kind != kOverheadCommandBufferFull) add(o.start_ns, o.end_ns, PartOfOverhead(o.kind));
  }
  for (const Jit& jit : trace.jits) {
    if (jit.start_ns >= to_ns) break;
    if (jit.thread == thread) add(jit.start_ns, jit.end_ns, PartOfJit(jit));
  }
  return Sweep(std::move(edges), from_ns, to_ns, first_call_ns);
}

// Of the processes that were recorded from their beginning and used a GPU.
std::vector<Startup> Measure(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const OpFacts& ops = input.shared().ops();
  if (!trace.device_windows.empty()) return {};  // a time was selected: what came first is not known
  const std::vector<uint32_t> context_calls = ImplicitContextCalls(trace, input.shared().calls());
  std::vector<Startup> startups;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    const Process& process = trace.processes[i];
    if (ops.FirstOf(i) == kNone || !RecordedTime::IsRecordedThroughout(trace, i)) continue;
    const GpuOp& op = trace.ops[ops.FirstOf(i)];
    if (op.start_ns <= process.start_ns) continue;
    startups.push_back({i, op.start_ns - process.start_ns, process.end_ns - process.start_ns,
                        SplitOf(trace, ops.CallOf(ops.FirstOf(i)), context_calls[i], process.start_ns, op.start_ns),
                        ops.WindowOf(i).DurationNs()});
  }
  std::ranges::stable_sort(startups, std::greater(), &Startup::total_ns);
  return startups;
}

Split SumOf(const std::vector<Startup>& startups) {
  Split sum{};
  for (const Startup& startup : startups) {
    for (size_t i = 0; i < kParts; ++i) sum[i] += startup.split[i];
  }
  return sum;
}

int64_t Total(const Split& split) {
  int64_t sum_ns = 0;
  for (const int64_t ns : split) sum_ns += ns;
  return sum_ns;
}

Table PartTable(const std::vector<Startup>& startups) {
  Table table{"startup",
              "Start-up breakdown",
              {{"percent", "Share", Unit::kPercent, false},
               {"time_ns", "Time", Unit::kNs, false},
               {"what", "Activity", Unit::kText, false}},
              {},
              "Time from the start of the tracer in a process to its first GPU operation, by activity of the thread "
              "that launched that operation.",
              RowsOfRanks::kAddUp};
  if (startups.size() > 1) {
    table.note += " Summed over " + CountOf(static_cast<int64_t>(startups.size()), "process", "processes") + ".";
  }
  const Split sum = SumOf(startups);
  for (size_t i = 0; i < kParts; ++i) {
    if (sum[i] > 0) table.rows.push_back({PercentOf(sum[i], Total(sum)), sum[i], std::string(kPartNames[i])});
  }
  SortAndCut(&table, 1, 2, 0);
  return table;
}

Table ProcessTable(const Trace& trace, const std::vector<Startup>& startups, uint32_t max_rows) {
  Table table{"startup_processes",
              "Start-up by process",
              {{"total_ns", "Start-up", Unit::kNs, false},
               {"percent", "% of lifetime", Unit::kPercent, false},
               {"own_ns", "Host code", Unit::kNs, false},
               {"context_ns", "Context", Unit::kNs, false},
               {"loading_ns", "Loading", Unit::kNs, false, "loading modules and kernels, and compilation"},
               {"pid", "Process", Unit::kCount, false, ColumnRole::kName},
               {"name", "Name", Unit::kText, false}},
              {},
              "Time to the first GPU operation."};
  for (const Startup& s : startups) {
    const Process& process = trace.processes[s.process];
    table.rows.push_back({s.total_ns, PercentOf(s.total_ns, s.life_ns),
                          At(s.split, Part::kBefore) + At(s.split, Part::kBetween), At(s.split, Part::kContext),
                          s.LoadingNs(), int64_t{process.pid}, std::string(trace.Text(process.name))});
  }
  CutRows(&table, max_rows);
  return table;
}

// ---- first launches ----

struct FirstLaunch {
  int64_t first_ns = 0;  // in the process where it took longest
  double median_ns = 0;  // of all launches
  int64_t extra_ns = 0;  // what first launches took more than the median, summed over the processes
};

// By kernel.
std::vector<FirstLaunch> MeasureFirstLaunches(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const KernelLaunches& launches = input.shared().kernel_launches();
  std::vector<FirstLaunch> result(input.shared().kernels().size());
  for (uint32_t i = 0; i < result.size(); ++i) result[i].median_ns = launches.CallsOf(i).median;
  for (uint32_t process = 0; process < trace.processes.size(); ++process) {
    for (uint32_t i = 0; i < result.size(); ++i) {
      const uint32_t call = launches.FirstCall(process, i);
      if (call == kNone) continue;
      const int64_t first_ns = trace.api_calls[call].DurationNs();
      result[i].first_ns = std::max(result[i].first_ns, first_ns);
      result[i].extra_ns += std::max<int64_t>(first_ns - static_cast<int64_t>(result[i].median_ns), 0);
    }
  }
  return result;
}

Table FirstLaunchTable(const KernelGroups& kernels, const std::vector<FirstLaunch>& launches, uint32_t max_rows) {
  Table table{
      "first_launches",
      "First-launch overhead",
      {{"extra_ns", "Extra", Unit::kNs, false,
        "first launch call of a kernel minus the median of its launch calls; usually the cost of loading the kernel"},
       {"first_ns", "First call", Unit::kNs, false},
       {"median_ns", "Median call", Unit::kNs, false, ColumnRole::kMedian},
       {"kernel", "Kernel", Unit::kText, false}},
      {},
      ""};
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    if (launches[i].extra_ns == 0) continue;
    table.rows.push_back({launches[i].extra_ns, launches[i].first_ns, launches[i].median_ns, kernels.Name(i)});
  }
  SortAndCut(&table, 0, 3, max_rows);
  return table;
}

// ---- the just-in-time compiler ----

struct JitSum {
  int64_t count = 0;
  SaturatingSum time_ns, bytes;
};
constexpr size_t kJitOperations = 4;
constexpr std::string_view kJitNames[kJitOperations] = {"other", "cache load", "cache store", "compile"};
using JitSums = std::array<JitSum, kJitOperations>;

JitSums SumJits(const Trace& trace) {
  JitSums sums;
  for (const Jit& jit : trace.jits) {
    JitSum& sum = sums[jit.operation < kJitOperations ? jit.operation : 0];
    ++sum.count;
    sum.time_ns += jit.end_ns - jit.start_ns;
    sum.bytes += static_cast<int64_t>(jit.cache_bytes);
  }
  return sums;
}

Table JitTable(const JitSums& sums) {
  Table table{"jit",
              "JIT compilation",
              {{"time_ns", "Time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Code", Unit::kBytes, false},
               {"operation", "Operation", Unit::kText, false}},
              {},
              "Whole trace. Code compiled at run time was not built for this GPU.",
              RowsOfRanks::kAddUp};
  for (size_t i = 0; i < kJitOperations; ++i) {
    if (sums[i].count == 0) continue;
    table.rows.push_back({sums[i].time_ns, sums[i].count, sums[i].bytes, std::string(kJitNames[i])});
  }
  SortAndCut(&table, 0, 3, 0);
  return table;
}

// ---- findings ----

std::string LargestParts(const Split& split, size_t count) {
  std::array<size_t, kParts> order{};
  for (size_t i = 0; i < kParts; ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return split[a] > split[b]; });
  std::string text;
  for (size_t i = 0; i < count && split[order[i]] > 0; ++i) {
    text += (i == 0 ? "" : ", ") + FormatNs(split[order[i]]) + " " + std::string(kPartNames[order[i]]);
  }
  return text;
}

// What the GPU does hardly shows in the run.
bool IsNothingElse(const Startup& only, bool has_few_operations) {
  // A first launch creates the context and loads the kernels where no call before it did.
  const int64_t cuda_ns = At(only.split, Part::kContext) + At(only.split, Part::kLaunch) + only.LoadingNs();
  const bool is_hardly_any = has_few_operations && PercentOf(only.work_ns, only.life_ns) < kWorkPercentOfARun;
  // Captures of other tools may lack the calls that a start is made of.
  if (cuda_ns < kStartWorthAFindingNs) return is_hardly_any && only.total_ns >= kSlowWorthAFindingNs;
  if (has_few_operations && kTimesOfTheWork * only.work_ns < cuda_ns) return true;
  // A host that goes on for long after many operations may be another program's business, as in a benchmark.
  const bool is_hidden = has_few_operations || PercentOf(only.total_ns, only.life_ns) >= kSlowPercentWorthAFinding;
  return is_hidden && PercentOf(only.work_ns, only.life_ns) < kWorkPercentOfARun;
}

// Of each process that ran on a GPU, as of the ranks of one program.
bool AreNothingElse(const std::vector<Startup>& startups, size_t operations) {
  const bool have_few_operations = operations <= kFewOperations * startups.size();
  return std::ranges::all_of(startups, [&](const Startup& only) { return IsNothingElse(only, have_few_operations); });
}

// `who`: the process with most GPU work, of which `only` tells.
Finding StartUpAlone(const Startup& only, const std::string& who, size_t processes) {
  Finding finding = NewFinding("startup.only");
  const std::string others =
      processes == 1 ? " spans "
                     : " and " + CountOf(static_cast<int64_t>(processes - 1), "more process", "more processes") +
                           " spans at most ";
  // A host that checks the results for longer than it prepared them is no start-up.
  const bool is_mostly_after = only.AfterNs() > only.total_ns;
  finding.message = std::string(is_mostly_after ? "The GPU hardly shows in the run" : "The run is start-up") +
                    ": the GPU work of " + InMessage(who) + others +
                    FormatPercent(PercentOf(only.work_ns, only.life_ns)) + " of it, " + FormatNs(only.work_ns) +
                    " of " + FormatNs(only.life_ns);
  if (is_mostly_after) finding.evidence.push_back("The host went on for " + FormatNs(only.AfterNs()) + " after it");
  finding.evidence.push_back("Largest parts before it: " + LargestParts(only.split, 3));
  finding.subject.process = who;
  return finding;
}

void AddFindings(const Trace& trace, const std::vector<Startup>& startups, std::vector<Finding>* findings) {
  if (startups.empty()) return;
  const auto& loading = *std::ranges::max_element(
      startups, [](const Startup& a, const Startup& b) { return a.LoadingNs() < b.LoadingNs(); });
  const auto who = [&](const Startup& s) {
    const Process& process = trace.processes[s.process];
    const std::string_view name = trace.Text(process.name);
    return std::string(name.empty() ? "the process" : name) + " (" + std::to_string(process.pid) + ")";
  };
  const double load_percent = PercentOf(loading.LoadingNs(), loading.life_ns);
  if (loading.LoadingNs() >= kLoadWorthAFindingNs && load_percent >= kLoadPercentWorthAFinding) {
    const int64_t compile_ns = At(loading.split, Part::kCompile);
    Finding finding = NewFinding("startup.load", load_percent);
    finding.message = InMessage(who(loading)) + " spent " + FormatPercent(load_percent) + " of its lifetime (" +
                      FormatNs(loading.LoadingNs()) + ") loading and compiling code before its first GPU operation";
    if (compile_ns > 0) finding.evidence.push_back("Compilation took " + FormatNs(compile_ns));
    if (compile_ns * 2 > loading.LoadingNs()) {
      finding.advice =
          "Build for this GPU's architecture so that nothing is compiled at run time, or keep the JIT cache between "
          "runs (CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE).";
    }
    finding.gain_ns = loading.LoadingNs();
    finding.basis = "loading and compilation time of the thread that launched first";
    finding.subject.process = who(loading);
    findings->push_back(std::move(finding));
  }
  if (AreNothingElse(startups, trace.ops.size())) {
    const auto& most = *std::ranges::max_element(startups, {}, &Startup::work_ns);
    findings->push_back(StartUpAlone(most, who(most), startups.size()));
    return;
  }
  const Startup& slow = startups.front();
  if (slow.total_ns >= kSlowWorthAFindingNs && PercentOf(slow.total_ns, slow.life_ns) >= kSlowPercentWorthAFinding) {
    Finding finding = NewFinding("startup.slow");
    finding.message = InMessage(who(slow)) + " took " + FormatPercent(PercentOf(slow.total_ns, slow.life_ns)) +
                      " of its lifetime (" + FormatNs(slow.total_ns) + ") to reach its first GPU operation";
    finding.evidence.push_back("Largest parts: " + LargestParts(slow.split, 3));
    finding.subject.process = who(slow);
    findings->push_back(std::move(finding));
  }
}

void AddMetrics(const std::vector<Startup>& startups, const JitSums& jits, int64_t first_launch_ns,
                AnalysisResult* result) {
  const Split sum = SumOf(startups);
  AddMetric(result, "startup.longest_ns", startups.empty() ? 0 : startups.front().total_ns);
  AddMetric(result, "startup.own_ns", At(sum, Part::kBefore) + At(sum, Part::kBetween));
  AddMetric(result, "startup.context_ns", At(sum, Part::kContext));
  AddMetric(result, "startup.load_ns", At(sum, Part::kModule) + At(sum, Part::kLazy));
  AddMetric(result, "startup.compile_ns", At(sum, Part::kCompile) + At(sum, Part::kCodeCache));
  AddMetric(result, "startup.profiler_ns", At(sum, Part::kProfiler));
  AddMetric(result, "startup.first_launch_ns", first_launch_ns);
  AddMetric(result, "jit.compiles", jits[3].count);
  AddMetric(result, "jit.compile_ns", jits[3].time_ns);
}

}  // namespace

AnalysisResult RunStartup(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const std::vector<Startup> startups = Measure(input);
  AddFindings(trace, startups, &result.findings);
  if (options.is_brief && result.findings.empty()) return result;  // all tables are details then
  const KernelGroups& kernels = input.shared().kernels();
  const std::vector<FirstLaunch> launches = MeasureFirstLaunches(input);
  const JitSums jits = SumJits(trace);
  int64_t first_launch_ns = 0;
  for (const FirstLaunch& launch : launches) first_launch_ns += launch.extra_ns;
  AddMetrics(startups, jits, first_launch_ns, &result);
  result.tables.push_back(PartTable(startups));
  result.tables.push_back(ProcessTable(trace, startups, options.max_rows));
  result.tables.push_back(FirstLaunchTable(kernels, launches, options.max_rows));
  result.tables.push_back(JitTable(jits));
  for (Table& table : result.tables) table.is_detail = result.findings.empty();
  if (startups.size() == 1) result.tables[1].is_detail = true;
  return result;
}

}  // namespace gprof
