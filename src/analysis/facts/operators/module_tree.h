// The modules of a PyTorch model, as calls of them nest: from ranges that name them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/steps/step_windows.h"
#include "gprof/analysis.h"

namespace gprof {

// What the name of a range says of a module.
struct ModuleName {
  std::string_view label{};  // "h.0.attn", "Linear_3"; empty: it is no module
  std::string_view type{};   // "Attention"
};
// "nn.Module: h.0.attn (Attention)" of --pytorch modules, "nn.Module: Linear_3" of torch.profiler's with_stack, and
// steps of optimizers of both.
ModuleName ReadModuleName(std::string_view range_name);

// "h / attn" of what JAX calls the code of a kernel, "Thunk:#name=jit(f)/h/attn/dot_general,hlo_op=…#": its named
// scopes, outermost first, without the transformations around them. Empty for any other name.
std::vector<std::string_view> ScopesOf(std::string_view range_name);

bool HasModules(const Trace& trace);

struct ModuleSum {
  std::string label;  // its own name
  std::string path;   // "GPT2/h.0.attn"
  std::string type;
  uint32_t parent = kNone;
  int64_t calls = 0;
  int64_t cpu_ns = 0, cpu_self_ns = 0;  // of forward()
  // Of what was launched within it; not within a module within; by operators of the backward pass.
  int64_t gpu_ns = 0, gpu_self_ns = 0, gpu_backward_ns = 0;
  int64_t gpu_in_steps_ns = 0;
  int64_t kernels = 0;            // and copies, of itself
  int64_t flops = 0;              // of operators with known sizes
  double least_ns = 0;            // GPU time of these at the peak of their types
  bool has_unknown_peak = false;  // for some of them that is not known
};

struct ModuleTree {
  ModuleTree(const AnalysisInput& input, const StepWindows& steps);

  // Names that differ by numbers alone are one: "h.*.attn". `places`: which of these each module is part of.
  std::vector<ModuleSum> Folded(std::vector<uint32_t>* places = nullptr) const;

  std::vector<ModuleSum> modules;  // those that others are within come before them
  ModuleSum outside;               // of no module
  // By range: the innermost module, kNone for none, and whether it is by way of the backward pass. Empty where a trace
  // has no modules.
  std::vector<uint32_t> of_ranges;
  std::vector<bool> is_backward;
  std::vector<uint32_t> of_nodes;  // likewise by graph node

  // The innermost module whose code the operation is of: for what a graph launched, the one that was captured. Nothing
  // where a trace has no modules. `call` is OpFacts::CallOf(op).
  uint32_t ModuleOf(const AnalysisInput& input, const Operation& op, uint32_t call) const;

 private:
  friend class ModuleTreeBuilder;
  // What generated code came from: a module by the one around and the place.
  std::map<std::pair<uint32_t, NameId>, uint32_t> of_places_;
};

// In the order of a tree: the most GPU time first, then the most CPU time, and after each module those within it.
std::vector<uint32_t> TreeOrder(const std::vector<ModuleSum>& modules);
// What the path of a module has more than that of the one around, indented by how deep it is.
std::string NameInTree(const std::vector<ModuleSum>& modules, const ModuleSum& module);

}  // namespace gprof
