// Trees of time as rows that a reader opens, folds, sorts and searches. Knows of no terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/tree/time_tree.h"

namespace gprof {

enum class TreeSort : uint8_t { kTime, kCount, kName };

struct NamedTree {
  std::string name;
  TimeNode root{};
  bool is_idle = false;
};

// A node among all nodes, each before those below it, which end before `end`.
struct TreeRow {
  std::string_view name;
  const TimeNode* node = nullptr;
  const NamedTree* tree = nullptr;
  std::size_t parent = 0, end = 0;  // a root is its own parent
  uint32_t depth = 0;
  bool is_open = false;

  bool HasChildren() const { return !node->children.empty(); }
};

class TreeRows {
 public:
  // Nodes less deep than `open_depth` are open at first; 0: the roots, and what is alone below one.
  TreeRows(std::vector<NamedTree> trees, uint32_t open_depth);
  TreeRows(TreeRows&&) = default;
  TreeRows& operator=(TreeRows&&) = default;

  // What can be seen, as places in `rows`.
  const std::vector<std::size_t>& shown() const { return shown_; }
  const TreeRow& operator[](std::size_t row) const { return rows_[row]; }
  // Of the cursor, in `shown`.
  std::size_t cursor() const { return cursor_; }
  const TreeRow& current() const { return rows_[shown_[cursor_]]; }
  // From below the root to the row of the cursor.
  std::vector<std::string> PathOfCurrent() const;

  void Move(int64_t rows);
  // After the last comes the first.
  void GoToNextTree();
  // The first row below where it is open already.
  void OpenOrEnter();
  // The row above where there is nothing to fold.
  void FoldOrLeave();
  void SetOpen(bool is_open);
  void OpenAllBelow();
  void FoldAll();

  void SortBy(TreeSort sort);
  TreeSort sort() const { return sort_; }

  // Goes to the next row with `text` in its name, in capitals or not, folded ones included; after the last comes the
  // first. False: there is none.
  bool Find(std::string_view text, bool is_forward, bool may_stay = false);
  static bool Matches(std::string_view name, std::string_view text);

  struct Place {
    std::vector<const TimeNode*> open;
    const TimeNode* current;
  };
  Place Remember() const;
  void GoBack(const Place& place);

 private:
  void Add(const TreeRow& row, const std::vector<const TimeNode*>& open);
  void Open(std::size_t row);
  void ShowFrom(std::size_t row);
  std::size_t RowOf(const TimeNode* node) const;

  std::vector<NamedTree> trees_;
  std::vector<TreeRow> rows_;
  std::vector<std::size_t> shown_;
  std::size_t cursor_ = 0;
  TreeSort sort_ = TreeSort::kTime;
};

}  // namespace gprof
