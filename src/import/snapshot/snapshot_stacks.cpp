#include "import/snapshot/snapshot_stacks.h"

#include <algorithm>
#include <limits>
#include <string>

namespace gprof {
namespace {

constexpr std::size_t kMostFrames = 512;

// Frames of native code have no file, or one of C++.
bool IsPython(std::string_view file) { return file.ends_with(".py") || file.starts_with("<"); }

// "add" of "at::_ops::add_Tensor::call(at::Tensor const&, …)", which is where every operator goes through; behind the
// name is that of the overload.
std::string_view OperatorIn(std::string_view function) {
  constexpr std::string_view kPrefix = "at::_ops::", kMemoryFormat = "_memory_format";
  if (!function.starts_with(kPrefix)) return {};
  std::string_view name = function.substr(kPrefix.size());
  name = name.substr(0, name.find("::"));
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '_' && name[i + 1] >= 'A' && name[i + 1] <= 'Z') return name.substr(0, i);
  }
  return name.ends_with(kMemoryFormat) ? name.substr(0, name.size() - kMemoryFormat.size()) : name;
}

}  // namespace

uint32_t SnapshotStacks::StackOf(Pickle::Value frames) {
  const auto [known, is_new] = known_.try_emplace(frames, 0);
  if (!is_new) return known->second;
  const std::span<const Pickle::Value> items = pickle_.Items(frames);
  const std::size_t count = std::min(items.size(), kMostFrames);
  uint32_t stack = 0;
  for (std::size_t i = count; i-- > 0;) {
    const uint32_t frame = FrameOf(items[i]);
    if (frame == 0) continue;
    const auto [at, is_new_stack] = stacks_.try_emplace({stack, frame}, static_cast<uint32_t>(stacks_.size() + 1));
    if (is_new_stack) {
      trace::StackRecord r;
      r.id = at->second, r.parent = stack, r.frame = frame;
      builder_.Add(r);
    }
    stack = at->second;
  }
  known_[frames] = stack;
  return stack;
}

// A line is a function of its own here, because a snapshot has lines and no tables of them.
uint32_t SnapshotStacks::FrameOf(Pickle::Value frame) {
  const std::string_view file = pickle_.GetText(frame, "filename"), name = pickle_.GetText(frame, "name");
  const int64_t line = pickle_.GetInt(frame, "line");
  if (!IsPython(file)) return OperatorFrame(OperatorIn(name));
  if (line <= 0 || line > std::numeric_limits<uint32_t>::max()) return 0;
  const auto [at, is_new] = frames_.try_emplace({file, name, line}, static_cast<uint32_t>(frames_.size() + 1));
  if (!is_new) return at->second;
  trace::ModuleRecord module;
  module.id = at->second;
  module.module_kind = static_cast<uint8_t>(trace::ModuleKind::kPythonCode);
  module.path = builder_.Name(file);
  module.name = builder_.Name(name);
  module.first_line = static_cast<uint32_t>(line);
  builder_.Add(module);
  trace::FrameRecord r;
  r.id = at->second, r.module = at->second;
  builder_.Add(r);
  return at->second;
}

uint32_t SnapshotStacks::OperatorFrame(std::string_view name) {
  if (name.empty()) return 0;
  const auto [at, is_new] = frames_.try_emplace({"", name, 0}, static_cast<uint32_t>(frames_.size() + 1));
  if (!is_new) return at->second;
  trace::ModuleRecord module;
  module.id = at->second;
  module.module_kind = static_cast<uint8_t>(trace::ModuleKind::kFile);
  module.path = builder_.Name("libtorch");
  builder_.Add(module);
  trace::FrameRecord r;
  r.id = at->second, r.module = at->second;
  builder_.Add(r);
  trace::SymbolRecord symbol;
  symbol.frame = at->second;
  symbol.name = builder_.Name("aten::" + std::string(name));
  builder_.Add(symbol);
  return at->second;
}

}  // namespace gprof
