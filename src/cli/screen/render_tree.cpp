#include "cli/screen/render_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kTimeColumns = 10, kShareColumns = 7, kCountColumns = 9, kGap = 2, kLeastRoom = 24;

using NamedNode = std::pair<std::string, const TimeNode*>;

// The largest first.
std::vector<NamedNode> InOrder(const TimeNode& node) {
  std::vector<NamedNode> nodes;
  for (const auto& [name, child] : node.children) nodes.emplace_back(name, &child);
  std::ranges::stable_sort(nodes, [](const NamedNode& a, const NamedNode& b) { return a.second->ns > b.second->ns; });
  return nodes;
}

std::string InColumns(const TreeColumns& columns, const std::string& time, const std::string& share,
                      const std::string& count) {
  std::string text = fmt::format("{:>{}}", time, kTimeColumns);
  if (columns.has_share) text += fmt::format("{:>{}}", share, kShareColumns);
  if (columns.has_count) text += fmt::format("{:>{}}", count, kCountColumns);
  return text + std::string(kGap, ' ');
}

class TreeText {
 public:
  TreeText(double least_percent, uint32_t depth, const Terminal& terminal)
      : least_percent_(least_percent), depth_(depth), columns_(terminal.columns), style_(terminal.has_color) {}

  std::string Of(const NamedTree& tree) {
    out_ = style_.Bold(Line(tree.root, tree.root.ns, tree.name)) + "\n";
    AddChildren(tree.root, tree.root.ns, 1);
    return std::move(out_);
  }

 private:
  void AddChildren(const TimeNode& node, int64_t whole_ns, uint32_t depth) {
    if (depth > depth_) return;
    TimeNode others;
    int64_t left_out = 0;
    for (const auto& [name, child] : InOrder(node)) {
      if (100.0 * static_cast<double>(child->ns) < least_percent_ * static_cast<double>(whole_ns)) {
        others.ns += child->ns, others.count += child->count, ++left_out;
        continue;
      }
      out_ += Line(*child, whole_ns, std::string(2 * depth, ' ') + Printable(name)) + "\n";
      AddChildren(*child, whole_ns, depth + 1);
    }
    if (left_out == 0) return;
    const std::string name = std::string(2 * depth, ' ') + CountOf(left_out, "smaller one");
    out_ += style_.Dim(Line(others, whole_ns, name)) + "\n";
  }

  std::string Line(const TimeNode& node, int64_t whole_ns, const std::string& name) const {
    return TreeFigures(columns_, node, whole_ns) + ShortenMiddle(name, columns_.room);
  }

  const double least_percent_;
  const uint32_t depth_;
  const TreeColumns columns_;
  const Style style_;
  std::string out_;
};

}  // namespace

TreeColumns::TreeColumns(std::size_t columns)
    : has_share(columns >= kTimeColumns + kShareColumns + kLeastRoom),
      has_count(columns >= kTimeColumns + kShareColumns + kCountColumns + kLeastRoom) {
  const std::size_t figures = kTimeColumns + (has_share ? kShareColumns : 0) + (has_count ? kCountColumns : 0) + kGap;
  room = columns > figures ? columns - figures : 0;
}

std::string TreeFigures(const TreeColumns& columns, const TimeNode& node, int64_t whole_ns) {
  const double percent = whole_ns == 0 ? 0 : 100.0 * static_cast<double>(node.ns) / static_cast<double>(whole_ns);
  return InColumns(columns, FormatNs(node.ns), FormatPercent(percent), FormatCount(node.count));
}

std::string TreeHeadings(const TreeColumns& columns) { return InColumns(columns, "time", "share", "count") + "name"; }

std::string RenderTree(const NamedTree& tree, double least_percent, uint32_t depth, const Terminal& terminal) {
  return TreeText(least_percent, depth, terminal).Of(tree);
}

}  // namespace gprof::cli
