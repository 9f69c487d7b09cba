#include <gtest/gtest.h>

#include <string>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// Steps of three kernels of 4 us with 2 us between them, and 20 us between steps.
Trace Steps(int64_t steps, int64_t pause_ns = 20 * kUs) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  int64_t now_ns = 0;
  for (int64_t i = 0; i < steps; ++i) {
    for (const char* name : {"norm", "gemm", "add"}) {
      maker.AddKernel(now_ns, now_ns + 4 * kUs, maker.AddCall(now_ns - 10, now_ns - 5, "cudaLaunchKernel"), name)
          .stream = stream;
      now_ns += 6 * kUs;
    }
    now_ns += pause_ns - 2 * kUs;
  }
  return maker.Finish();
}

TEST(SmallKernels, ByLength) {
  TraceMaker maker;
  int64_t now_ns = 0;
  for (int64_t length_ns : {999, 1'000, 4'999, 5'000, 9'999, 10'000, 20'000, 100'000, 999'999, 1'000'000}) {
    maker.AddKernel(now_ns, now_ns + length_ns);
    now_ns += length_ns + 100;
  }
  maker.AddCopy(now_ns, now_ns + 5, 10, trace::CopyKind::kHostToDevice);  // no kernel
  const AnalysisResult result = RunSmallKernels(maker.Finish(), {});
  const Table& table = TableOf(result, "kernel_lengths");
  ASSERT_EQ(table.rows.size(), 7u);
  EXPECT_EQ(TextOf(table, 0, "length"), "below 1 us");
  EXPECT_EQ(IntOf(table, 0, "count"), 1);
  EXPECT_EQ(IntOf(table, 1, "count"), 2);  // 1 to 5 us
  EXPECT_EQ(IntOf(table, 1, "total_ns"), 5'999);
  EXPECT_EQ(IntOf(table, 2, "count"), 2);  // 5 to 10 us
  EXPECT_EQ(IntOf(table, 2, "idle_before_ns"), 200);
  EXPECT_EQ(IntOf(table, 3, "count"), 1);
  EXPECT_EQ(IntOf(table, 5, "count"), 2);  // 100 us to 1 ms
  EXPECT_EQ(IntOf(table, 6, "count"), 1);
  EXPECT_EQ(MetricOf(result, "kernels.small_count"), 5);
  EXPECT_EQ(MetricOf(result, "kernels.small_ns"), 21'997);
  EXPECT_NEAR(MetricOf(result, "kernels.small_percent"), 100.0 * 21'997 / 2'151'996, 1e-9);
}

TEST(SmallKernels, AChainOfKernelsThatRepeats) {
  const AnalysisResult result = RunSmallKernels(Steps(10), {});
  const Table& table = TableOf(result, "kernel_chains");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "repetitions"), 10);
  EXPECT_EQ(IntOf(table, 0, "operations"), 3);
  EXPECT_EQ(IntOf(table, 0, "kernels"), 3);
  EXPECT_EQ(IntOf(table, 0, "runs"), 1);
  EXPECT_EQ(IntOf(table, 0, "busy_ns"), 10 * 3 * 4 * kUs);
  EXPECT_EQ(IntOf(table, 0, "idle_ns"), 10 * 2 * 2 * kUs);  // not the 20 us between the steps
  EXPECT_EQ(TextOf(table, 0, "chain"), "norm, gemm, add");
  EXPECT_EQ(TextOf(table, 0, "stream"), "stream 7");
  const Finding* finding = FindingOf(result, "kernels.chain");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(WordsOf(finding),
            "GPU idle for 11.8% of the GPU window (40.00 us) within a chain of 3 operations, which ran 10 times in "
            "stream 7 | norm, gemm, add: 120.00 us of work");
  EXPECT_EQ(finding->gain_ns, 40 * kUs);
  EXPECT_EQ(finding->basis, "idle gaps of up to 50 us between operations of one repetition");
  EXPECT_EQ(MetricOf(result, "chains.count"), 1);
  EXPECT_EQ(MetricOf(result, "chains.operations"), 30);
  EXPECT_EQ(MetricOf(result, "chains.idle_ns"), 40 * kUs);
}

// Short periods are added up several at a time.
TEST(SmallKernels, AChainOfManyRepetitions) {
  const AnalysisResult result = RunSmallKernels(Steps(101), {});
  const Table& table = TableOf(result, "kernel_chains");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "repetitions"), 101);
  EXPECT_EQ(IntOf(table, 0, "busy_ns"), 101 * 3 * 4 * kUs);
  EXPECT_EQ(IntOf(table, 0, "idle_ns"), 101 * 2 * 2 * kUs);
}

// Where a repetition begins is where the GPU waits longest, not where the run begins.
TEST(SmallKernels, ARepetitionBeginsAfterTheLongestGap) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  maker.AddKernel(0, 4 * kUs, kNone, "add").stream = stream;  // the last one of a step
  int64_t now_ns = 24 * kUs;
  for (int i = 0; i < 10; ++i) {
    for (const char* name : {"norm", "gemm", "add"}) {
      maker.AddKernel(now_ns, now_ns + 4 * kUs, kNone, name).stream = stream;
      now_ns += 6 * kUs;
    }
    now_ns += 18 * kUs;
  }
  const AnalysisResult result = RunSmallKernels(maker.Finish(), {});
  EXPECT_EQ(TextOf(TableOf(result, "kernel_chains"), 0, "chain"), "norm, gemm, add");
  EXPECT_EQ(IntOf(TableOf(result, "kernel_chains"), 0, "idle_ns"), (10 + 9) * 2 * kUs);
}

TEST(SmallKernels, LongGapsAreNotTheLaunches) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  for (int64_t i = 0; i < 30; ++i) maker.AddKernel(i * 100 * kUs, i * 100 * kUs + kUs, kNone, "k").stream = stream;
  const AnalysisResult result = RunSmallKernels(maker.Finish(), {});
  EXPECT_EQ(IntOf(TableOf(result, "kernel_chains"), 0, "idle_ns"), 0);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(TableOf(result, "kernel_chains").is_detail);
}

TEST(SmallKernels, RunsOfTheSameChainAreOneRow) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  int64_t now_ns = 0;
  const auto run = [&](int times, std::initializer_list<const char*> names) {
    for (int i = 0; i < times; ++i) {
      for (const char* name : names) {
        maker.AddKernel(now_ns, now_ns + 10, kNone, name).stream = stream;
        now_ns += 20;
      }
    }
  };
  run(8, {"a", "b"});
  run(1, {"x", "y", "z"});
  run(8, {"b", "a"});  // begins elsewhere in it
  const AnalysisResult result = RunSmallKernels(maker.Finish(), {});
  const Table& table = TableOf(result, "kernel_chains");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(IntOf(table, 0, "repetitions"), 16);
  EXPECT_EQ(IntOf(table, 0, "runs"), 2);
}

TEST(SmallKernels, OtherShapesAreOtherKernels) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  for (int64_t i = 0; i < 40; ++i) {
    GpuOp& op = maker.AddKernel(i * 20, i * 20 + 10, kNone, "k");
    op.stream = stream;
    op.shape = static_cast<uint32_t>(i);
  }
  EXPECT_TRUE(TableOf(RunSmallKernels(maker.Finish(), {}), "kernel_chains").rows.empty());
}

TEST(SmallKernels, GraphsAreLaunchedAtOnceAlready) {
  TraceMaker maker;
  const uint32_t stream = maker.AddStream(7);
  for (int64_t i = 0; i < 40; ++i) {
    GpuOp& op = maker.AddKernel(i * 20, i * 20 + 10, kNone, "k");
    op.stream = stream;
    op.graph = 1;
  }
  EXPECT_TRUE(TableOf(RunSmallKernels(maker.Finish(), {}), "kernel_chains").rows.empty());
}

TEST(SmallKernels, SmallOnesThatDoNotRepeat) {
  TraceMaker maker;
  for (int64_t i = 0; i < 30; ++i) maker.AddKernel(i * 10 * kUs, i * 10 * kUs + 2 * kUs, kNone, std::to_string(i));
  const AnalysisResult result = RunSmallKernels(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "kernels.small");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "30 of 30 kernels ran for less than 10 us, 100.0% of total kernel time, with 232.00 us idle before them");
  EXPECT_EQ(finding->gain_ns, 29 * 8 * kUs);
}

}  // namespace
}  // namespace gprof::test
