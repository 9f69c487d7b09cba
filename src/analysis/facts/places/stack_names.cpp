#include "analysis/facts/places/stack_names.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "analysis/facts/places/stack_lines.h"
#include "base/demangle.h"
#include "base/text.h"

namespace gprof {
namespace {

std::string NameWithoutSymbol(const Trace& trace, uint32_t index) {
  const Frame& frame = trace.frames[index];
  if (frame.module == kNone) return fmt::format("{:#x}", frame.offset);
  const Module& module = trace.modules[frame.module];
  if (module.module_kind == trace::ModuleKind::kPythonCode) {
    return fmt::format("{} ({})", Utf8(trace.Text(module.name)),
                       PlaceOf(trace, {module.path, module.name, LineOfFrame(trace, index)}));
  }
  if (module.name != NameId{}) return Utf8(trace.Text(module.name));
  const std::string_view path = trace.Text(module.path);
  return fmt::format("{}+{:#x}", Utf8(path.substr(path.rfind('/') + 1)), frame.offset);
}

}  // namespace

std::string FrameName(const Trace& trace, uint32_t frame) {
  const std::span<const Symbol> symbols = trace.SymbolsOf(frame);
  if (symbols.empty()) return NameWithoutSymbol(trace, frame);
  std::string name;
  for (std::size_t i = symbols.size(); i > 0; --i) {
    if (!name.empty()) name += ';';
    name += Utf8(Demangle(trace.Text(symbols[i - 1].name)));
  }
  return name;
}

const std::string& StackNames::operator()(uint32_t stack) {
  static const std::string kEmpty;
  if (stack == kNone) return kEmpty;
  frames_.resize(trace_.frames.size());
  stacks_.resize(trace_.stacks.size());
  std::vector<uint32_t> way;  // from this stack to one whose text is known
  for (uint32_t at = stack; at != kNone && stacks_[at].empty(); at = trace_.stacks[at].parent) way.push_back(at);
  for (; !way.empty(); way.pop_back()) {
    const StackNode& node = trace_.stacks[way.back()];
    std::string& text = stacks_[way.back()];
    text = node.parent == kNone ? node.is_cut ? "…" : "" : stacks_[node.parent];
    if (!text.empty()) text += ';';
    if (node.frame == kNone) {
      text += '?';
      continue;
    }
    std::string& frame = frames_[node.frame];
    if (frame.empty()) frame = FrameName(trace_, node.frame);
    text += frame;
  }
  return stacks_[stack];
}

}  // namespace gprof
