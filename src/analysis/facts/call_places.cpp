#include "analysis/facts/call_places.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "base/demangle.h"
#include "base/text.h"

namespace gprof {
namespace {

const Module* ModuleOf(const Trace& trace, uint32_t frame) {
  if (frame == kNone || trace.frames[frame].module == kNone) return nullptr;
  return &trace.modules[trace.frames[frame].module];
}

bool IsOfSystem(std::string_view path) {
  constexpr std::string_view kFolders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/cuda", "[vdso]"};
  constexpr std::string_view kPackages[] = {"/site-packages/", "/dist-packages/"};
  constexpr std::string_view kFiles[] = {"libcud",  "libcup",    "libcublas", "libnv",   "libnccl", "libc.so",
                                         "libm.so", "libstdc++", "libpython", "python3", "ld-linux"};
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const auto starts = [](std::string_view text) {
    return [text](std::string_view start) { return text.starts_with(start); };
  };
  return std::any_of(std::begin(kFolders), std::end(kFolders), starts(path)) ||
         std::any_of(std::begin(kFiles), std::end(kFiles), starts(file)) ||
         std::any_of(std::begin(kPackages), std::end(kPackages),
                     [path](std::string_view folder) { return path.find(folder) != std::string_view::npos; });
}

std::string NameOfFrame(const Trace& trace, uint32_t frame) {
  const std::span<const Symbol> symbols = trace.SymbolsOf(frame);
  if (symbols.empty()) {
    const Module* const module = ModuleOf(trace, frame);
    if (module == nullptr) return "";
    const std::string_view path = trace.Text(module->path);
    return "[" + Utf8(path.substr(path.rfind('/') + 1)) + "]";
  }
  return ShortName(Utf8(Demangle(trace.Text(symbols.front().name))));
}

}  // namespace

std::string CallPlaces::FunctionPlace(uint32_t stack) const {
  uint32_t innermost = kNone;
  // Callers come before what they call, so that this ends.
  for (; stack != kNone; stack = trace_.stacks[stack].parent) {
    const uint32_t frame = trace_.stacks[stack].frame;
    const Module* const module = ModuleOf(trace_, frame);
    if (module == nullptr || module->module_kind == trace::ModuleKind::kPythonCode) continue;
    if (innermost == kNone) innermost = frame;
    if (!IsOfSystem(trace_.Text(module->path))) return NameOfFrame(trace_, frame);
  }
  return innermost == kNone ? "" : NameOfFrame(trace_, innermost);
}

const std::string& CallPlaces::operator()(uint32_t stack) {
  const auto [at, is_new] = places_.try_emplace(stack);
  if (is_new && stack != kNone) {
    const uint32_t line = lines_.Of(stack);
    at->second = line == kNone ? FunctionPlace(stack) : NameOf(trace_, lines_.all()[line]);
  }
  return at->second;
}

std::string PlaceSums::Main() const {
  const auto largest =
      std::max_element(sums_.begin(), sums_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == sums_.end() ? "" : largest->first;
}

bool HasFunctions(const Trace& trace, uint32_t stack) {
  for (; stack != kNone; stack = trace.stacks[stack].parent) {
    const Module* const module = ModuleOf(trace, trace.stacks[stack].frame);
    if (module != nullptr && module->module_kind == trace::ModuleKind::kFile) return true;
  }
  return false;
}

}  // namespace gprof
