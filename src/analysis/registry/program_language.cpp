#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/calls/code_loads.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/registry/advice_words.h"

namespace gprof {
namespace {

constexpr size_t kFrameworks = 5;
using Counts = std::array<int64_t, kFrameworks>;

struct Sign {
  std::string_view text;
  Framework framework;
};

template <size_t kCount>
Framework FrameworkBy(const Sign (&signs)[kCount], std::string_view name) {
  const auto* const found =
      std::ranges::find_if(signs, [&](const Sign& sign) { return name.find(sign.text) != std::string_view::npos; });
  return found == std::end(signs) ? Framework::kCuda : found->framework;
}

// By the files of Python code.
constexpr Sign kFiles[] = {{"-packages/numba", Framework::kNumba},
                           {"-packages/torch/", Framework::kPyTorch},
                           {"-packages/cupy", Framework::kCuPy},
                           {"-packages/jax", Framework::kJax}};

// By the names of kernels. Those that numba compiles have tags of its own versions in their mangled names.
constexpr Sign kKernels[] = {{"at::native", Framework::kPyTorch}, {"2at6native", Framework::kPyTorch},
                             {"cupy_", Framework::kCuPy},         {"_fusion", Framework::kJax},
                             {"B2v1B", Framework::kNumba},        {"cudapy", Framework::kNumba}};

Framework Most(const Counts& counts) {
  const auto most = std::max_element(counts.begin() + 1, counts.end());
  return *most == 0 ? Framework::kCuda : static_cast<Framework>(most - counts.begin());
}

// The innermost framework on each stack.
Framework ByStacks(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  std::vector<Framework> of_stacks(trace.stacks.size(), Framework::kCuda);
  bool has_any = false;
  for (size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackNode& node = trace.stacks[i];
    if (node.parent != kNone) of_stacks[i] = of_stacks[node.parent];
    if (node.frame == kNone || trace.frames[node.frame].module == kNone) continue;
    const Framework own = FrameworkBy(kFiles, trace.Text(trace.modules[trace.frames[node.frame].module].path));
    if (own != Framework::kCuda) of_stacks[i] = own, has_any = true;
  }
  if (!has_any) return Framework::kCuda;
  Counts counts{};
  const std::vector<CallFacts::Sum>& sums = input.shared().calls().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const uint32_t stack = trace.api_calls.TraitsAt(i).stack;
    if (stack != kNone) counts[static_cast<size_t>(of_stacks[stack])] += sums[i].count;
  }
  return Most(counts);
}

Framework ByKernels(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  Counts counts{};
  const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
  for (uint32_t i = 0; i < sums.size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (sums[i].count == 0 || traits.kind != OpKind::kKernel) continue;
    counts[static_cast<size_t>(FrameworkBy(kKernels, trace.Text(traits.name)))] += sums[i].count;
  }
  return Most(counts);
}

// HIP, by its devices or by the calls of the program.
bool IsAmd(const Trace& trace) {
  const bool has_device = std::ranges::any_of(trace.devices, [&](const Device& device) {
    const std::string_view name = trace.Text(device.name);
    return name.starts_with("AMD") || name.find("Instinct") != std::string_view::npos ||
           name.find("Radeon") != std::string_view::npos;
  });
  if (has_device) return true;
  for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i) {
    if (trace.Text(trace.api_calls.TraitsAt(i).function).starts_with("hip")) return true;
  }
  return false;
}

}  // namespace

ProgramLanguage LanguageOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  ProgramLanguage language{Framework::kCuda, IsAmd(trace)};
  if (trace.recorder.starts_with("torch.profiler")) {
    language.framework = Framework::kPyTorch;
  } else if (trace.recorder.starts_with("XLA profiler")) {
    language.framework = Framework::kJax;
  } else if (IsAnyInterpreted(trace)) {
    const Framework by_stacks = ByStacks(input);
    language.framework = by_stacks == Framework::kCuda ? ByKernels(input) : by_stacks;
  }
  return language;
}

}  // namespace gprof
