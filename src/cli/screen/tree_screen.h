// A tree of time as a full screen: what is on it, and what keys do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/screen/screen.h"
#include "report/tree/tree_rows.h"

namespace gprof::cli {

// What a key asks for that is not on the screen.
enum class Wish : uint8_t { kNothing, kLeave, kOtherTree, kFindings };

class TreeScreen {
 public:
  TreeScreen(std::string file, std::string by, TreeRows rows)
      : file_(std::move(file)), by_(std::move(by)), rows_(std::move(rows)) {}

  Wish Press(Key pressed);
  // At most as many lines as there are rows, none wider than the screen. The one with Look::kReverse has the cursor.
  std::vector<ScreenLine> Lines(const ScreenSize& size);

  const TreeRows& rows() const { return rows_; }
  // The answers to wishes. The tree that was there comes back, with what is open in it.
  TreeRows ShowTree(std::string by, TreeRows rows);
  void ShowFindings(std::string title, std::string_view text) { ShowText(std::move(title), text, true); }
  // In place of the keys, until the next one is pressed.
  void Say(std::string message) { message_ = std::move(message); }

 private:
  Wish PressInTree(Key pressed);
  Wish PressInText(Key pressed);
  void ShowText(std::string title, std::string_view text, bool is_of_findings);
  void PressInSearch(Key pressed);
  void SearchAgain(bool is_forward);
  bool MoveBy(Key pressed);
  void AddTree(std::vector<ScreenLine>* lines);
  void AddText(std::vector<ScreenLine>* lines);
  ScreenLine LineOf(std::size_t shown) const;
  std::string PathLine() const;
  std::string LastLine() const;

  // A text in place of the tree.
  struct Text {
    std::string title;
    std::vector<std::string> lines;
    std::size_t top = 0;
    bool is_of_findings = false;
  };
  // While a search is typed: where it began.
  struct Search {
    std::string before;
    TreeRows::Place place;
  };

  const std::string file_;
  std::string by_;
  TreeRows rows_;
  std::optional<Text> text_{};
  std::optional<Search> search_{};
  std::string searched_{}, message_{};
  std::size_t top_ = 0;
  ScreenSize size_{};
};

}  // namespace gprof::cli
