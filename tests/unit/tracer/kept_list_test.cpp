#include "tracer/store/memory/kept_list.h"

#include <gtest/gtest.h>

#include "fake_arena.h"

namespace gprof::tracer {
namespace {

class KeptListTest : public testing::Test {
 protected:
  ~KeptListTest() override { fake_arena = {}; }

  // How many there are, each of which must be its own number.
  uint32_t Count() const {
    uint32_t i = 0;
    for (; const uint64_t* entry = list_.At(i); ++i) EXPECT_EQ(*entry, i);
    return i;
  }
  void Fill(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) ASSERT_TRUE(list_.Append(i));
  }

  KeptList<uint64_t, Region::kNames, 4, 3> list_;
};

TEST_F(KeptListTest, IsEmptyAtFirst) { EXPECT_EQ(Count(), 0u); }

TEST_F(KeptListTest, GoesOnBeyondASegment) {
  Fill(0, 9);
  EXPECT_EQ(Count(), 9u);
  EXPECT_EQ(list_.At(9), nullptr);
}

TEST_F(KeptListTest, SaysWhenItIsFull) {
  Fill(0, 12);
  EXPECT_FALSE(list_.Append(12));
  EXPECT_EQ(Count(), 12u);
}

TEST_F(KeptListTest, KeepsWhatItHasWithoutMemory) {
  fake_arena.blocks_left = 1;
  Fill(0, 4);
  EXPECT_FALSE(list_.Append(4));
  EXPECT_EQ(Count(), 4u);
  fake_arena.blocks_left = 1;
  Fill(4, 5);
  EXPECT_EQ(Count(), 5u);
}

TEST_F(KeptListTest, AChildHasWhatItsParentHad) {
  Fill(0, 6);
  list_.ResetAfterFork();
  EXPECT_EQ(Count(), 6u);
  Fill(6, 8);
  EXPECT_EQ(Count(), 8u);
}

TEST_F(KeptListTest, AChildBeginsAnewWhereNamesWereLost) {
  Fill(0, 6);
  fake_arena.names_are_whole = false;
  list_.ResetAfterFork();
  EXPECT_EQ(Count(), 0u);
  Fill(0, 2);
  EXPECT_EQ(Count(), 2u);
}

}  // namespace
}  // namespace gprof::tracer
