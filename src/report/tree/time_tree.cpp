#include "report/tree/time_tree.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <span>
#include <string_view>
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
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::string_view kImport = "(import)";

bool IsImport(std::string_view file) { return file.find("importlib._bootstrap") != std::string_view::npos; }
bool IsStart(std::string_view file) { return file == "<frozen runpy>" || file.ends_with("/runpy.py"); }

// Calls f(part, call, ns): the call is that which the GPU waited for, kNone where it is not known.
template <class F>
void ForEachIdleWait(const AnalysisInput& input, uint32_t device, F&& f) {
  ForEachExplainedGap(input, device, [&](const Gap& gap, std::span<const Part> parts) {
    const uint32_t next = gap.after == kNone ? kNone : input.shared().ops().CallOf(gap.after);
    ForEachPartOf(gap, parts, [&](int64_t start_ns, int64_t end_ns, const Part& part) {
      f(part, part.call() != kNone ? part.call() : next, end_ns - start_ns);
    });
  });
}

// A line of Python where it is known, else a range and a function: the most exact of what is. Numbers, as there are far
// fewer places than calls.
struct CallPlace {
  uint32_t line = kNone;
  NameId path{}, function{};
  bool is_known = false, has_range = false;
  auto Key() const { return std::tuple(line, path.value, function.value, is_known, has_range); }
  friend bool operator<(const CallPlace& a, const CallPlace& b) { return a.Key() < b.Key(); }
};

CallPlace PlaceOfCall(const AnalysisInput& input, uint32_t call) {
  if (call == kNone) return {};
  const Trace& trace = input.trace();
  const PythonLines& lines = input.shared().python_lines();
  const uint32_t line = lines.HasCalls() ? lines.LineOfCall(call) : kNone;
  if (line != kNone) return {.line = line, .is_known = true};
  const Call made(trace.api_calls, call);
  CallPlace place{.function = made.shared().function, .is_known = true, .has_range = made.range() != kNone};
  if (place.has_range) place.path = trace.ranges[made.range()].path;
  return place;
}

std::string NameOf(const AnalysisInput& input, const CallPlace& place) {
  if (!place.is_known) return "(no call)";
  const Trace& trace = input.trace();
  if (place.line != kNone) return NameOf(trace, input.shared().python_lines().all()[place.line]);
  const std::string function(trace.Text(place.function));
  return place.has_range ? PathName(trace, place.path) + ": " + function : function;
}

// Of all at one place, which is named once.
struct Sum {
  int64_t ns = 0, count = 0;
  uint32_t first = 0;
  void Add(int64_t more_ns, uint32_t op) {
    if (count == 0) first = op;
    ns += more_ns, ++count;
  }
};

// A stack or a range, whichever the tree is by, and of a tree by modules the module: nodes of graphs may know theirs
// without a range.
struct WorkPlace {
  uint32_t place = kNone, module = kNone;
  friend auto operator<=>(const WorkPlace&, const WorkPlace&) = default;
};

class TreeMaker {
 public:
  TreeMaker(const AnalysisInput& input, TreeBy by) : input_(input), trace_(input.trace()), by_(by) {
    if (by == TreeBy::kModule) operators_.emplace(input), modules_.emplace(input, steps_);
    if (by != TreeBy::kStack) FindPlaces();
  }

  TimeTree Make() {
    for (const Operation op : OperationsOf(trace_)) {
      work_[{PlaceOfWork(op), op.kind_number()}].Add(op.duration_ns(), op.index());
    }
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) AddIdle(device);
    for (const auto& [key, sum] : work_) {
      std::vector<std::string> path = NamesOf(key.first);
      path.push_back(BriefName(OpName(trace_, trace_.ops[sum.first])));
      tree_.gpu.Add(path, sum.ns, sum.count);
    }
    for (const auto& [key, sum] : idle_) {
      std::vector<std::string> path = NamesOf(key.first);
      path.emplace_back(InfoOf(key.second).name);
      tree_.idle.Add(path, sum.ns, sum.count);
    }
    return std::move(tree_);
  }

 private:
  // The first range of those that have the same names. Callers come before what they call, except in damaged traces.
  void FindPlaces() {
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> known;
    for (uint32_t range = 0; range < trace_.ranges.size(); ++range) {
      const auto key = by_ == TreeBy::kRange
                           ? std::pair<uint64_t, uint64_t>(PlaceAround(range), NameOfRange(range).value)
                           : ModuleAndOperatorOf(range);
      places_.push_back(known.try_emplace(key, range).first->second);
    }
  }
  uint32_t PlaceAround(uint32_t range) const {
    const uint32_t parent = trace_.ranges[range].parent;
    return parent < range ? places_[parent] : kNone;
  }
  NameId NameOfRange(uint32_t range) const { return trace_.ranges[range].name; }
  std::pair<uint64_t, uint64_t> ModuleAndOperatorOf(uint32_t range) const {
    const bool has_modules = !modules_->of_ranges.empty();
    const uint64_t module = has_modules ? modules_->of_ranges[range] : kNone;
    const uint64_t is_backward = has_modules && modules_->is_backward[range] ? 1 : 0;
    const uint32_t around = OperatorAround(range);
    const uint64_t name = around != kNone ? operators_->of_ranges[around] : trace_.ranges[range].path.value;
    return {module << 1 | is_backward, name << 1 | (around != kNone ? 1 : 0)};
  }
  uint32_t OperatorAround(uint32_t range) const {
    return operators_->empty() ? kNone : operators_->OperatorAround(trace_, range);
  }

  // What a graph launched is where its node was made.
  WorkPlace PlaceOfWork(const Operation& op) const {
    const uint32_t call = input_.shared().ops().CallOf(op), node = op.shared().node;
    if (by_ == TreeBy::kStack) {
      const uint32_t stack = node == kNone ? kNone : trace_.graph_nodes[node].stack;
      return {stack != kNone ? stack : StackOf(call), kNone};
    }
    const uint32_t range = RangeOfWork(trace_, op, call);
    const uint32_t module = by_ == TreeBy::kModule ? modules_->ModuleOf(input_, op, call) : kNone;
    return {range == kNone ? kNone : places_[range], module};
  }
  WorkPlace PlaceOfWait(uint32_t call) const {
    if (by_ == TreeBy::kStack) return {StackOf(call), kNone};
    const uint32_t range = call == kNone ? kNone : Call(trace_.api_calls, call).range();
    if (range == kNone) return {};
    const bool has_module = by_ == TreeBy::kModule && !modules_->of_ranges.empty();
    return {places_[range], has_module ? modules_->of_ranges[range] : kNone};
  }
  uint32_t StackOf(uint32_t call) const {
    const uint32_t outermost = OutermostCall(trace_, call);
    const PackedCalls& calls = trace_.api_calls;
    return outermost == kNone ? kNone : calls.TraitsAt(calls.TraitsIndex(outermost)).stack;
  }

  std::vector<std::string> NamesOf(const WorkPlace& at) const {
    if (by_ == TreeBy::kStack) return LinesOn(at.place);
    if (by_ == TreeBy::kRange) return RangesAround(at.place);
    std::vector<std::string> names = ModulesAround(at);
    if (at.place == kNone) return names;
    const uint32_t around = OperatorAround(at.place);
    if (around != kNone) names.push_back(operators_->sums[operators_->of_ranges[around]].name);
    if (names.empty()) names.push_back(PathName(trace_, trace_.ranges[at.place].path));
    return names;
  }

  std::vector<std::string> LinesOn(uint32_t stack) const {
    std::vector<PythonFrame> frames;
    for (; stack != kNone; stack = trace_.stacks[stack].parent) {
      const uint32_t frame = trace_.stacks[stack].frame;
      const uint32_t line = LineOfFrame(trace_, frame);
      if (line == 0) continue;
      const Module& code = trace_.modules[trace_.frames[frame].module];
      frames.push_back({NameOf(trace_, {code.path, code.name, line}), Utf8(trace_.Text(code.path))});
    }
    std::ranges::reverse(frames);
    return frames.empty() ? std::vector<std::string>{"(no Python)"} : FoldedFrames(frames);
  }

  std::vector<std::string> RangesAround(uint32_t range) const {
    std::vector<std::string> names;
    for (; range != kNone; range = PlaceAround(range)) names.push_back(Utf8(trace_.Text(NameOfRange(range))));
    std::ranges::reverse(names);
    return names.empty() ? std::vector<std::string>{"(no range)"} : names;
  }

  // Outermost first.
  std::vector<std::string> ModulesAround(const WorkPlace& at) const {
    std::vector<std::string> names;
    for (uint32_t m = at.module; m != kNone; m = modules_->modules[m].parent) {
      const ModuleSum& sum = modules_->modules[m];
      names.push_back(sum.label + (sum.type.empty() ? "" : " (" + sum.type + ")"));
    }
    std::ranges::reverse(names);
    if (!names.empty() && at.place != kNone && modules_->is_backward[at.place]) names.emplace_back("backward");
    return names;
  }

  void AddIdle(uint32_t device) {
    ForEachIdleWait(input_, device, [&](const Part& part, uint32_t call, int64_t ns) {
      idle_[{PlaceOfWait(call), part.cause}].Add(ns, 0);
    });
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const TreeBy by_;
  const StepWindows steps_;
  std::optional<Operators> operators_;  // of kModule
  std::optional<ModuleTree> modules_;
  std::vector<uint32_t> places_;                        // by range
  std::map<std::pair<WorkPlace, uint32_t>, Sum> work_;  // by place and kind of operation
  std::map<std::pair<WorkPlace, Cause>, Sum> idle_;
  TimeTree tree_;
};

}  // namespace

void TimeNode::Add(const std::vector<std::string>& path, int64_t more_ns, int64_t more) {
  TimeNode* node = this;
  node->ns += more_ns, node->count += more;
  for (const std::string& name : path) {
    node = &node->children[name];
    node->ns += more_ns, node->count += more;
  }
}

TimeTree TimeTreeOf(const AnalysisInput& input, TreeBy by) { return TreeMaker(input, by).Make(); }

TimeNode IdleByCause(const AnalysisInput& input) {
  std::map<std::pair<Cause, CallPlace>, Sum> sums;
  for (uint32_t device = 0; device < input.trace().device_ops.size(); ++device) {
    ForEachIdleWait(input, device, [&](const Part& part, uint32_t call, int64_t ns) {
      sums[{part.cause, PlaceOfCall(input, call)}].Add(ns, 0);
    });
  }
  TimeNode idle;
  for (const auto& [key, sum] : sums)
    idle.Add({std::string(InfoOf(key.first).name), NameOf(input, key.second)}, sum.ns, sum.count);
  return idle;
}

std::vector<TreeBy> KnownTrees(const AnalysisInput& input) {
  std::vector<TreeBy> known;
  if (input.shared().python_lines().HasCalls()) known.push_back(TreeBy::kStack);
  if (HasModules(input.trace()) || !Operators(input).empty()) known.push_back(TreeBy::kModule);
  if (!input.trace().ranges.empty() || known.empty()) known.push_back(TreeBy::kRange);
  return known;
}

std::vector<std::string> FoldedFrames(const std::vector<PythonFrame>& frames) {
  std::vector<std::string> names;
  for (const PythonFrame& frame : frames) {
    const bool is_import = IsImport(frame.file);
    if ((names.empty() && IsStart(frame.file)) || (is_import && !names.empty() && names.back() == kImport)) continue;
    names.push_back(is_import ? std::string(kImport) : frame.name);
  }
  return names;
}

}  // namespace gprof
