#include "tracer/store/memory/page_pool.h"

#include <gtest/gtest.h>

#include "fake_arena.h"

namespace gprof::tracer {
namespace {

PagePool pool;

TEST(PagePool, WhoTakesTheFirstPageDoesNotMakeIt) {
  const uint32_t before = fake_arena.blocks_left;
  pool.PrepareSlab();
  pool.PrepareSlab();
  EXPECT_EQ(before - fake_arena.blocks_left, 1u);  // a process with few rows needs no more
  uint32_t index = 0;
  EXPECT_NE(pool.Take(&index), nullptr);
  EXPECT_EQ(before - fake_arena.blocks_left, 1u);
  pool.PrepareSlab();
  EXPECT_EQ(before - fake_arena.blocks_left, 2u);  // there may be many more now
}

}  // namespace
}  // namespace gprof::tracer
