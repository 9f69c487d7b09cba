#include "html/page/flame_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/places/running_samples.h"
#include "base/demangle.h"
#include "base/json_style.h"
#include "export/stacks/sampled_frames.h"
#include "report/tree/time_tree.h"

namespace gprof {
namespace {

// What is less than this part of all is too narrow to be seen.
constexpr int64_t kNarrowest = 2000;

class Graphs {
 public:
  // Left out where nothing is in it.
  void Add(std::string_view measure, std::string_view by, std::string_view unit, const TimeNode& root) {
    if (root.ns <= 0) return;
    names_ = Json::array(), nodes_ = Json::array(), numbers_.clear(), least_ = root.ns / kNarrowest;
    AddChildren(root, -1);
    graphs_.push_back({{"measure", measure}, {"by", by}, {"unit", unit}, {"names", names_}, {"nodes", nodes_}});
  }
  std::string Text() const { return graphs_.empty() ? "" : CompactText(graphs_); }

 private:
  void AddChildren(const TimeNode& node, int64_t parent) {
    for (const auto& [name, child] : node.children) {
      if (child.ns <= least_) continue;
      const auto [known, is_new] = numbers_.try_emplace(name, names_.size());
      if (is_new) names_.push_back(name);
      const auto place = static_cast<int64_t>(nodes_.size());
      nodes_.push_back({parent, known->second, child.ns});
      AddChildren(child, place);
    }
  }

  Json graphs_ = Json::array(), names_, nodes_;
  std::map<std::string, std::size_t> numbers_;
  int64_t least_ = 0;
};

// Stacks that lack their outer part would begin anywhere; they stand together.
bool IsCut(const Trace& trace, uint32_t stack) {
  bool is_cut = stack == kNone;
  for (; stack != kNone; stack = trace.stacks[stack].parent) is_cut = trace.stacks[stack].is_cut;
  return is_cut;
}

std::vector<std::string> FunctionsOn(const Trace& trace, uint32_t stack) {
  std::vector<PythonFrame> functions;
  const std::vector<uint32_t> frames = FramesOf(trace, stack);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const std::vector<FrameLine> lines = LinesOf(trace, *frame);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line)
      functions.push_back({ShortName(line->name), line->file});
  }
  std::vector<std::string> names = FoldedFrames(functions);
  if (IsCut(trace, stack)) names.insert(names.begin(), "(cut stacks)");
  return names;
}

// Of all that ran, and of those while a GPU was idle because of the host.
void AddSamples(const AnalysisInput& input, Graphs* graphs) {
  const Trace& trace = input.trace();
  if (trace.cpu_samples.empty()) return;
  std::map<uint32_t, std::pair<int64_t, int64_t>> stacks;  // samples with one stack are counted first
  const RunningSamples counted(trace);
  for (const CpuSample& sample : trace.cpu_samples) {
    if (sample.thread != kNone && counted.Has(sample)) ++stacks[sample.stack].first;
  }
  for (const uint32_t sample : input.causes().of_host(input).samples) ++stacks[trace.cpu_samples[sample].stack].second;
  TimeNode all, idle;
  for (const auto& [stack, counts] : stacks) {
    const std::vector<std::string> path = FunctionsOn(trace, stack);
    all.Add(path, counts.first);
    idle.Add(path, counts.second);
  }
  graphs->Add("CPU samples", "stack", "samples", all);
  graphs->Add("CPU samples while the GPU was idle", "stack", "samples", idle);
}

void AddTrees(const AnalysisInput& input, Graphs* graphs) {
  std::vector<std::pair<std::string_view, TimeTree>> trees;
  for (const TreeBy by : KnownTrees(input)) {
    const std::string_view name = by == TreeBy::kStack    ? "Python stack"
                                  : by == TreeBy::kModule ? "module and operator"
                                                          : "NVTX range";
    trees.emplace_back(name, TimeTreeOf(input, by));
  }
  for (const auto& [by, tree] : trees) graphs->Add("GPU time", by, "ns", tree.gpu);
  graphs->Add("GPU idle time", "cause", "ns", IdleByCause(input));
  for (const auto& [by, tree] : trees) graphs->Add("GPU idle time", by, "ns", tree.idle);
}

// Where it is, as exactly as it says; empty where it is about the whole run.
std::vector<std::string> PathOf(const Finding& finding) {
  const Subject& subject = finding.subject;
  for (const std::string* place :
       {&subject.line, &subject.range, &subject.kernel, &subject.function, &subject.direction, &subject.stream,
        &subject.thread, &subject.device, &subject.process}) {
    if (!place->empty()) return {finding.id, *place};
  }
  return {finding.id};
}

// The time that no finding before has claimed, so that all of it adds up.
void AddSavings(const Report& report, Graphs* graphs) {
  TimeNode savings;
  for (const RankedFinding& ranked : RankedFindings(report)) {
    int64_t claimed_ns = 0;
    for (const auto& [metric, ns] : ranked.claims) claimed_ns += ns;
    if (claimed_ns > 0) savings.Add(PathOf(*ranked.finding), claimed_ns);
  }
  graphs->Add("Potential saving", "finding", "ns", savings);
}

}  // namespace

std::string FlamesJson(const Report& report) {
  Graphs graphs;
  AddTrees(*report.records, &graphs);
  AddSavings(report, &graphs);
  AddSamples(*report.records, &graphs);
  return graphs.Text();
}

}  // namespace gprof
