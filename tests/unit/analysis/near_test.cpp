#include <gtest/gtest.h>

#include "analysis/facts/time/search_near.h"

namespace gprof {
namespace {

TEST(PartitionPointNear, FindsThePlaceFromEverywhere) {
  for (size_t size = 0; size < 20; ++size) {
    for (size_t point = 0; point <= size; ++point) {
      for (size_t near = 0; near <= size + 2; ++near) {
        const auto is_before = [&](size_t i) {
          EXPECT_LT(i, size);
          return i < point;
        };
        ASSERT_EQ(PartitionPointNear(size, near, is_before), point) << size << " " << near;
      }
    }
  }
}

}  // namespace
}  // namespace gprof
