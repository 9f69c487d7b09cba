#include "trace/model/range_names.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

TEST(RangeNames, CountersOfInstancesBecomeAStar) {
  EXPECT_EQ(NameOfAllInstances("ProfilerStep#17"), "ProfilerStep#*");
  EXPECT_EQ(NameOfAllInstances("step 17"), "step *");
  EXPECT_EQ(NameOfAllInstances("iteration_17"), "iteration_*");
  EXPECT_EQ(NameOfAllInstances("Epoch=3"), "Epoch=*");
  EXPECT_EQ(NameOfAllInstances("train_iter4"), "train_iter*");
  EXPECT_EQ(NameOfAllInstances("Optimizer.step#SGD.step#4"), "Optimizer.step#SGD.step#*");
}

TEST(RangeNames, OperatorsLoseWhatEmitNvtxAppends) {
  EXPECT_EQ(NameOfAllInstances("aten::to, op_id = 317140"), "aten::to");
  EXPECT_EQ(NameOfAllInstances("AddmmBackward0, seq = 12, op_id = 4"), "AddmmBackward0");
  EXPECT_EQ(NameOfAllInstances("aten::mm, seq = 1, sizes = [[2, 3], [3, 4]]"), "aten::mm");
}

TEST(RangeNames, OtherNumbersAreNames) {
  for (const char* name :
       {"layer_3", "conv2d", "forward", "", "17", "#17", "Stage 2", "gpu0", "step", "step 17 of 20"}) {
    EXPECT_EQ(NameOfAllInstances(name), name);
  }
}

}  // namespace
}  // namespace gprof
