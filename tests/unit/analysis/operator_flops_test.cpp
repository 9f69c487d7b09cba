// FLOPs of operators. The expected figures are those of torch.utils.flop_counter (torch 2.15) for the same calls.
#include <gtest/gtest.h>

#include <string>

#include "analysis/facts/operators/operators.h"

namespace gprof {
namespace {

int64_t Flops(std::string_view range_name) { return FlopsOf(ReadOperatorName(range_name, "")); }

TEST(OperatorFlops, OfConvolutions) {
  EXPECT_EQ(Flops("aten::convolution, sizes = [[2, 3, 16, 16], [8, 3, 3, 3], [8], [], [], [], [], [], []], types = "
                  "[float], inputs = [, , , [2, 2], [1, 1], [1, 1], False, [0, 0], 1]"),
            55'296);
  EXPECT_EQ(Flops("aten::convolution, sizes = [[2, 8, 8, 8], [8, 4, 2, 2], [4], [], [], [], [], [], []], types = "
                  "[float], inputs = [, , , [2, 2], [0, 0], [1, 1], True, [0, 0], 1]"),
            32'768);
}

TEST(OperatorFlops, OfTheirBackwardPassOnlyTheGradientsAskedFor) {
  EXPECT_EQ(
      Flops("aten::convolution_backward, sizes = [[2, 8, 8, 8], [2, 3, 16, 16], [8, 3, 3, 3], [], [], [], [], "
            "[], [], [], []], inputs = [, , , [8], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [False, True, True]]"),
      55'296);
  EXPECT_EQ(Flops("aten::convolution_backward, sizes = [[2, 4, 16, 16], [2, 8, 8, 8], [8, 4, 2, 2], [], [], [], [], "
                  "[], [], [], []], inputs = [, , , [4], [2, 2], [0, 0], [1, 1], True, [0, 0], 1, [True, True, True]]"),
            65'536);
  EXPECT_EQ(
      Flops("aten::convolution_backward, sizes = [[2, 4, 16, 16], [2, 4, 16, 16], [4, 2, 3, 3], [], [], [], [], "
            "[], [], [], []], inputs = [, , , [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 2, [True, True, True]]"),
      221'184);
}

TEST(OperatorFlops, ConvolutionsWithoutTheirStridesAreNotGuessed) {
  EXPECT_EQ(Flops("aten::convolution, op_id = 3, sizes = [[2, 3, 16, 16], [8, 3, 3, 3], [8], [], []]"), 0);
  EXPECT_EQ(Flops("aten::convolution, sizes = [[2, 3, 16, 16], [8, 3, 3, 3]], inputs = [, , , [0, 0], [], [], ,"), 0);
}

TEST(OperatorFlops, OfAttention) {
  EXPECT_EQ(Flops("aten::_scaled_dot_product_flash_attention_for_cpu, sizes = [[2, 8, 128, 64], [2, 8, 128, 64], "
                  "[2, 8, 128, 64], [], []], types = [float]"),
            67'108'864);
}

// Two sequences of 96 queries and 160 keys, 8 heads, keys 64 and values 32 wide.
TEST(OperatorFlops, OfAttentionOnTheGpu) {
  const std::string forward = ", sizes = [[2, 8, 96, 64], [2, 8, 160, 64], [2, 8, 160, 32], [], [], [], []]";
  const std::string backward =
      ", sizes = [[2, 8, 96, 32], [2, 8, 96, 64], [2, 8, 160, 64], [2, 8, 160, 32], [2, 8, 96, 32], [2, 8, 96], []]";
  for (const std::string library : {"flash", "efficient", "cudnn"}) {
    const std::string name = "aten::_scaled_dot_product_" + library + "_attention";
    EXPECT_EQ(Flops(name + forward), 47'185'920) << name;
    EXPECT_EQ(Flops(name + "_backward" + backward), 125'829'120) << name;
  }
  EXPECT_EQ(Flops("aten::_cudnn_attention_forward" + forward), 47'185'920);
  EXPECT_EQ(Flops("aten::_cudnn_attention_forward, sizes = [[256, 8, 64], [256, 8, 64], [256, 8, 64], [], [3], [3]]"),
            0);
}

TEST(OperatorFlops, OfAttentionWhoseInputsHaveTheHeadsLast) {
  EXPECT_EQ(Flops("aten::_flash_attention_forward, sizes = [[2, 128, 8, 64], [2, 128, 8, 64], [2, 128, 8, 64], [], [], "
                  "[], []]"),
            67'108'864);
  EXPECT_EQ(Flops("aten::_efficient_attention_backward, sizes = [[2, 128, 8, 64], [2, 128, 8, 64], [2, 128, 8, 64], "
                  "[2, 128, 8, 64], [], [2, 128, 8, 64], [], []]"),
            167'772'160);
}

TEST(OperatorFlops, SequencesOfUnknownLengthsAreNotGuessed) {
  EXPECT_EQ(
      Flops("aten::_flash_attention_forward, sizes = [[256, 8, 64], [256, 8, 64], [256, 8, 64], [3], [3], [], []]"), 0);
  EXPECT_EQ(Flops("aten::_efficient_attention_forward, sizes = [[1, 256, 8, 64], [1, 256, 8, 64], [1, 256, 8, 64], [], "
                  "[3], [3]]"),
            0);
}

TEST(OperatorNames, HaveTheFactsOfTorchProfiler) {
  const OperatorName op =
      ReadOperatorName("aten::mm, sizes = [[5, 2], [2, 8]], types = [c10::Half, c10::Half], inputs = [, ]", "cpu_op");
  EXPECT_EQ(op.name, "aten::mm");
  EXPECT_EQ(op.sizes, "[[5, 2], [2, 8]]");
  EXPECT_EQ(op.types, "[c10::Half, c10::Half]");
  EXPECT_EQ(op.inputs, "[, ]");
}

}  // namespace
}  // namespace gprof
