#include "base/machine/read_proc.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gprof {
namespace {

TEST(ProcFile, IsReadAsAWhole) {
  EXPECT_TRUE(ReadProcFile("/proc/self/stat").starts_with(std::to_string(getpid()) + " ("));
  EXPECT_EQ(ReadProcFile("/proc/self/maps").back(), '\n');
}

// The file of a process that ends between open() and read() answers with an error, as a folder does.
TEST(ProcFile, AnErrorLeavesNothing) {
  EXPECT_EQ(ReadProcFile("/proc/self/task"), "");
  EXPECT_EQ(ReadProcFile("/proc/0/stat"), "");
}

}  // namespace
}  // namespace gprof
