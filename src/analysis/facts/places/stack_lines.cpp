#include "analysis/facts/places/stack_lines.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "analysis/facts/operations/operations.h"
#include "base/python_line_table.h"
#include "base/text.h"

namespace gprof {
namespace {

// Between calls of its loop, CPython 3.12 and newer have a frame of their own, which is no code of anybody.
bool IsPython(const Trace& trace, uint32_t frame) {
  if (frame == kNone || trace.frames[frame].module == kNone) return false;
  const Module& module = trace.modules[trace.frames[frame].module];
  return module.module_kind == trace::ModuleKind::kPythonCode && trace.Text(module.path) != "<shim>";
}

// What comes behind the folder that packages are installed in; empty for a file that is in none.
std::string_view InPackages(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string_view::npos) return file.substr(at + folder.size());
  }
  return {};
}

bool IsOfPythonItself(std::string_view file) {
  if (file.starts_with("<frozen ")) return true;
  const std::size_t at = file.find("/lib/python3.");
  return at != std::string_view::npos || file.find("/lib/python3/") != std::string_view::npos;
}

// Hooks call what they wrap.
bool IsOurHook(std::string_view file) { return file.find("/gprof-cli/hooks/") != std::string_view::npos; }

// They call CUDA for whoever calls them.
bool IsFramework(std::string_view package) {
  constexpr std::string_view kFrameworks[] = {
      "torch/",      "triton/",     "numpy/", "cupy/",        "cupyx/", "cuda/",      "jax/",    "jaxlib/", "numba/",
      "numba_cuda/", "tensorflow/", "keras/", "torchvision/", "flax/",  "functorch/", "pycuda/", "_pytest/"};
  return std::ranges::any_of(kFrameworks, [&](std::string_view framework) { return package.starts_with(framework); });
}

// Triton compiles what launches a kernel from a text, as `python -c` compiles a program.
bool IsLauncherOfTriton(const Trace& trace, const Module& code) {
  return trace.Text(code.name) == "launcher" && trace.Text(code.path) == "<string>";
}

// The sources of generated code, by file and line.
class GeneratedCode {
 public:
  explicit GeneratedCode(const Trace& trace) {
    for (const GeneratedLines& lines : trace.generated_lines) by_file_[lines.file].push_back(&lines);
    for (auto& [file, list] : by_file_) {
      std::ranges::stable_sort(list, {}, [](const GeneratedLines* lines) { return lines->first_line; });
    }
  }
  bool empty() const { return by_file_.empty(); }

  // Null where nothing is known of that line.
  const GeneratedLines* Find(NameId file, uint32_t line) const {
    const auto found = by_file_.find(file);
    if (found == by_file_.end()) return nullptr;
    const auto& list = found->second;
    const auto behind = std::ranges::upper_bound(list, line, {}, [](const GeneratedLines* l) { return l->first_line; });
    if (behind == list.begin() || (*(behind - 1))->last_line < line) return nullptr;
    return *(behind - 1);
  }

 private:
  std::map<NameId, std::vector<const GeneratedLines*>> by_file_;
};

}  // namespace

bool IsOfProgram(std::string_view file) {
  return !file.starts_with('<') && !IsOurHook(file) && InPackages(file).empty() && !IsFramework(file) &&
         !IsOfPythonItself(file);
}

uint32_t LineOfFrame(const Trace& trace, uint32_t frame) {
  if (!IsPython(trace, frame)) return 0;
  const Frame& f = trace.frames[frame];
  const Module& code = trace.modules[f.module];
  const uint32_t line = LineOfPython(code.python_version, code.first_line, trace.Text(code.line_table), f.offset);
  return line != 0 ? line : code.first_line;
}

std::string PlaceOf(const Trace& trace, const PythonLine& line) {
  const std::string_view file = trace.Text(line.file);
  return Utf8(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line.line);
}

std::string NameOf(const Trace& trace, const PythonLine& line) {
  // "make_model.<locals>.Mlp.forward": where a class or function was defined says less than the line.
  constexpr std::string_view kLocals = "<locals>.";
  std::string_view function = trace.Text(line.function);
  if (const std::size_t at = function.rfind(kLocals); at != std::string_view::npos)
    function.remove_prefix(at + kLocals.size());
  const std::string place = PlaceOf(trace, line);
  return function.empty() || function == "<module>" ? place : place + " (" + Utf8(function) + ")";
}

PythonLines::Owner PythonLines::OwnerOf(std::string_view file) {
  if (const std::string_view package = InPackages(file); !package.empty()) {
    return IsFramework(package) ? Owner::kFramework : Owner::kLibrary;
  }
  const bool is_made = file.starts_with("<eval_with_key>") || file.starts_with("<__array_function__") ||
                       Contains(file, "/torchinductor_");
  return is_made || IsOurHook(file) || IsOfPythonItself(file) ? Owner::kFramework : Owner::kProgram;
}

uint32_t PythonLines::NumberOf(const PythonLine& line) {
  const auto [at, is_new] = numbers_.try_emplace(line, static_cast<uint32_t>(lines_.size()));
  if (is_new) lines_.push_back(line);
  return at->second;
}

// Callers come before what they call.
PythonLines::PythonLines(const Trace& trace) : trace_(trace), of_stacks_(trace.stacks.size(), kNone) {
  std::vector<Owner> owners(trace.stacks.size(), Owner::kNobody);
  std::vector<std::optional<Owner>> owners_of_files(trace.strings.size());
  const GeneratedCode generated(trace);
  if (!generated.empty()) places_.resize(trace.stacks.size());
  for (std::size_t i = 0; i < trace.stacks.size(); ++i) {
    const StackNode& node = trace.stacks[i];
    if (node.parent != kNone) {
      of_stacks_[i] = of_stacks_[node.parent];
      owners[i] = owners[node.parent];
      if (!places_.empty()) places_[i] = places_[node.parent];
    }
    if (!IsPython(trace, node.frame)) continue;
    const Module& code = trace.modules[trace.frames[node.frame].module];
    PythonLine line{code.path, code.name, LineOfFrame(trace, node.frame)};
    if (const GeneratedLines* source = generated.Find(line.file, line.line); source != nullptr) {
      places_[i] = source->place;
      if (source->source_line != 0) line = {source->source_file, source->function, source->source_line};
    }
    std::optional<Owner>& owner_of_file = owners_of_files[line.file.value];
    if (!owner_of_file) owner_of_file = OwnerOf(trace.Text(line.file));
    const Owner owner = IsLauncherOfTriton(trace, code) ? Owner::kFramework : *owner_of_file;
    if (owner > owners[i]) continue;
    owners[i] = owner;
    of_stacks_[i] = NumberOf(line);
  }
  const PackedCalls& calls = trace.api_calls;
  for (uint32_t i = 0; i < calls.TraitsCount() && !has_calls_; ++i)
    has_calls_ = LineOf(calls.TraitsAt(i).stack) != kNone;
}

uint32_t PythonLines::LineOfCall(uint32_t call) const {
  const uint32_t outermost = OutermostCall(trace_, call);
  if (outermost == kNone) return kNone;
  return LineOf(trace_.api_calls.TraitsAt(trace_.api_calls.TraitsIndex(outermost)).stack);
}

}  // namespace gprof
