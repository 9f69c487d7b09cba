// CUDA graphs: what each launch of them cost and did, who built them, and what making them took.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/recording/base_tables.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/launches/graph_layers.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int64_t kInstantiationsWorthAFinding = 10;
constexpr double kPercentWorthAFinding = 5;  // of the window
constexpr int64_t kLaunchOfAReadyGraphNs = 10'000;

// One launch of a graph: a record of the whole, or its nodes one by one. Of what ran in bodies of conditional nodes it
// may not be known which launch it is of: all of that is one then.
struct Launch {
  uint32_t process = kNone, graph = 0;
  uint32_t call = kNone, device = kNone;
  int64_t start_ns = 0, end_ns = 0;
  SaturatingSum busy_ns;  // over the nodes
  int64_t nodes = 0;      // operations, 0 where the graph was recorded as a whole
  bool is_told_apart = true;
};

class Launches {
 public:
  Launches(const Trace& trace, const OpFacts& ops) {
    for (const uint32_t i : ops.graph_ops()) {
      const GpuOp& op = trace.ops[i];
      if (op.kind != OpKind::kGraph && op.graph == 0) continue;
      if (of_call_.empty()) of_call_.resize(trace.api_calls.size(), kNone);
      Launch& launch = Of(op, ops.CallOf(i));
      launch.start_ns = std::min(launch.start_ns, op.start_ns);
      launch.end_ns = std::max(launch.end_ns, op.end_ns);
      launch.busy_ns += op.DurationNs();
      launch.nodes += op.kind != OpKind::kGraph;
    }
    std::ranges::stable_sort(all_, [](const Launch& a, const Launch& b) {
      return std::tie(a.process, a.graph, a.start_ns) < std::tie(b.process, b.graph, b.start_ns);
    });
  }
  const std::vector<Launch>& all() const { return all_; }  // by process and graph, then start
  int64_t Count() const { return std::ranges::count_if(all_, IsToldApart); }
  bool HasLoose() const { return !std::ranges::all_of(all_, IsToldApart); }

 private:
  static bool IsToldApart(const Launch& launch) { return launch.is_told_apart; }

  Launch& Of(const GpuOp& op, uint32_t call) {
    // Without its call the correlation tells one launch from the next.
    const bool is_told_apart = call != kNone || op.correlation != 0;
    const uint32_t loose_graph = is_told_apart ? 0 : op.graph;
    uint32_t& index = call != kNone
                          ? of_call_[call]
                          : of_correlation_.try_emplace({op.process, loose_graph, op.correlation}, kNone).first->second;
    if (index == kNone) {
      index = static_cast<uint32_t>(all_.size());
      all_.push_back({op.process, op.graph, call, op.device, op.start_ns, op.end_ns, 0, 0, is_told_apart});
    }
    return all_[index];
  }

  std::vector<Launch> all_;
  std::vector<uint32_t> of_call_;  // index into all_
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t>
      of_correlation_;  // by process, graph where it has none, it
};

// The nodes of a graph whose making was recorded.
struct Built {
  int64_t nodes = 0;
  NameId path;           // NVTX range of the code that made the first one
  uint32_t api = kNone;  // the call that did
};

std::map<std::pair<uint32_t, uint32_t>, Built> ReadNodes(const Trace& trace) {
  std::map<std::pair<uint32_t, uint32_t>, Built> graphs;
  for (const GraphNode& node : trace.graph_nodes) {
    Built& built = graphs[{node.process, node.graph}];
    ++built.nodes;
    if (built.api != kNone || node.source == kNone) continue;
    const GraphNode& source = trace.graph_nodes[node.source];
    built.api = source.api;
    if (source.range != kNone) built.path = trace.ranges[source.range].path;
  }
  return graphs;
}

Table GraphTable(const Trace& trace, const Launches& launches, uint32_t max_rows) {
  Table table{"graphs",
              "CUDA graphs",
              {{"graph", "Graph", Unit::kText, false},
               {"pid", "Process", Unit::kCount, true, ColumnRole::kName},
               {"launches", "Launches", Unit::kCount, false},
               {"gpu_ns", "GPU time", Unit::kNs, false, "from the first to the last node of each launch"},
               {"gpu_median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
               {"busy_ns", "Node time", Unit::kNs, true},
               {"nodes", "Nodes", Unit::kCount, false},
               {"call_median_ns", "Call", Unit::kNs, false, ColumnRole::kMedian, "median duration of the launch call"},
               {"gap_median_ns", "Gap", Unit::kNs, false, ColumnRole::kMedian,
                "median from the end of one launch of the graph to the start of the next"},
               {"path", "Built in", Unit::kText, false},
               {"built_by", "Built by", Unit::kText, true}},
              {},
              ""};
  if (launches.HasLoose())
    AddToNote(&table, "Without launches: CUPTI does not say which of them ran the kernels in conditional nodes.");
  const auto built = ReadNodes(trace);
  const std::vector<Launch>& all = launches.all();
  for (size_t first = 0, last = 0; first < all.size(); first = last) {
    std::vector<int64_t> gpu_ns, call_ns, gap_ns;
    SaturatingSum busy_ns;
    int64_t nodes = 0;
    const Launch* before = nullptr;
    for (; last < all.size() && all[last].process == all[first].process && all[last].graph == all[first].graph;
         ++last) {
      const Launch& launch = all[last];
      busy_ns += launch.busy_ns;
      if (!launch.is_told_apart) continue;
      gpu_ns.push_back(launch.end_ns - launch.start_ns);
      if (launch.call != kNone) call_ns.push_back(trace.api_calls[launch.call].DurationNs());
      if (before != nullptr) gap_ns.push_back(std::max<int64_t>(launch.start_ns - before->end_ns, 0));
      nodes = std::max(nodes, launch.nodes);
      before = &launch;
    }
    const Statistics gpu = Summarize(gpu_ns), call = Summarize(call_ns), gap = Summarize(gap_ns);
    const auto median = [](const Statistics& s) { return s.count > 0 ? Cell(s.median) : Cell(); };
    const uint32_t process = all[first].process;
    const auto at = built.find({process, all[first].graph});
    if (at != built.end()) nodes = std::max(nodes, at->second.nodes);
    table.rows.push_back({"graph " + std::to_string(all[first].graph),
                          process == kNone ? Cell() : Cell(int64_t{trace.processes[process].pid}),
                          gpu.count > 0 ? Cell(gpu.count) : Cell(), gpu.count > 0 ? Cell(gpu.total) : Cell(),
                          median(gpu), busy_ns, nodes > 0 ? Cell(nodes) : Cell(), median(call), median(gap),
                          at == built.end() ? Cell() : Cell(PathName(trace, at->second.path)),
                          at == built.end() ? Cell() : Cell(FunctionName(trace, at->second.api))});
  }
  SortAndCut(&table, 3, 0, max_rows);
  return table;
}

// An import may not say what graphs did.
void AddNotRecorded(const AnalysisInput& input, std::vector<Finding>* findings) {
  const Trace& trace = input.trace();
  if (!trace.Lacks(Fact::kGraphWork) || trace.Lacks(Fact::kOperations)) return;
  int64_t launches = 0;
  for (const ApiCall& call : trace.api_calls) {
    launches += call.api_class == ApiClass::kGraphLaunch && call.parent == kNone;
  }
  Finding finding = NewFinding("graphs.not_recorded");
  finding.message = CountOf(launches, "launch", "launches") +
                    " of CUDA graphs whose work is not in the trace: GPU idle time is unknown";
  findings->push_back(std::move(finding));
}

// ---- making them ----

bool MakesGraphs(std::string_view function) {
  const bool is_about =
      function.find("Graph") != std::string_view::npos || function.find("Capture") != std::string_view::npos;
  return is_about && function.find("Graphics") == std::string_view::npos;
}

bool Instantiates(std::string_view function) { return function.find("GraphInstantiate") != std::string_view::npos; }

// From the first call that makes a graph, often by capturing, to the call that makes it ready.
struct Instantiation {
  uint32_t thread = kNone;
  Interval time;
};

struct Making {
  std::map<NameId, std::vector<int64_t>> durations_ns;  // by function
  std::vector<Instantiation> instantiations;
  int64_t instantiate_ns = 0, total_ns = 0;
};

// The outermost calls that make graphs, in order of the trace: few, of which most share their traits with no other
// call.
std::vector<uint32_t> CallsThatMakeGraphs(const Trace& trace, const CallFacts& calls) {
  std::vector<uint32_t> found;
  std::vector<uint8_t> is_wanted(trace.api_calls.TraitsCount(), 0);
  int64_t wanted = 0;
  for (uint32_t i = 0; i < is_wanted.size(); ++i) {
    const PackedCalls::Traits& traits = trace.api_calls.TraitsAt(i);
    const CallFacts::Sum& sum = calls.sums()[i];
    if (sum.count == 0 || traits.api_class == ApiClass::kGraphLaunch) continue;
    if (!MakesGraphs(trace.Text(traits.function))) continue;
    if (sum.count == 1 && sum.first != kNone) {
      found.push_back(sum.first);
    } else {
      is_wanted[i] = 1;
      wanted += sum.count;
    }
  }
  for (uint32_t i = 0; wanted > 0 && i < trace.api_calls.size(); ++i) {
    if (is_wanted[trace.api_calls.TraitsIndex(i)] == 0 || trace.api_calls.Parent(i) != kNone) continue;
    found.push_back(i);
    --wanted;
  }
  std::sort(found.begin(), found.end());
  return found;
}

Making ReadCalls(const Trace& trace, const CallFacts& calls) {
  Making making;
  std::map<uint32_t, int64_t> begun_ns;  // by thread, the first call for the next graph
  for (const uint32_t i : CallsThatMakeGraphs(trace, calls)) {
    const ApiCall& call = trace.api_calls[i];
    const std::string_view function = trace.Text(call.function);
    making.durations_ns[call.function].push_back(call.DurationNs());
    making.total_ns += call.DurationNs();
    if (function.find("Destroy") != std::string_view::npos) continue;
    const int64_t first_ns = begun_ns.try_emplace(call.thread, call.start_ns).first->second;
    if (!Instantiates(function)) continue;
    making.instantiations.push_back({call.thread, {first_ns, call.end_ns}});
    making.instantiate_ns += call.DurationNs();
    begun_ns.erase(call.thread);
  }
  return making;
}

Table CallTable(const Trace& trace, Making* making, const AnalysisOptions& options) {
  Table table{"graph_calls",      "CUDA graph creation", TimeColumns(), {}, "Percent of the time in these calls.",
              RowsOfRanks::kAddUp};
  table.columns.push_back({"name", "Function", Unit::kText, false});
  AddHistogramColumn(options, "median_ns", &table);
  for (auto& [function, durations] : making->durations_ns) {
    const Statistics times = Summarize(durations, SpreadFor(options));
    table.rows.push_back(TimeCells(times, making->total_ns));
    table.rows.back().emplace_back(std::string(trace.Text(function)));
    AddHistogramCell(options, times, &table.rows.back());
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  table.is_detail = true;  // the calls are in the table of all calls, too
  return table;
}

// How long GPUs were idle while graphs were made and launched for the first time, which takes longer than launching one
// that was launched before: what is saved by making each once.
int64_t IdleWhileMaking(const AnalysisInput& input, const Making& making, const Launches& launches) {
  const Trace& trace = input.trace();
  std::map<std::pair<uint32_t, int64_t>, const Launch*> by_call;  // thread and start of the call
  for (const Launch& launch : launches.all()) {
    if (launch.call == kNone || launch.device == kNone) continue;
    const ApiCall& call = trace.api_calls[launch.call];
    by_call[{call.thread, call.start_ns}] = &launch;
  }
  std::map<uint32_t, IdleWithin> idle;  // by device
  int64_t idle_ns = 0;
  for (const Instantiation& made : making.instantiations) {
    const auto first = by_call.lower_bound({made.thread, made.time.end_ns});
    if (first == by_call.end() || first->first.first != made.thread) continue;
    const Launch& launch = *first->second;
    const ApiCall& call = trace.api_calls[launch.call];
    IdleWithin& device = idle.try_emplace(launch.device, trace, input.shared().gaps(launch.device)).first->second;
    idle_ns += device.IdleNs(made.time.start_ns, made.time.end_ns);
    if (call.DurationNs() > kLaunchOfAReadyGraphNs) {
      idle_ns += device.IdleNs(call.start_ns + kLaunchOfAReadyGraphNs, call.end_ns);
    }
  }
  return idle_ns;
}

void AddFinding(const AnalysisInput& input, const Making& making, const Launches& launches,
                std::vector<Finding>* findings) {
  const auto instantiations = static_cast<int64_t>(making.instantiations.size());
  const int64_t count = launches.Count();
  if (launches.HasLoose()) return;  // how many launches there are is not known then
  // Graphs pay when each is launched many times.
  if (instantiations < kInstantiationsWorthAFinding || instantiations * 4 < count) return;
  const int64_t idle_ns = IdleWhileMaking(input, making, launches);
  const double percent = PercentOf(idle_ns, input.shared().window_ns());
  if (percent < kPercentWorthAFinding) return;
  Finding finding = NewFinding("graphs.instantiate", percent);
  finding.message = "GPU idle for " + ShareOfTime(idle_ns, input.shared().window_ns(), "") +
                    " while CUDA graphs were created and first launched: " + CountOf(instantiations, "instantiation") +
                    " for " + CountOf(count, "launch", "launches");
  finding.evidence.push_back("Instantiating them took the host " + FormatNs(making.instantiate_ns));
  finding.gain_ns = idle_ns;
  finding.basis = "this idle time: launching an existing graph takes about 10 us";
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunGraphs(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  AddNotRecorded(input, &result.findings);
  const Launches launches(trace, input.shared().ops());
  Making making = ReadCalls(trace, input.shared().calls());
  int64_t gpu_ns = 0, nodes = 0, distinct = 0;
  const Launch* last = nullptr;
  for (const Launch& launch : launches.all()) {
    gpu_ns += launch.is_told_apart ? launch.end_ns - launch.start_ns : 0;
    nodes += launch.nodes;
    distinct += last == nullptr || last->process != launch.process || last->graph != launch.graph;
    last = &launch;
  }
  AddMetric(&result, "graphs.runs", launches.Count());
  AddMetric(&result, "graphs.distinct", distinct);
  AddMetric(&result, "graphs.gpu_ns", gpu_ns);
  AddMetric(&result, "graphs.nodes", nodes);
  AddMetric(&result, "graphs.instantiations", making.instantiations.size());
  AddMetric(&result, "graphs.instantiate_ns", making.instantiate_ns);
  AddFinding(input, making, launches, &result.findings);
  result.tables.push_back(GraphTable(trace, launches, options.max_rows));
  AddGraphLayers(input, options.max_rows, &result);
  result.tables.push_back(CallTable(trace, &making, options));
  if (!trace.base_graphs.empty()) result.tables.push_back(BaseGraphTable(trace, options.max_rows));
  return result;
}

}  // namespace gprof
