// Kernel counters beside those of another trace.
#include "analysis/topics/counters/counter_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "captured.h"

namespace gprof {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const std::vector<KernelCounters>& Kernels() {
  static const std::vector<KernelCounters> kKernels = KernelCountersOf(FullCapture());
  return kKernels;
}

std::span<const KernelCounters> Some(std::size_t first, std::size_t count) {
  return std::span(Kernels()).subspan(first, count);
}

TEST(CounterComparison, ATraceBesideItselfHasNoChange) {
  const std::vector<ComparedKernel> pairs = CompareKernels(Kernels(), Kernels());
  for (const ComparedKernel& pair : pairs) EXPECT_EQ(pair.now, pair.base);
  std::size_t rows = 0;
  for (const CounterSection& section : CounterSections()) {
    for (const auto& row : ComparisonTable(section, pairs).rows) {
      ++rows;
      EXPECT_EQ(row[2], row[3]);
      const double* const change = std::get_if<double>(&row[4]);
      EXPECT_EQ(change == nullptr ? 0 : *change, 0);
    }
  }
  EXPECT_GT(rows, 13u * 30);
}

TEST(CounterComparison, KernelsArePairedByNameInAnyOrder) {
  std::vector<KernelCounters> turned(Kernels().rbegin(), Kernels().rend());
  for (const ComparedKernel& pair : CompareKernels(Kernels(), turned)) EXPECT_EQ(pair.now->name, pair.base->name);
}

TEST(CounterComparison, TwoKernelsThatAreAloneAreComparedWhateverTheyAreCalled) {
  const auto pairs = CompareKernels(Some(0, 1), Some(1, 1));
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].base, &Kernels()[1]);
  const Table table = ComparisonTable(*FindCounterSection("speed_of_light"), pairs);
  ASSERT_FALSE(table.rows.empty());
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), Kernels()[0].name);
  EXPECT_EQ(std::get<std::string>(table.rows[0][1]), "Duration");
  EXPECT_NEAR(std::get<double>(table.rows[0][4]), (Kernels()[0].DurationNs() / Kernels()[1].DurationNs() - 1) * 100,
              1e-9);
}

TEST(CounterComparison, OthersHaveNoPartner) {
  for (const ComparedKernel& pair : CompareKernels(Some(0, 2), Some(2, 2))) EXPECT_EQ(pair.base, nullptr);
  const auto pairs = CompareKernels(Some(0, 3), Some(1, 1));
  EXPECT_EQ(pairs[0].base, nullptr);
  EXPECT_EQ(pairs[1].base, &Kernels()[1]);
}

TEST(CounterComparison, TablesOfTwoTraces) {
  const std::vector<Table> tables = ComparisonTables(FullCapture(), BasicCapture(), 0);
  ASSERT_GT(tables.size(), 2u);
  for (const Table& table : tables) {
    EXPECT_THAT(table.id, EndsWith("_comparison"));
    EXPECT_THAT(table.title, HasSubstr("beside the baseline"));
  }
  EXPECT_EQ(tables.front().note, "");
  const std::vector<Table> few = ComparisonTables(FullCapture(), BasicCapture(), 2);
  EXPECT_LT(few.front().rows.size(), tables.front().rows.size());
}

}  // namespace
}  // namespace gprof
