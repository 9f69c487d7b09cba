#include "report/tree/tree_rows.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gprof {
namespace {

using NamedNode = std::pair<const std::string, TimeNode>;

bool ComesBefore(TreeSort sort, const NamedNode& a, const NamedNode& b) {
  if (sort == TreeSort::kName) return false;  // they are in that order
  return sort == TreeSort::kTime ? a.second.ns > b.second.ns : a.second.count > b.second.count;
}

}  // namespace

TreeRows::TreeRows(std::vector<NamedTree> trees, uint32_t open_depth) : trees_(std::move(trees)) {
  GoBack({});
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row].depth < open_depth) rows_[row].is_open = rows_[row].HasChildren();
    if (rows_[row].depth == 0) Open(row);
  }
  ShowFrom(0);
}

std::vector<std::string> TreeRows::PathOfCurrent() const {
  std::vector<std::string> path;
  for (const TreeRow* row = &current(); row->depth > 0; row = &rows_[row->parent]) path.emplace_back(row->name);
  std::ranges::reverse(path);
  return path;
}

void TreeRows::Move(int64_t rows) {
  const int64_t last = static_cast<int64_t>(shown_.size()) - 1;
  cursor_ = static_cast<std::size_t>(std::clamp<int64_t>(static_cast<int64_t>(cursor_) + rows, 0, last));
}

void TreeRows::GoToNextTree() {
  std::size_t next = current().parent;
  while (rows_[next].depth > 0) next = rows_[next].parent;
  ShowFrom(rows_[next].end % rows_.size());
}

void TreeRows::OpenOrEnter() {
  if (!current().is_open) return SetOpen(true);
  Move(1);
}

void TreeRows::FoldOrLeave() {
  if (current().is_open) return SetOpen(false);
  ShowFrom(current().parent);
}

void TreeRows::SetOpen(bool is_open) {
  const std::size_t row = shown_[cursor_];
  if (is_open) {
    Open(row);
  } else {
    rows_[row].is_open = false;
  }
  ShowFrom(row);
}

void TreeRows::OpenAllBelow() {
  const std::size_t first = shown_[cursor_];
  for (std::size_t row = first; row < rows_[first].end; ++row) rows_[row].is_open = rows_[row].HasChildren();
  ShowFrom(first);
}

void TreeRows::FoldAll() {
  std::size_t root = shown_[cursor_];
  while (rows_[root].depth > 0) root = rows_[root].parent;
  for (TreeRow& row : rows_) row.is_open = row.depth == 0 && row.HasChildren();
  ShowFrom(root);
}

void TreeRows::SortBy(TreeSort sort) {
  sort_ = sort;
  GoBack(Remember());
}

bool TreeRows::Find(std::string_view text, bool is_forward, bool may_stay) {
  const std::size_t count = rows_.size(), here = shown_[cursor_];
  for (std::size_t step = may_stay ? 0 : 1; step <= count; ++step) {
    const std::size_t row = (here + (is_forward ? step : count - step)) % count;
    if (!Matches(rows_[row].name, text)) continue;
    for (std::size_t above = row; rows_[above].depth > 0;) rows_[above = rows_[above].parent].is_open = true;
    ShowFrom(row);
    return true;
  }
  return false;
}

bool TreeRows::Matches(std::string_view name, std::string_view text) {
  const auto is_same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return !text.empty() && !std::ranges::search(name, text, is_same).empty();
}

TreeRows::Place TreeRows::Remember() const {
  Place place{{}, current().node};
  for (const TreeRow& row : rows_) {
    if (row.is_open) place.open.push_back(row.node);
  }
  return place;
}

void TreeRows::GoBack(const Place& place) {
  std::vector<const TimeNode*> open = place.open;
  std::ranges::sort(open);
  rows_.clear();
  for (const NamedTree& tree : trees_)
    Add({.name = tree.name, .node = &tree.root, .tree = &tree, .parent = rows_.size()}, open);
  ShowFrom(RowOf(place.current));
}

void TreeRows::Add(const TreeRow& row, const std::vector<const TimeNode*>& open) {
  const std::size_t here = rows_.size();
  rows_.push_back(row);
  rows_[here].is_open = std::ranges::binary_search(open, row.node);
  std::vector<const NamedNode*> children;
  for (const NamedNode& child : row.node->children) children.push_back(&child);
  std::ranges::stable_sort(children, [&](const auto* a, const auto* b) { return ComesBefore(sort_, *a, *b); });
  for (const NamedNode* child : children) {
    Add({.name = child->first, .node = &child->second, .tree = row.tree, .parent = here, .depth = row.depth + 1}, open);
  }
  rows_[here].end = rows_.size();
}

// And what is alone below it: nobody has to open one row after the other to see where it leads.
void TreeRows::Open(std::size_t row) {
  for (; rows_[row].HasChildren(); ++row) {
    rows_[row].is_open = true;
    if (rows_[row].node->children.size() > 1) return;
  }
}

// The cursor goes to `row`, which has to be among those that are shown.
void TreeRows::ShowFrom(std::size_t row) {
  shown_.clear();
  for (std::size_t i = 0; i < rows_.size(); i = rows_[i].is_open ? i + 1 : rows_[i].end) shown_.push_back(i);
  cursor_ = static_cast<std::size_t>(std::ranges::lower_bound(shown_, row) - shown_.begin());
}

std::size_t TreeRows::RowOf(const TimeNode* node) const {
  const auto found = std::ranges::find(rows_, node, &TreeRow::node);
  return found == rows_.end() ? 0 : static_cast<std::size_t>(found - rows_.begin());
}

}  // namespace gprof
