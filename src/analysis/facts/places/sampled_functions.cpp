#include "analysis/facts/places/sampled_functions.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/demangle.h"
#include "base/text.h"

namespace gprof {
namespace {

std::string FileOf(const Trace& trace, uint32_t module) {
  if (module == kNone) return "";
  const std::string_view path = trace.Text(trace.modules[module].path);
  return Utf8(path.substr(path.rfind('/') + 1));
}

// Of no function: what CPython 3.12 and newer have between two calls of their loop.
bool IsShim(const Trace& trace, uint32_t stack) {
  const uint32_t frame = trace.stacks[stack].frame;
  const uint32_t module = frame == kNone ? kNone : trace.frames[frame].module;
  return module != kNone && trace.Text(trace.modules[module].path) == "<shim>";
}

}  // namespace

uint32_t SampledFunctions::NumberOf(std::string name, std::string module) {
  const auto [at, is_new] = numbers_.try_emplace({name, module}, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back({std::move(name), std::move(module)});
  return at->second;
}

const std::vector<uint32_t>& SampledFunctions::OfFrame(uint32_t index) {
  std::vector<uint32_t>& functions = of_frames_[index];
  if (!functions.empty()) return functions;
  const uint32_t module = trace_.frames[index].module;
  const auto number_once = [&](NameId name, auto&& number) {
    const auto [at, is_new] = numbers_of_names_.try_emplace({name, module});
    if (is_new) at->second = number();
    functions.push_back(at->second);
  };
  for (const Symbol& symbol : trace_.SymbolsOf(index)) {
    number_once(symbol.name,
                [&] { return NumberOf(Utf8(Demangle(trace_.Text(symbol.name))), FileOf(trace_, module)); });
  }
  if (!functions.empty()) return functions;
  number_once({}, [&] {
    const std::string file = FileOf(trace_, module);
    const bool is_named = module != kNone && trace_.modules[module].name != NameId{};
    std::string name = is_named ? Utf8(trace_.Text(trace_.modules[module].name))
                                : "[" + (file.empty() ? std::string("unknown") : file) + "]";
    return NumberOf(std::move(name), file);
  });
  return functions;
}

uint32_t SampledFunctions::Innermost(uint32_t stack) {
  while (stack != kNone && IsShim(trace_, stack)) stack = trace_.stacks[stack].parent;
  if (stack == kNone) return kNone;
  const uint32_t frame = trace_.stacks[stack].frame;
  return frame == kNone ? kNone : OfFrame(frame).front();
}

std::vector<uint32_t> SampledFunctions::On(uint32_t stack) {
  std::vector<uint32_t> functions;
  // Callers come before what they call, so that this ends.
  for (; stack != kNone; stack = trace_.stacks[stack].parent) {
    const uint32_t frame = trace_.stacks[stack].frame;
    if (frame == kNone || IsShim(trace_, stack)) continue;
    const std::vector<uint32_t>& of_frame = OfFrame(frame);
    functions.insert(functions.end(), of_frame.begin(), of_frame.end());
  }
  ++looked_at_;
  last_look_.resize(functions_.size());
  std::erase_if(functions,
                [&](uint32_t function) { return std::exchange(last_look_[function], looked_at_) == looked_at_; });
  return functions;
}

std::vector<FunctionSamples> CountFunctions(SampledFunctions& functions, const std::vector<uint32_t>& samples) {
  struct OfStack {
    int64_t samples = 0, weight_ns = 0;
  };
  std::map<uint32_t, OfStack> stacks;
  for (const uint32_t i : samples) {
    const CpuSample& sample = functions.trace().cpu_samples[i];
    OfStack& of_stack = stacks[sample.stack];
    ++of_stack.samples;
    of_stack.weight_ns += sample.weight_ns;
  }
  std::vector<FunctionSamples> counts;
  const auto count_of = [&](uint32_t function) -> FunctionSamples& {
    if (function >= counts.size()) counts.resize(functions.size());
    return counts[function];
  };
  for (const auto& [stack, sum] : stacks) {
    const uint32_t self = functions.Innermost(stack);
    if (self == kNone) continue;
    count_of(self).self += sum.samples;
    count_of(self).self_ns += sum.weight_ns;
    for (const uint32_t function : functions.On(stack)) count_of(function).inclusive += sum.samples;
  }
  for (uint32_t i = 0; i < counts.size(); ++i) {
    counts[i].name = functions[i].name;
    counts[i].module = functions[i].module;
  }
  std::erase_if(counts, [](const FunctionSamples& count) { return count.inclusive == 0; });
  std::sort(counts.begin(), counts.end(), [](const FunctionSamples& a, const FunctionSamples& b) {
    return std::tie(b.self, b.inclusive, a.name, a.module) < std::tie(a.self, a.inclusive, b.name, b.module);
  });
  return counts;
}

}  // namespace gprof
