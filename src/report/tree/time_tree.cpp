#include "report/tree/time_tree.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/idle_parts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operators/module_tree.h"
#include "analysis/facts/operators/operators.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "base/short_names.h"

namespace gprof {
namespace {

class TreeMaker {
 public:
  explicit TreeMaker(const AnalysisInput& input)
      : input_(input), trace_(input.trace()), operators_(input), modules_(input, steps_) {}

  TimeTree Make() {
    for (const Operation op : OperationsOf(trace_)) AddOperation(op);
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) AddIdle(device);
    return std::move(tree_);
  }

 private:
  void Add(std::span<TimeNode* const> path, int64_t ns) {
    for (TimeNode* node : path) node->ns += ns, ++node->count;
  }

  // Operations of one kind in one range are at one place, which is looked up once.
  void AddOperation(const Operation& op) {
    const uint32_t call = input_.shared().ops().CallOf(op);
    const uint32_t range = RangeOfWork(trace_, op, call), module = modules_.ModuleOf(input_, op, call);
    std::vector<TimeNode*>& path = paths_[{range, module, op.kind_number()}];
    if (path.empty()) path = PathOf(range, module, op);
    Add(path, op.duration_ns());
  }

  std::vector<TimeNode*> PathOf(uint32_t range, uint32_t module, const Operation& op) {
    std::vector<std::string> names = ModulesAround(module);
    if (!names.empty() && range != kNone && modules_.is_backward[range]) names.push_back("backward");
    const uint32_t around = range == kNone || operators_.empty() ? kNone : operators_.OperatorAround(trace_, range);
    if (around != kNone) names.push_back(operators_.sums[operators_.of_ranges[around]].name);
    if (names.empty() && range != kNone) names.push_back(PathName(trace_, trace_.ranges[range].path));
    names.push_back(BriefName(OpName(trace_, trace_.ops[op.index()])));
    return NodesOf(&tree_.gpu, names);
  }

  // Outermost first.
  std::vector<std::string> ModulesAround(uint32_t module) const {
    std::vector<std::string> names;
    for (uint32_t m = module; m != kNone; m = modules_.modules[m].parent) {
      const ModuleSum& sum = modules_.modules[m];
      names.push_back(sum.label + (sum.type.empty() ? "" : " (" + sum.type + ")"));
    }
    std::ranges::reverse(names);
    return names;
  }

  static std::vector<TimeNode*> NodesOf(TimeNode* root, const std::vector<std::string>& names) {
    std::vector<TimeNode*> nodes = {root};
    for (const std::string& name : names) nodes.push_back(&nodes.back()->children[name]);
    return nodes;
  }

  void AddIdle(uint32_t device) {
    ForEachExplainedGap(input_, device, [&](const Gap& gap, std::span<const Part> parts) {
      const uint32_t next = gap.after == kNone ? kNone : input_.shared().ops().CallOf(gap.after);
      ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
        const uint32_t call = part.call() != kNone ? part.call() : next;
        const std::vector<std::string> names = {std::string(InfoOf(part.cause).name), PlaceOfCall(call)};
        Add(NodesOf(&tree_.idle, names), end_ns - start_ns);
      });
    });
  }

  // The most exact of what is known.
  std::string PlaceOfCall(uint32_t call) const {
    if (call == kNone) return "(no call)";
    const PythonLines& lines = input_.shared().python_lines();
    const uint32_t line = lines.HasCalls() ? lines.LineOfCall(call) : kNone;
    if (line != kNone) return NameOf(trace_, lines.all()[line]);
    const uint32_t range = Call(trace_.api_calls, call).range();
    const std::string function = FunctionName(trace_, call);
    return range == kNone ? function : PathName(trace_, trace_.ranges[range].path) + ": " + function;
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const StepWindows steps_;
  const Operators operators_;
  const ModuleTree modules_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<TimeNode*>> paths_;  // by range, module and kind
  TimeTree tree_;
};

}  // namespace

TimeTree TimeTreeOf(const AnalysisInput& input) { return TreeMaker(input).Make(); }

}  // namespace gprof
