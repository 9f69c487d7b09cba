#include "analysis/facts/operators/module_tree.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operators/operators.h"
#include "analysis/facts/operators/sequence_links.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/steps/step_windows.h"

namespace gprof {
namespace {

constexpr std::string_view kModule = "nn.Module: ", kOptimizer = "Optimizer.step", kOptimizerType = "optimizer";
constexpr std::string_view kWithin = " / ", kCompiled = " [compiled]";
constexpr uint32_t kMostModulesDeep = 1000;  // modules within modules; what is deeper counts for those around it

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "Linear_3" is a Linear.
std::string_view WithoutNumber(std::string_view label) {
  const std::size_t end = label.find_last_not_of("0123456789");
  return end != std::string_view::npos && end > 0 && label[end] == '_' ? label.substr(0, end) : label;
}

// "h.0.attn", "Linear_3": what is a number between separators becomes "*".
std::string FoldedLabel(std::string_view label) {
  std::string text;
  for (std::size_t at = 0; at < label.size();) {
    std::size_t end = at;
    while (end < label.size() && IsDigit(label[end])) ++end;
    const bool begins = at == 0 || label[at - 1] == '.' || label[at - 1] == '_';
    const bool ends = end == label.size() || label[end] == '.';
    if (end > at && begins && ends) {
      text += '*';
    } else {
      end = std::max(end, at + 1);
      text.append(label.substr(at, end - at));
    }
    at = end;
  }
  return text;
}

// Names in the outermost module contain those of the modules around: "h.0" is around "h.0.attn".
std::string PathOf(std::string_view label, const ModuleSum* around) {
  if (around == nullptr) return std::string(label);
  const std::string& prefix = around->label;
  const bool contains = label.size() > prefix.size() && label.starts_with(prefix) && label[prefix.size()] == '.';
  return around->path + (contains ? std::string(label.substr(prefix.size())) : "/" + std::string(label));
}

// Modules of a Sequential or a list are numbers, which say nothing without their type.
std::string WithType(std::string name, const ModuleSum& module) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return std::ranges::any_of(name, is_letter) ? name : name + " (" + module.type + ")";
}

void AddTo(const ModuleSum& from, ModuleSum* to) {
  to->calls += from.calls;
  to->cpu_ns += from.cpu_ns, to->cpu_self_ns += from.cpu_self_ns;
  to->gpu_ns += from.gpu_ns, to->gpu_self_ns += from.gpu_self_ns, to->gpu_backward_ns += from.gpu_backward_ns;
  to->gpu_in_steps_ns += from.gpu_in_steps_ns;
  to->kernels += from.kernels, to->flops += from.flops, to->least_ns += from.least_ns;
  to->has_unknown_peak = to->has_unknown_peak || from.has_unknown_peak;
}

}  // namespace

class ModuleTreeBuilder {
 public:
  ModuleTreeBuilder(const AnalysisInput& input, const StepWindows& steps, ModuleTree* tree)
      : input_(input),
        trace_(input.trace()),
        steps_(steps),
        tree_(*tree),
        of_ranges_(tree->of_ranges),
        is_backward_(tree->is_backward) {}

  void Run() {
    if (!HasModules(trace_)) return;
    of_ranges_.assign(trace_.ranges.size(), kNone);
    is_backward_.assign(trace_.ranges.size(), false);
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) AddRange(i);
    AddNodes();
    AddGenerated();
    if (tree_.modules.empty()) return;
    FollowBackward();
    for (const Operation op : OperationsOf(trace_)) AddOperation(op);
    AddFlops();
    for (ModuleSum& module : tree_.modules) module.cpu_self_ns = std::max<int64_t>(module.cpu_self_ns, 0);
  }

 private:
  void AddRange(uint32_t index) {
    const NvtxRange range = trace_.ranges[index];
    const uint32_t around = range.parent < index ? of_ranges_[range.parent] : kNone;
    of_ranges_[index] = around;
    is_backward_[index] = around != kNone && is_backward_[range.parent];
    if (!range.is_push_pop) return;
    const uint32_t again = around == kNone ? ComputedAgain(index, range.name) : kNone;
    const uint32_t module = again == kNone ? ModuleOfRange(range.name, around) : again;
    if (module == kNone || module == around) return;
    of_ranges_[index] = module;
    is_backward_[index] = is_backward_[index] || again != kNone;
    if (is_backward_[index]) return;
    ModuleSum& sum = tree_.modules[module];
    ++sum.calls;
    sum.cpu_ns += range.DurationNs(), sum.cpu_self_ns += range.DurationNs();
    if (around != kNone) tree_.modules[around].cpu_self_ns -= range.DurationNs();
  }

  // With checkpointing, a module within others runs again in the backward pass, where none of these is around it.
  uint32_t ComputedAgain(uint32_t index, NameId name) const {
    const auto known = within_others_.find(name);
    if (known == within_others_.end()) return kNone;
    for (uint32_t at = index, around = 0; (around = trace_.ranges[at].parent) < at; at = around) {
      if (IsOfBackward(trace_.Text(trace_.ranges[around].name))) return known->second;
    }
    return kNone;
  }

  // The module that ranges of this name are within that one; `around` itself for a range that is no module.
  uint32_t ModuleOfRange(NameId name, uint32_t around) {
    const auto [at, is_new] = of_ranges_within_.try_emplace({around, name}, around);
    if (!is_new) return at->second;
    const std::string_view text = trace_.Text(name);
    uint32_t module = around;
    for (const std::string_view scope : ScopesOf(text)) module = ModuleOf({scope, "scope"}, module);
    module = ModuleOf(ReadModuleName(text), module);
    if (around != kNone && module != around) within_others_.try_emplace(name, module);
    return of_ranges_within_[{around, name}] = module;
  }

  uint32_t ModuleOf(const ModuleName& name, uint32_t around) {
    if (name.label.empty() || (around != kNone && depths_[around] >= kMostModulesDeep)) return around;
    // torch names the step of an optimizer for its own profiler, around which ours is named.
    if (name.type == kOptimizerType && around != kNone && tree_.modules[around].type == kOptimizerType) return around;
    const auto [at, is_new] = numbers_.try_emplace(std::tuple(around, std::string(name.label), std::string(name.type)),
                                                   static_cast<uint32_t>(tree_.modules.size()));
    if (is_new) {
      ModuleSum sum;
      sum.label = name.label, sum.type = name.type, sum.parent = around;
      sum.path = PathOf(name.label, around == kNone ? nullptr : &tree_.modules[around]);
      tree_.modules.push_back(std::move(sum));
      depths_.push_back(around == kNone ? 0 : depths_[around] + 1);
    }
    return at->second;
  }

  // Of "A / B" within a module. What torch.compile compiled names its outermost module again.
  uint32_t ModuleOfPlace(NameId place, uint32_t around) {
    const auto [at, is_new] = tree_.of_places_.try_emplace({around, place}, around);
    if (!is_new) return at->second;
    uint32_t module = around;
    for (std::string_view rest = trace_.Text(place); !rest.empty();) {
      const std::size_t end = rest.find(kWithin);
      const std::string_view name = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + kWithin.size());
      const ModuleName read = ReadModuleName(name);
      if (module != around || !IsAgain(read.label, around)) module = ModuleOf(read, module);
      for (const std::string_view scope : ScopesOf(name)) module = ModuleOf({scope, "scope"}, module);
    }
    return tree_.of_places_[{around, place}] = module;
  }

  // "GPT" within "GPT [compiled]", "h.0" within "h.0".
  bool IsAgain(std::string_view label, uint32_t around) const {
    if (around == kNone) return false;
    const std::string_view known = tree_.modules[around].label;
    return label == known || (known.starts_with(label) && known.substr(label.size()) == kCompiled);
  }

  // What is known when a node was made: its place, else the range that it was made in, and what its code came from.
  void AddNodes() {
    tree_.of_nodes.assign(trace_.graph_nodes.size(), kNone);
    for (std::size_t i = 0; i < trace_.graph_nodes.size(); ++i) {
      const GraphNode& node = trace_.graph_nodes[i];
      uint32_t module = node.place == NameId{} ? kNone : ModuleOfPlace(node.place, kNone);
      if (module == kNone && node.range != kNone) module = of_ranges_[node.range];
      tree_.of_nodes[i] = WithGenerated(node.stack, module);
    }
  }

  void AddGenerated() {
    if (trace_.generated_lines.empty()) return;
    for (const ApiCall& call : trace_.api_calls) {
      WithGenerated(call.stack, call.range == kNone ? kNone : of_ranges_[call.range]);
    }
  }

  uint32_t WithGenerated(uint32_t stack, uint32_t around) {
    const NameId place = input_.shared().python_lines().PlaceOf(stack);
    return place == NameId{} ? around : ModuleOfPlace(place, around);
  }

  // Operators of the backward pass are of the module of their operator of the forward pass.
  void FollowBackward() {
    const std::vector<uint32_t> links = LinkBackward(trace_);
    if (links.empty()) return;
    std::vector<uint32_t> forward(links.size(), kNone);
    for (uint32_t i = 0; i < links.size(); ++i) {
      if (links[i] != kNone) forward[i] = of_ranges_[links[i]];
    }
    for (uint32_t i = 0; i < links.size(); ++i) {
      const uint32_t parent = trace_.ranges.items()[i].parent;
      if (of_ranges_[i] != kNone) continue;
      if (forward[i] != kNone) {
        of_ranges_[i] = forward[i], is_backward_[i] = true;
      } else if (parent < i && of_ranges_[parent] != kNone) {
        of_ranges_[i] = of_ranges_[parent], is_backward_[i] = is_backward_[parent];
      }
    }
  }

  void AddOperation(const Operation& op) {
    const uint32_t call = input_.shared().ops().CallOf(op);
    const uint32_t range = call == kNone ? kNone : Call(trace_.api_calls, call).range();
    const uint32_t module = tree_.ModuleOf(input_, op, call);
    const bool is_backward = range != kNone && is_backward_[range];
    const bool is_in_step = call != kNone && IsInStep(Call(trace_.api_calls, call));
    ModuleSum& self = module == kNone ? tree_.outside : tree_.modules[module];
    self.gpu_self_ns += op.duration_ns(), ++self.kernels;
    ForEachAround(module, [&](ModuleSum& sum) {
      sum.gpu_ns += op.duration_ns();
      if (is_backward) sum.gpu_backward_ns += op.duration_ns();
      if (is_in_step) sum.gpu_in_steps_ns += op.duration_ns();
    });
  }

  bool IsInStep(const Call& call) const {
    return steps_.Contains(trace_.threads[call.thread()].process, call.start_ns());
  }

  void AddFlops() {
    const Operators operators(input_);
    if (operators.sums.empty()) return;
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
      const int64_t flops = operators.FlopsOfRange(i);
      if (flops == 0) continue;
      const double least_ns = operators.sums[operators.of_ranges[i]].LeastNs(trace_, flops);
      ForEachAround(of_ranges_[i], [&](ModuleSum& sum) {
        sum.flops += flops, sum.least_ns += least_ns;
        sum.has_unknown_peak = sum.has_unknown_peak || least_ns == 0;
      });
    }
  }

  // A module and all around it, or what is outside of all.
  template <class F>
  void ForEachAround(uint32_t module, F&& f) {
    if (module == kNone) return f(tree_.outside);
    for (; module != kNone; module = tree_.modules[module].parent) f(tree_.modules[module]);
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  const StepWindows& steps_;
  ModuleTree& tree_;
  std::vector<uint32_t>& of_ranges_;
  std::vector<bool>& is_backward_;
  std::map<std::tuple<uint32_t, std::string, std::string>, uint32_t> numbers_;
  std::map<std::pair<uint32_t, NameId>, uint32_t> of_ranges_within_;
  std::map<NameId, uint32_t> within_others_;  // the first module of that name that is within another
  std::vector<uint32_t> depths_;
};

ModuleName ReadModuleName(std::string_view range_name) {
  if (range_name.starts_with(kOptimizer)) return {range_name, kOptimizerType};
  if (!range_name.starts_with(kModule)) return {};
  const std::string_view name = range_name.substr(kModule.size());
  const std::size_t open = name.rfind(" (");
  if (open == std::string_view::npos || !name.ends_with(')')) return {name, WithoutNumber(name)};
  return {name.substr(0, open), name.substr(open + 2, name.size() - open - 3)};
}

std::vector<std::string_view> ScopesOf(std::string_view range_name) {
  constexpr std::string_view kThunk = "Thunk:#name=";
  std::vector<std::string_view> scopes;
  if (!range_name.starts_with(kThunk)) return scopes;
  std::string_view rest = range_name.substr(kThunk.size());
  rest = rest.substr(0, std::min(rest.find(",hlo_op="), rest.size()));
  for (std::size_t end = 0; (end = rest.find('/')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    std::string_view scope = rest.substr(0, end);
    if (scope.starts_with("jit(")) continue;  // a function, often within another of the same code
    for (std::size_t open = 0; scope.ends_with(')') && (open = scope.find('(')) != std::string_view::npos;) {
      scope = scope.substr(open + 1, scope.size() - open - 2);  // "transpose(jvp(GPT))"
    }
    if (!scope.empty()) scopes.push_back(scope);
  }
  return scopes;
}

// Ranges of one name share their traits, so a trace without modules is done with those.
bool HasModules(const Trace& trace) {
  if (!trace.generated_lines.empty()) return true;
  const auto is_module = [](std::string_view name) {
    return !ReadModuleName(name).label.empty() || !ScopesOf(name).empty();
  };
  for (uint32_t i = 0; i < trace.ranges.TraitsCount(); ++i) {
    if (is_module(trace.Text(trace.ranges.TraitsAt(i).name))) return true;
  }
  return std::ranges::any_of(trace.graph_nodes,
                             [&](const GraphNode& node) { return is_module(trace.Text(node.place)); });
}

ModuleTree::ModuleTree(const AnalysisInput& input, const StepWindows& steps) {
  ModuleTreeBuilder(input, steps, this).Run();
}

uint32_t ModuleTree::ModuleOf(const AnalysisInput& input, const Operation& op, uint32_t call) const {
  if (of_ranges.empty() && of_nodes.empty()) return kNone;
  const uint32_t node = op.shared().node;
  if (node != kNone && node < of_nodes.size() && of_nodes[node] != kNone) return of_nodes[node];
  if (call == kNone) return kNone;
  const PackedCalls& calls = input.trace().api_calls;
  const uint32_t range = Call(calls, call).range();
  const uint32_t around = range == kNone ? kNone : of_ranges[range];
  const NameId place = input.shared().python_lines().PlaceOf(Call(calls, call).shared().stack);
  const auto generated = place == NameId{} ? of_places_.end() : of_places_.find({around, place});
  return generated == of_places_.end() ? around : generated->second;
}

std::vector<ModuleSum> ModuleTree::Folded(std::vector<uint32_t>* places) const {
  std::vector<ModuleSum> folded;
  std::vector<uint32_t> own_places;
  std::vector<uint32_t>& number_of = places == nullptr ? own_places : *places;
  number_of.assign(modules.size(), kNone);
  std::map<std::tuple<uint32_t, std::string, std::string>, uint32_t> numbers;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const ModuleSum& module = modules[i];
    const uint32_t around = module.parent == kNone ? kNone : number_of[module.parent];
    std::string label = FoldedLabel(module.label);
    const auto [at, is_new] = numbers.try_emplace({around, label, module.type}, static_cast<uint32_t>(folded.size()));
    number_of[i] = at->second;
    if (is_new) {
      ModuleSum sum;
      sum.path = PathOf(label, around == kNone ? nullptr : &folded[around]);
      sum.label = std::move(label), sum.type = module.type, sum.parent = around;
      folded.push_back(std::move(sum));
    }
    AddTo(module, &folded[at->second]);
  }
  return folded;
}

std::vector<uint32_t> TreeOrder(const std::vector<ModuleSum>& modules) {
  std::vector<std::vector<uint32_t>> within(modules.size() + 1);  // the last: of those that are within none
  for (uint32_t i = 0; i < modules.size(); ++i) {
    within[modules[i].parent == kNone ? modules.size() : modules[i].parent].push_back(i);
  }
  for (std::vector<uint32_t>& list : within) {
    std::ranges::stable_sort(list, [&](uint32_t a, uint32_t b) {  // the last one is taken first
      return std::tie(modules[a].gpu_ns, modules[a].cpu_ns) < std::tie(modules[b].gpu_ns, modules[b].cpu_ns);
    });
  }
  std::vector<uint32_t> order, left = within.back();
  while (!left.empty()) {
    const uint32_t module = left.back();
    left.pop_back();
    order.push_back(module);
    left.insert(left.end(), within[module].begin(), within[module].end());
  }
  return order;
}

std::string NameInTree(const std::vector<ModuleSum>& modules, const ModuleSum& module) {
  constexpr std::size_t kMostIndented = 16;  // further in is as far as that
  if (module.parent == kNone) return module.path;
  std::size_t depth = 0;
  for (uint32_t at = module.parent; at != kNone && depth < kMostIndented; at = modules[at].parent) ++depth;
  return std::string(2 * depth, ' ') + WithType(module.path.substr(modules[module.parent].path.size() + 1), module);
}

}  // namespace gprof
