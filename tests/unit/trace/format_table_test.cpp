// docs/trace-format.md holds the table that record.h gives.
#include "format_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "gprof/trace/record.h"

namespace gprof {
namespace {

std::string Page() {
  std::ifstream in(GPROF_SOURCE_DIR "/docs/trace-format.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(FormatPage, HasTheCurrentTable) {
  const std::string page = Page();
  ASSERT_FALSE(page.empty());
  EXPECT_TRUE(WithTable(page) == page)
      << "docs/trace-format.md is older than include/gprof/trace/record.h. Build and run format_table:\n"
         "  build/tests/bin/format_table docs/trace-format.md";
}

TEST(FormatPage, ATableThatIsOldIsNoticed) {
  std::string page = Page();
  const std::size_t at = page.find("| `correlation` |");
  ASSERT_NE(at, std::string::npos);
  page.replace(at + 3, 11, "corelation");
  EXPECT_FALSE(WithTable(page) == page);
  EXPECT_TRUE(WithTable(page) == Page());
}

TEST(FormatPage, NamesEveryKindOnce) {
  const std::string table = FormatTable();
  trace::ForEachKind([&](auto* r) {
    const std::string name = std::string(" `") + r->kName + "`\n";
    const std::size_t at = table.find(name);
    EXPECT_NE(at, std::string::npos) << name;
    EXPECT_EQ(table.find(name, at + 1), std::string::npos) << name;
  });
}

TEST(FormatPage, WithoutMarkersIsNotTouched) { EXPECT_EQ(WithTable("no markers"), ""); }

}  // namespace
}  // namespace gprof
