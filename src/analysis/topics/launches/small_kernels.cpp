// Kernels so short that launching them costs as much as they do, and chains of them that repeat: candidates for CUDA
// graphs and for fusing.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/length_classes.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/launches/chains.h"
#include "base/demangle.h"
#include "base/saturate.h"
#include "base/short_names.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentWorthAFinding = 5;        // of the window
constexpr double kSmallPercentWorthAFinding = 50;  // of the kernel time

struct Length {
  int64_t below_ns;
  const char* name;
};
constexpr Length kLengths[] = {{1'000, "below 1 us"},       {5'000, "1 to 5 us"},      {10'000, "5 to 10 us"},
                               {20'000, "10 to 20 us"},     {100'000, "20 to 100 us"}, {1'000'000, "100 us to 1 ms"},
                               {INT64_MAX, "1 ms and more"}};
constexpr size_t kSmallLengths = 3;  // those below 10 us

constexpr LengthClasses<std::size(kLengths)> kClasses([] {
  std::array<int64_t, std::size(kLengths) - 1> below_ns{};
  for (size_t i = 0; i < below_ns.size(); ++i) below_ns[i] = kLengths[i].below_ns;
  return below_ns;
}());

struct Kernels {
  int64_t count = 0;
  SaturatingSum time_ns;
  int64_t idle_ns = 0;  // gaps before them that launching may account for
  void Add(const Kernels& other) {
    count += other.count;
    time_ns += other.time_ns;
    idle_ns += other.idle_ns;
  }
};
using Histogram = std::array<Kernels, std::size(kLengths)>;

// Of all kernels. What chains are looked for in is made on the way.
Histogram Measure(const AnalysisInput& input, SymbolNumbers* numbers) {
  Histogram histogram{};
  GapsBefore gaps(input);
  for (const Operation op : OperationsOf(input.trace())) {
    numbers->Add(op.kind_number());
    if (op.shared().kind != OpKind::kKernel) continue;
    Kernels& kernels = histogram[kClasses.Of(op.duration_ns())];
    ++kernels.count;
    kernels.time_ns += op.duration_ns();
    const int64_t gap_ns = gaps.GapNs(op.index());
    if (gap_ns <= kLaunchGapAtMostNs) kernels.idle_ns += gap_ns;
  }
  return histogram;
}

Kernels Sum(const Histogram& histogram, size_t lengths) {
  Kernels sum;
  for (size_t i = 0; i < lengths; ++i) sum.Add(histogram[i]);
  return sum;
}

Table LengthTable(const Histogram& histogram) {
  Table table{"kernel_lengths",
              "Kernels by length",
              {{"length", "Length", Unit::kText, false},
               {"percent", "Time (%)", Unit::kPercent, false, "of total kernel time"},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Kernels", Unit::kCount, false},
               {"count_percent", "Share", Unit::kPercent, false, ColumnRole::kShare, "of all kernels", "count"},
               {"idle_before_ns", "Idle before", Unit::kNs, false,
                "gaps of up to 50 us after warm-up that these kernels ended"}},
              {},
              "",
              RowsOfRanks::kAddUpInOrder};
  const Kernels all = Sum(histogram, histogram.size());
  for (size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i].count == 0) continue;
    table.rows.push_back({std::string(kLengths[i].name), PercentOf(histogram[i].time_ns, all.time_ns),
                          histogram[i].time_ns, histogram[i].count, PercentOf(histogram[i].count, all.count),
                          histogram[i].idle_ns});
  }
  return table;
}

std::string NamesOf(const Trace& trace, const Chain& chain, size_t shown) {
  std::vector<std::string> names;
  for (size_t i = 0; i < chain.operations.size() && i < shown; ++i) {
    names.push_back(OpName(trace, trace.ops[chain.operations[i]]));
  }
  const std::string text = Joined(BriefNames(names));
  return chain.period > shown ? text + " and " + FormatCount(static_cast<int64_t>(chain.period - shown)) + " more"
                              : text;
}

std::string PathOf(const Trace& trace, const Chain& chain) {
  const uint32_t call = OutermostCall(trace, trace.ops[chain.operations.front()].api);
  const uint32_t range = call == kNone ? kNone : trace.api_calls[call].range;
  return PathName(trace, range == kNone ? NameId{} : trace.ranges[range].path);
}

Table ChainTable(const Trace& trace, const std::vector<Chain>& chains, uint32_t max_rows) {
  Table table{"kernel_chains",
              "Repeated chains of operations",
              {{"idle_ns", "Idle within", Unit::kNs, false,
                "GPU idle gaps of up to 50 us after warm-up between operations of one repetition"},
               {"busy_ns", "Running", Unit::kNs, false},
               {"repetitions", "Repetitions", Unit::kCount, false},
               {"operations", "Operations", Unit::kCount, false},
               {"kernels", "Kernels", Unit::kCount, true},
               {"runs", "Runs", Unit::kCount, true},
               {"stream", "Stream", Unit::kText, true},
               {"path", "NVTX range", Unit::kText, true},
               {"chain", "Chain", Unit::kText, false}},
              {},
              "The same kernels with the same launch configurations, at least 4 times in a row in one stream."};
  for (const Chain& chain : chains) {
    table.rows.push_back({chain.idle_ns, chain.busy_ns, chain.repetitions, static_cast<int64_t>(chain.period),
                          static_cast<int64_t>(chain.kernels), chain.runs, StreamName(trace, chain.stream),
                          PathOf(trace, chain), NamesOf(trace, chain, 3)});
  }
  CutRows(&table, max_rows);
  return table;
}

// How often the thread that launches the chain waits for the GPU, or copies from it and waits for that, meanwhile: the
// larger number, as many programs do one for the other.
int64_t ReadsDuring(const AnalysisInput& input, const Chain& chain) {
  const Trace& trace = input.trace();
  const uint32_t launch = trace.ops[chain.operations.front()].api;
  if (launch == kNone) return 0;
  const auto is_meanwhile = [&](const ApiCall& call) {
    return call.thread == trace.api_calls[launch].thread && call.end_ns > chain.time.start_ns &&
           call.start_ns < chain.time.end_ns;
  };
  int64_t waits = 0, copies = 0;
  for (const uint32_t i : input.shared().calls().rare()) {
    const ApiCall& call = trace.api_calls[i];
    waits += call.api_class == ApiClass::kSync && is_meanwhile(call);
  }
  const std::vector<uint8_t>& blocking_copies = input.shared().host().blocking_copies;
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel || DirectionOf(op) != Direction::kD2h) continue;
    const uint32_t call = OutermostCall(trace, op.api);
    copies += call != kNone && blocking_copies[call] != 0 && is_meanwhile(trace.api_calls[call]);
  }
  return std::max(waits, copies);
}

// A graph that ends with a result that the host waits for saves launches, but not the wait.
void AddReads(const AnalysisInput& input, const Chain& chain, Finding* finding) {
  const int64_t reads = ReadsDuring(input, chain);
  if (reads + chain.runs < chain.repetitions) return;
  finding->evidence.push_back("The host waits for the GPU in each repetition (" + CountOf(reads, "time") + ")");
  finding->advice =
      "The host reads a result or waits in each repetition, so that it cannot launch the next one meanwhile: keep the "
      "result on the GPU and look at it every 10th time or after the loop (.item(), convergence tests, printing). "
      "Then capture several repetitions as one CUDA graph.";
}

Finding ChainFinding(const AnalysisInput& input, const Chain& chain) {
  const Trace& trace = input.trace();
  const int64_t window_ns = input.shared().window_ns();
  Finding finding = NewFinding("kernels.chain", PercentOf(chain.idle_ns, window_ns));
  const std::string stream = InMessage(StreamName(trace, chain.stream)), times = CountOf(chain.repetitions, "time");
  finding.message =
      "GPU idle for " + ShareOfTime(chain.idle_ns, window_ns, "") +
      (chain.period == 1
           ? " before launches of " + NamesOf(trace, chain, 1) + ", which ran " + times + " in a row in " + stream
           : " within a chain of " + FormatCount(chain.period) + " operations, which ran " + times + " in " + stream);
  finding.evidence.push_back((chain.period == 1 ? "" : NamesOf(trace, chain, 3) + ": ") + FormatNs(chain.busy_ns) +
                             " of work");
  finding.gain_ns = chain.idle_ns;
  finding.basis = "idle gaps of up to 50 us between operations of one repetition";
  if (chain.period == 1) {
    finding.advice = "Give each launch more work, or capture many launches as one CUDA graph.";
    finding.basis = "idle gaps of up to 50 us before each launch";
  }
  AddReads(input, chain, &finding);
  finding.subject.stream = StreamName(trace, chain.stream);
  return finding;
}

// Of the small kernels: those are launched at once already.
bool MostAreInGraphs(const AnalysisInput& input) {
  if (input.shared().ops().graph_ops().empty()) return false;
  const Trace& trace = input.trace();
  constexpr int64_t kSmallNs = 10'000;
  int64_t balance = 0;
  for (const GpuOp& op : trace.ops) {
    if (op.kind == OpKind::kKernel && op.DurationNs() < kSmallNs)
      balance += op.graph != 0 || op.graph_node != 0 ? 1 : -1;
  }
  return balance > 0;
}

bool IsWorthAFinding(const AnalysisInput& input, int64_t idle_ns) {
  return PercentOf(idle_ns, input.shared().window_ns()) >= kPercentWorthAFinding;
}

void AddFindings(const AnalysisInput& input, const Histogram& histogram, const std::vector<Chain>& chains,
                 std::vector<Finding>* findings) {
  // Copies are what their program waits for, as where it reads numbers one by one: a graph would not change that.
  const auto chain = std::ranges::find_if(chains, [](const Chain& c) { return 2 * c.kernels >= c.period; });
  if (chain != chains.end() && IsWorthAFinding(input, chain->idle_ns)) {
    findings->push_back(ChainFinding(input, *chain));
    return;  // what the small kernels cost is in it as a rule
  }
  const Kernels small = Sum(histogram, kSmallLengths), all = Sum(histogram, histogram.size());
  if (PercentOf(small.time_ns, all.time_ns) < kSmallPercentWorthAFinding || !IsWorthAFinding(input, small.idle_ns)) {
    return;
  }
  Finding finding = NewFinding("kernels.small", PercentOf(small.idle_ns, input.shared().window_ns()));
  finding.message = FormatCount(small.count) + " of " + CountOf(all.count, "kernel") + " ran for less than 10 us, " +
                    FormatPercent(PercentOf(small.time_ns, all.time_ns)) + " of total kernel time, with " +
                    FormatNs(small.idle_ns) + " idle before them";
  if (MostAreInGraphs(input)) {
    finding.advice = "Fuse kernels, or give each more work: CUDA graph nodes have gaps between them as well.";
  }
  finding.gain_ns = small.idle_ns;
  finding.basis = "idle gaps of up to 50 us before those kernels";
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunSmallKernels(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const int64_t idle_of_all_ns = input.shared().window_ns() - input.shared().busy_ns();
  // Findings are about idle time, and without any all tables are details.
  if (options.is_brief && !IsWorthAFinding(input, idle_of_all_ns)) return {};
  SymbolNumbers numbers(input);
  const Histogram histogram = Measure(input, &numbers);
  const std::vector<Chain> chains = FindChains(input, numbers);
  AnalysisResult result;
  const Kernels small = Sum(histogram, kSmallLengths);
  int64_t idle_ns = 0, operations = 0;
  for (const Chain& chain : chains) {
    idle_ns += chain.idle_ns;
    operations += chain.repetitions * chain.period;
  }
  AddMetric(&result, "kernels.small_count", small.count);
  AddMetric(&result, "kernels.small_ns", small.time_ns);
  AddMetric(&result, "kernels.small_percent", PercentOf(small.time_ns, Sum(histogram, histogram.size()).time_ns));
  AddMetric(&result, "chains.count", chains.size());
  AddMetric(&result, "chains.operations", operations);
  AddMetric(&result, "chains.idle_ns", idle_ns);
  AddFindings(input, histogram, chains, &result.findings);
  result.tables.push_back(LengthTable(histogram));
  result.tables.push_back(ChainTable(trace, chains, options.max_rows));
  for (Table& table : result.tables) table.is_detail = result.findings.empty();
  return result;
}

}  // namespace gprof
