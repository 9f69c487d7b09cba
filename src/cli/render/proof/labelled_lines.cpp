#include "cli/render/proof/labelled_lines.h"

#include <algorithm>

#include "base/text.h"
#include "cli/render/markdown.h"
#include "cli/render/text_layout.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLabelColumns = 11;

}  // namespace

std::string TextOfLines(const std::vector<LabelledLine>& lines, const Terminal& terminal) {
  const Style style(terminal.has_color);
  std::string out;
  for (const LabelledLine& line : lines) {
    std::string left = style.Bold(line.label) + std::string(kLabelColumns - line.label.size(), ' ');
    for (const std::string& part : Wrap(Printable(line.text), std::min(terminal.columns, kMaxProse) - kLabelColumns)) {
      out += left + part + "\n";
      left = std::string(kLabelColumns, ' ');
    }
  }
  return out;
}

std::string MarkdownOfLines(const std::vector<LabelledLine>& lines) {
  std::string out;
  for (const LabelledLine& line : lines) out += "- **" + line.label + "**: " + MarkdownEscaped(line.text) + "\n";
  return out;
}

}  // namespace gprof::cli
