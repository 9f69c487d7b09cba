#include "analysis/result/tables.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gprof {
namespace {

Table TwoColumns() {
  return {"t",
          "",
          {{"best_ns", "Best", Unit::kNs, false, "of three"}, {"name", "Name", Unit::kText}},
          {{int64_t{1}, std::string("a")}, {int64_t{3}, std::string("b")}, {int64_t{2}, std::string("c")}},
          ""};
}

TEST(NoteOf, SaysWhatColumnsMeanThatAreShown) {
  Table table = TwoColumns();
  EXPECT_EQ(NoteOf(table), "Best: of three.");
  AddToNote(&table, "Times are rounded.");
  const std::vector<std::string> shown = {"Name"};
  EXPECT_EQ(NoteOf(table), "Times are rounded. Best: of three.");
  EXPECT_EQ(NoteOf(table, &shown), "Times are rounded.");
}

TEST(NoteOf, CountsRowsThatWereCutTwice) {
  Table table = TwoColumns();
  SortAndCut(&table, 0, 1, 2);
  CutRows(&table, 1);
  EXPECT_EQ(table.rows_left_out, 2);
  EXPECT_EQ(NoteOf(table), "Best: of three. 2 more rows not shown.");
}

TEST(Columns, HaveTheRoleOfTheirUnit) {
  const Table table = TwoColumns();
  EXPECT_EQ(table.columns[0].role, ColumnRole::kSum);
  EXPECT_EQ(table.columns[1].role, ColumnRole::kName);
  EXPECT_EQ(RoleOf(Unit::kPercent), ColumnRole::kShare);
  EXPECT_EQ(RoleOf(Unit::kBytesPerSecond), ColumnRole::kOwn);
}

}  // namespace
}  // namespace gprof
