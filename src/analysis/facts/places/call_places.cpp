#include "analysis/facts/places/call_places.h"

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
  constexpr std::string_view kFiles[] = {"libcud",  "libcup",    "libcublas", "libnv",   "libnccl",  "libc.so",
                                         "libm.so", "libstdc++", "libpython", "python3", "ld-linux", "libgprof"};
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const auto starts = [](std::string_view text) {
    return [text](std::string_view start) { return text.starts_with(start); };
  };
  return std::ranges::any_of(kFolders, starts(path)) || std::ranges::any_of(kFiles, starts(file)) ||
         std::ranges::any_of(kPackages,
                             [path](std::string_view folder) { return path.find(folder) != std::string_view::npos; });
}

// What the headers of C++ put into programs: that a lock is released in std::mutex::unlock says nothing.
bool IsOfStandardLibrary(std::string_view function) {
  constexpr std::string_view kStarts[] = {"_ZNSt", "_ZNKSt", "_ZSt", "_ZN9__gnu_cxx", "std::", "__gthread_"};
  return function.starts_with("_ZL")
             ? function.find("__gthread_") != std::string_view::npos
             : std::ranges::any_of(kStarts, [&](auto start) { return function.starts_with(start); });
}

std::string_view FileOf(const Trace& trace, const Module& module) {
  const std::string_view path = trace.Text(module.path);
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

CallPlaces::CallPlaces(const Trace& trace, const PythonLines& lines)
    : trace_(trace), lines_(lines), is_of_cuda_(trace.strings.size()) {
  for (uint32_t i = 0; i < trace.api_calls.TraitsCount(); ++i)
    is_of_cuda_[trace.api_calls.TraitsAt(i).function.value] = 1;
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    if (traits.kind == OpKind::kKernel) is_of_cuda_[traits.name.value] = 1;
  }
  if (!is_of_cuda_.empty()) is_of_cuda_[0] = 0;  // no name
}

// The CUDA runtime is a part of many programs. Their kernels have a function of the same name, which launches them.
bool CallPlaces::IsOfCuda(NameId function) const {
  const std::string_view name = trace_.Text(function);
  return is_of_cuda_[function.value] != 0 || name.starts_with("__cuda") || name.starts_with("libcudart_static_") ||
         name.find("__device_stub__") != std::string_view::npos;
}

bool CallPlaces::IsFrameOfCuda(uint32_t frame, const Module& module) const {
  const std::span<const Symbol> symbols = trace_.SymbolsOf(frame);
  const auto is_of_cuda = [this](const Symbol& symbol) { return IsOfCuda(symbol.name); };
  return FileOf(trace_, module).starts_with("libcudart.so") ||
         (!symbols.empty() && std::ranges::all_of(symbols, is_of_cuda));
}

bool CallPlaces::IsFrameOfStandardLibrary(uint32_t frame) const {
  const std::span<const Symbol> symbols = trace_.SymbolsOf(frame);
  return !symbols.empty() && std::ranges::all_of(symbols, [this](const Symbol& symbol) {
    return IsOfStandardLibrary(trace_.Text(symbol.name));
  });
}

std::string CallPlaces::NameOfFrame(uint32_t frame) const {
  const std::span<const Symbol> symbols = trace_.SymbolsOf(frame);
  if (symbols.empty()) {
    const Module* const module = ModuleOf(trace_, frame);
    return module == nullptr ? "" : "[" + Utf8(FileOf(trace_, *module)) + "]";
  }
  const auto own = std::ranges::find_if(symbols, [this](const Symbol& symbol) {
    return !IsOfCuda(symbol.name) && !IsOfStandardLibrary(trace_.Text(symbol.name));
  });
  const Symbol& symbol = own == symbols.end() ? symbols.front() : *own;
  std::string name = ShortName(Utf8(Demangle(trace_.Text(symbol.name))));
  const std::string_view file = trace_.Text(symbol.file);
  // The line may be that of a function of a header that is part of this one.
  const bool is_of_system = file.starts_with("/usr/include/") || file.find("/include/c++/") != std::string_view::npos;
  if (symbol.line == 0 || file.empty() || is_of_system) return name;
  return name + " (" + Utf8(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(symbol.line) + ")";
}

CallPlaces::Frames CallPlaces::FramesOf(uint32_t stack) const {
  auto [own, innermost, first] = Frames{};
  const auto has_name = [this](uint32_t frame) { return frame != kNone && !trace_.SymbolsOf(frame).empty(); };
  // Callers come before what they call, so that this ends. What has no name may be of a runtime within the program.
  for (; stack != kNone && !has_name(own); stack = trace_.stacks[stack].parent) {
    const uint32_t frame = trace_.stacks[stack].frame;
    const Module* const module = ModuleOf(trace_, frame);
    if (module == nullptr || module->module_kind == trace::ModuleKind::kPythonCode) continue;
    if (first == kNone) first = frame;
    if (IsFrameOfCuda(frame, *module)) {
      innermost = own = kNone;  // what CUDA called is CUDA's
      continue;
    }
    if (innermost == kNone) innermost = frame;
    if (own == kNone && !IsOfSystem(trace_.Text(module->path)) && !IsFrameOfStandardLibrary(frame)) own = frame;
  }
  return {own, innermost, first};
}

std::string CallPlaces::FunctionPlace(uint32_t stack) const {
  const auto [own, innermost, first] = FramesOf(stack);
  const uint32_t place = own != kNone ? own : innermost != kNone ? innermost : first;
  return place == kNone ? "" : NameOfFrame(place);
}

const std::string& CallPlaces::operator()(uint32_t stack) {
  const auto [at, is_new] = places_.try_emplace(stack);
  if (is_new && stack != kNone) {
    const uint32_t line = lines_.LineOf(stack);
    at->second = line == kNone ? FunctionPlace(stack) : NameOf(trace_, lines_.all()[line]);
  }
  return at->second;
}

std::string CallPlaces::Named(uint32_t stack) {
  const std::string& place = (*this)(stack);
  return place.starts_with('[') ? "" : place;
}

std::string CallPlaces::OfProgram(uint32_t stack) {
  return IsLine(stack) || FramesOf(stack).own != kNone ? Named(stack) : "";
}

std::string PlaceSums::Main() const {
  const auto largest = std::ranges::max_element(sums_, {}, [](const auto& x) { return x.second; });
  return largest == sums_.end() ? "" : largest->first;
}

int64_t PlaceSums::MainNs() const {
  const auto largest = sums_.find(Main());
  return largest == sums_.end() ? 0 : largest->second;
}

bool HasFunctions(const Trace& trace, uint32_t stack) {
  for (; stack != kNone; stack = trace.stacks[stack].parent) {
    const Module* const module = ModuleOf(trace, trace.stacks[stack].frame);
    if (module != nullptr && module->module_kind == trace::ModuleKind::kFile) return true;
  }
  return false;
}

}  // namespace gprof
