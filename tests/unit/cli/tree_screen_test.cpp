// The full screen of a tree without a terminal: rows that open and fold, what keys do, and what fits on a screen.
#include "cli/screen/tree_screen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/tree/row_findings.h"

namespace gprof::cli {
namespace {

using Paths = std::vector<std::string>;

std::vector<NamedTree> Trees() {
  TimeNode gpu, idle;
  gpu.Add({"model", "layer", "gemm"}, 50, 2);
  gpu.Add({"model", "layer", "Softmax"}, 20, 9);
  gpu.Add({"model", "add"}, 10, 1);
  gpu.Add({"copy host to device"}, 15, 5);
  idle.Add({"host", "train.py:12 (step)"}, 70, 3);
  idle.Add({"copy", "step/load: cudaMemcpy"}, 30, 1);
  std::vector<NamedTree> trees;
  trees.push_back({"GPU", std::move(gpu), false});
  trees.push_back({"Idle", std::move(idle), true});
  return trees;
}

TreeRows Rows(uint32_t depth = 0) { return TreeRows(Trees(), depth); }

Paths Shown(const TreeRows& rows) {
  Paths names;
  for (const std::size_t row : rows.shown()) names.emplace_back(rows[row].name);
  return names;
}

TEST(TreeRows, RootsAreOpenAtFirstOrAsDeepAsAsked) {
  EXPECT_EQ(Shown(Rows()), (Paths{"GPU", "model", "copy host to device", "Idle", "host", "copy"}));
  EXPECT_EQ(Shown(Rows(2)), (Paths{"GPU", "model", "layer", "add", "copy host to device", "Idle", "host",
                                   "train.py:12 (step)", "copy", "step/load: cudaMemcpy"}));
}

TEST(TreeRows, WhatIsAloneOpensWithWhatIsAbove) {
  TimeNode root;
  root.Add({"main", "run", "step", "a"}, 1), root.Add({"main", "run", "step", "b"}, 2);
  std::vector<NamedTree> trees;
  trees.push_back({"GPU", std::move(root), false});
  EXPECT_EQ(Shown(TreeRows(std::move(trees), 0)), (Paths{"GPU", "main", "run", "step", "b", "a"}));
}

TEST(TreeRows, RightEntersAndLeftLeaves) {
  TreeRows rows = Rows();
  rows.Move(1);
  rows.OpenOrEnter();
  EXPECT_EQ(rows.current().name, "model");
  EXPECT_EQ(Shown(rows)[2], "layer");
  rows.OpenOrEnter();
  EXPECT_EQ(rows.current().name, "layer");
  rows.FoldOrLeave();
  EXPECT_EQ(rows.current().name, "model");
  rows.FoldOrLeave();
  EXPECT_EQ(Shown(rows), Shown(Rows()));
  rows.FoldOrLeave();
  EXPECT_EQ(rows.current().name, "GPU");
  rows.Move(-1);
  EXPECT_EQ(rows.cursor(), 0u);
  rows.Move(100);
  EXPECT_EQ(rows.current().name, "copy");
}

TEST(TreeRows, TheCursorStaysOnItsRowWhenSorted) {
  TreeRows rows = Rows();
  rows.Move(1);
  rows.OpenAllBelow();
  EXPECT_EQ(Shown(rows),
            (Paths{"GPU", "model", "layer", "gemm", "Softmax", "add", "copy host to device", "Idle", "host", "copy"}));
  rows.Move(2);
  rows.SortBy(TreeSort::kCount);
  EXPECT_EQ(rows.current().name, "gemm");
  EXPECT_EQ(Shown(rows),
            (Paths{"GPU", "model", "layer", "Softmax", "gemm", "add", "copy host to device", "Idle", "host", "copy"}));
  rows.SortBy(TreeSort::kName);
  EXPECT_EQ(Shown(rows),
            (Paths{"GPU", "copy host to device", "model", "add", "layer", "Softmax", "gemm", "Idle", "copy", "host"}));
  EXPECT_EQ(rows.PathOfCurrent(), (Paths{"model", "layer", "gemm"}));
  rows.FoldAll();
  EXPECT_EQ(rows.current().name, "GPU");
  EXPECT_EQ(Shown(rows), (Paths{"GPU", "copy host to device", "model", "Idle", "copy", "host"}));
}

TEST(TreeRows, SearchesFoldedRowsInBothDirectionsAndAround) {
  TreeRows rows = Rows();
  ASSERT_TRUE(rows.Find("SOFT", true));
  EXPECT_EQ(rows.PathOfCurrent(), (Paths{"model", "layer", "Softmax"}));
  ASSERT_TRUE(rows.Find("copy", true));
  EXPECT_EQ(rows.current().name, "copy host to device");
  ASSERT_TRUE(rows.Find("copy", true));
  EXPECT_EQ(rows.PathOfCurrent(), (Paths{"copy"}));
  ASSERT_TRUE(rows.Find("gemm", true));
  EXPECT_EQ(rows.current().name, "gemm");
  ASSERT_TRUE(rows.Find("copy", false));
  EXPECT_EQ(rows.PathOfCurrent(), (Paths{"copy"})) << "before the first comes the last";
  EXPECT_FALSE(rows.Find("conv", true));
  ASSERT_TRUE(rows.Find("memcpy", true));
  EXPECT_TRUE(rows.Find("memcpy", true)) << "the row itself, once around";
  rows.GoToNextTree();
  EXPECT_EQ(rows.current().name, "GPU");
  rows.GoToNextTree();
  EXPECT_EQ(rows.current().name, "Idle");
}

TEST(TreeRows, NothingBelowARootIsFine) {
  std::vector<NamedTree> trees(2);
  TreeRows rows(std::move(trees), 0);
  rows.OpenOrEnter(), rows.OpenAllBelow(), rows.FoldOrLeave(), rows.FoldAll(), rows.GoToNextTree();
  EXPECT_EQ(rows.shown().size(), 2u);
}

class Screen : public ::testing::Test {
 protected:
  // What the keys together ask for last.
  Wish Type(std::u32string_view keys) {
    Wish wish = Wish::kNothing;
    for (const Key pressed : keys) wish = screen_.Press(pressed);
    return wish;
  }
  std::string Text(ScreenSize size = {12, 80}) {
    std::string text;
    lines_ = screen_.Lines(size);
    for (const ScreenLine& line : lines_) text += line.text + "\n";
    return text;
  }
  std::string CursorLine() {
    Text();
    const auto found = std::ranges::find(lines_, Look::kReverse, &ScreenLine::look);
    return found == lines_.end() ? "" : std::string(Trimmed(found->text));
  }

  TreeScreen screen_{"run.trace", "by module", Rows()};
  std::vector<ScreenLine> lines_;
};

TEST_F(Screen, ShowsTheTree) {
  EXPECT_EQ(Text({10, 80}), R"(run.trace  by module  sorted by time
      time  share    count  name
     95 ns 100.0%       17  - GPU                                               
     80 ns  84.2%       12    + model
     15 ns  15.8%        5      copy host to device
    100 ns 100.0%        4  - Idle
     70 ns  70.0%        3    + host
     30 ns  30.0%        1    + copy
GPU
Enter open  / search  s sort  b by  f finding  ? help  q quit
)");
}

TEST_F(Screen, FitsWhateverTheSizeIs) {
  Type(U"*");
  for (const std::size_t columns : {1u, 5u, 19u, 33u, 40u, 41u, 79u, 200u}) {
    for (const std::size_t rows : {1u, 2u, 4u, 5u, 6u, 24u}) {
      for (const char32_t view : {U'k', U'?', U'q'}) {
        ASSERT_EQ(screen_.Press(view), Wish::kNothing);
        Text({rows, columns});
        ASSERT_EQ(lines_.size(), rows);
        for (const ScreenLine& line : lines_) ASSERT_LE(DisplayWidth(line.text), columns) << line.text;
      }
      Text({rows, columns});
      ASSERT_EQ(std::ranges::count(lines_, Look::kReverse, &ScreenLine::look), 1) << rows;
    }
  }
}

TEST_F(Screen, KeysOpenSortAndAskForMore) {
  Type(U"j\r");
  EXPECT_NE(Text().find("+ layer"), std::string::npos);
  Type(U"-");
  EXPECT_EQ(Text().find("layer"), std::string::npos);
  Type(U"s");
  EXPECT_NE(Text().find("sorted by count"), std::string::npos);
  EXPECT_EQ(Type(U"b"), Wish::kOtherTree);
  EXPECT_EQ(Type(U"f"), Wish::kFindings);
  EXPECT_EQ(Type(U"q"), Wish::kLeave);
  EXPECT_EQ(screen_.Press(key::kEnd), Wish::kLeave);
}

TEST_F(Screen, SearchIsIncrementalAndEscapeGoesBack) {
  Type(U"/so");
  EXPECT_TRUE(CursorLine().ends_with("Softmax"));
  Type(U"x");
  EXPECT_NE(Text().find("/sox  (not found)"), std::string::npos);
  EXPECT_TRUE(CursorLine().ends_with("- GPU"));
  Type({&key::kBackspace, 1});
  EXPECT_TRUE(CursorLine().ends_with("Softmax"));
  Type({&key::kEscape, 1});
  EXPECT_TRUE(CursorLine().ends_with("- GPU"));
  EXPECT_EQ(Text().find("layer"), std::string::npos) << "what the search opened is folded again";
  Type(U"n");
  EXPECT_NE(Text().find("Nothing was searched for"), std::string::npos);
  EXPECT_EQ(Type(U"/qf\r"), Wish::kNothing) << "letters of a search are no keys";
  Type(U"/copy\rn");
  EXPECT_TRUE(CursorLine().ends_with("+ copy"));
  Type(U"N");
  EXPECT_TRUE(CursorLine().ends_with("copy host to device"));
}

TEST_F(Screen, NamesCannotWriteToTheTerminal) {
  TimeNode root;
  root.Add({"evil\033[2J\nname"}, 5);
  std::vector<NamedTree> trees;
  trees.push_back({"GPU", std::move(root), false});
  screen_.ShowTree("by module", TreeRows(std::move(trees), 0));
  Type(U"j/\033\x07");
  for (const char c : Text()) EXPECT_TRUE(c == '\n' || (c & 0x80) != 0 || c >= ' ');
}

TEST_F(Screen, TextScrollsAndIsMadeAgainForAnotherWidth) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "line " + std::to_string(i) + "\n";
  screen_.ShowFindings("Findings", text);
  EXPECT_NE(Text().find("line 9\n"), std::string::npos);
  EXPECT_EQ(Text().find("line 10\n"), std::string::npos);
  Type(U"G");
  EXPECT_NE(Text().find("line 29\n"), std::string::npos);
  Type(U"k");
  EXPECT_EQ(Text().find("line 29\n"), std::string::npos);
  EXPECT_EQ(screen_.Press(key::kResize), Wish::kFindings);
  EXPECT_EQ(Type(U"q"), Wish::kNothing);
  EXPECT_NE(Text().find("model"), std::string::npos);
}

TEST_F(Screen, ATreeComesBackAsItWasLeft) {
  Type(U"j\rj");
  TreeRows left = screen_.ShowTree("by stack", Rows());
  EXPECT_NE(Text().find("by stack"), std::string::npos);
  screen_.ShowTree("by module", std::move(left));
  EXPECT_TRUE(CursorLine().ends_with("+ layer"));
}

std::vector<std::string> About(const std::vector<Finding>& findings, bool is_idle, const Paths& path) {
  std::vector<NamedFinding> named;
  for (const Finding& finding : findings) named.push_back({.ranked = {.finding = &finding}, .evidence = finding.id});
  std::vector<std::string> ids;
  for (const NamedFinding* one : FindingsAbout(named, is_idle, path)) ids.push_back(one->evidence);
  return ids;
}

TEST(RowFindings, ComeFromTheRowItsTimeAndWhatIsAbove) {
  std::vector<Finding> findings(6);
  findings[0].id = "memcpy.pageable", findings[0].subject.function = "cudaMemcpy";
  findings[1].id = "idle.copy", findings[1].subject.causes = {"copy"};
  findings[2].id = "idle.host", findings[2].subject.range = "step", findings[2].subject.causes = {"host"};
  findings[3].id = "occupancy.small_grid", findings[3].subject.kernel = "void ns::Sum<float>(float*)";
  findings[4].id = "memory.tensor_growth", findings[4].subject.line = "train.py:12";
  findings[5].id = "memcpy.within", findings[5].subject.direction = "device to device";
  EXPECT_EQ(About(findings, true, {"copy"}), (Paths{"idle.copy", "memcpy.pageable"}));
  EXPECT_EQ(About(findings, false, {"copy"}), Paths{}) << "a name of work is no cause";
  EXPECT_EQ(About(findings, true, {"host", "train.py:12 (step)"}), (Paths{"memory.tensor_growth", "idle.host"}));
  EXPECT_EQ(About(findings, true, {"copy", "step/load: cudaMemcpy"}),
            (Paths{"memcpy.pageable", "idle.copy", "idle.host"}));
  EXPECT_EQ(About(findings, false, {"step", "Sum"}), (Paths{"occupancy.small_grid", "idle.host"}));
  EXPECT_EQ(About(findings, false, {"steps", "Other"}), Paths{});
  EXPECT_EQ(About(findings, false, {"copy device to device"}), (Paths{"memcpy.within", "memcpy.pageable"}));
  EXPECT_EQ(About(findings, false, {"copy host to device"}), (Paths{"memcpy.pageable"}));
  EXPECT_EQ(About(findings, false, {}).size(), findings.size()) << "of the root, all";
}

}  // namespace
}  // namespace gprof::cli
