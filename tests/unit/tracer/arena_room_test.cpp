#include <gtest/gtest.h>

#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kMb = 1u << 20, kGb = 1u << 30;

TEST(ArenaRoom, AQuarterOfALittleMemoryIsLeft) {
  EXPECT_EQ(BytesLeftToProgram(64 * kMb), 16 * kMb);
  EXPECT_EQ(BytesLeftToProgram(0), 0u);
}

// A disk of 252 GB with 59 GB free has room.
TEST(ArenaRoom, OfALargeFileSystemAGigabyteIsLeft) {
  EXPECT_EQ(BytesLeftToProgram(252 * kGb), kGb);
  EXPECT_LT(BytesLeftToProgram(252 * kGb) + kGb, 59 * kGb);
}

}  // namespace
}  // namespace gprof::tracer
