// Expected values follow from the tables of the CUDA programming guide by hand; cuda_occupancy.h has to agree.
#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "analysis/topics/kernels/occupancy_calculator.h"
#include "analysis/topics/kernels/occupancy_curves.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

trace::DeviceRecord Gpu(uint32_t major, uint32_t sms, uint32_t shared_kib) {
  trace::DeviceRecord device;
  device.compute_major = major;
  device.sm_count = sms;
  device.max_threads_per_sm = 2048;
  device.max_blocks_per_sm = 32;
  device.max_registers_per_sm = device.max_registers_per_block = 65536;
  device.max_shared_bytes_per_sm = shared_kib * 1024;
  device.max_shared_bytes_per_block = 48 * 1024;
  device.max_threads_per_block = 1024;
  device.warp_size = 32;
  return device;
}
trace::DeviceRecord A100() { return Gpu(8, 108, 164); }
trace::DeviceRecord H200() { return Gpu(9, 132, 228); }

trace::KernelShapeRecord Shape(uint32_t blocks, uint32_t threads, uint32_t registers, uint32_t static_bytes = 0,
                               uint32_t dynamic_bytes = 0) {
  trace::KernelShapeRecord shape;
  shape.grid_x = blocks;
  shape.block_x = threads;
  shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
  shape.registers_per_thread = registers;
  shape.static_shared_bytes = static_bytes;
  shape.dynamic_shared_bytes = dynamic_bytes;
  return shape;
}

class OccupancyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasOccupancyCalculator()) GTEST_SKIP() << "built without cuda_occupancy.h";
  }
};

void Expect(const trace::DeviceRecord& device, const trace::KernelShapeRecord& shape, int64_t blocks, double percent,
            const std::string& limiter) {
  const std::optional<Occupancy> occupancy = OccupancyOf(device, shape);
  ASSERT_TRUE(occupancy.has_value());
  EXPECT_EQ(occupancy->blocks_per_sm, blocks);
  EXPECT_DOUBLE_EQ(occupancy->percent, percent);
  EXPECT_EQ(occupancy->limiter, limiter);
}

// The percent that a curve has at a value.
double At(const OccupancyCurve& curve, uint32_t value) {
  for (const OccupancyStep& step : curve.steps) {
    if (value <= step.up_to) return step.percent;
  }
  return -1;
}

TEST_F(OccupancyTest, CurvesAreWhatTheCalculatorSaysOfEachValue) {
  const trace::KernelShapeRecord shape = Shape(264, 256, 64, 16384, 8192);
  const std::vector<OccupancyCurve> curves = OccupancyCurvesOf(H200(), shape);
  ASSERT_EQ(curves.size(), 3u);
  const auto percent = [](const trace::KernelShapeRecord& changed) {
    const std::optional<Occupancy> occupancy = OccupancyOf(H200(), changed);
    return occupancy ? occupancy->percent : 0;
  };
  for (uint32_t threads = 1; threads <= 1024; ++threads)
    ASSERT_EQ(At(curves[0], threads), percent(Shape(264, threads, 64, 16384, 8192))) << threads;
  for (uint32_t registers = 1; registers <= 255; ++registers)
    ASSERT_EQ(At(curves[1], registers), percent(Shape(264, 256, registers, 16384, 8192))) << registers;
  for (uint32_t bytes = 0; bytes <= 228 * 1024; bytes += 64)
    ASSERT_EQ(At(curves[2], bytes), percent(Shape(264, 256, 64, 0, bytes))) << bytes;
  for (const OccupancyCurve& curve : curves) EXPECT_EQ(At(curve, curve.now), 50) << curve.resource;
}

TEST_F(OccupancyTest, CurvesKnowTheNearestStepUp) {
  // 64 registers allow 32 warps, whatever the size of their blocks; 48 registers allow 40.
  const std::vector<OccupancyCurve> curves = OccupancyCurvesOf(H200(), Shape(264, 256, 64));
  ASSERT_EQ(curves.size(), 3u);
  EXPECT_FALSE(curves[0].next.has_value());
  ASSERT_TRUE(curves[1].next.has_value());
  EXPECT_EQ(curves[1].next->up_to, 48u);
  EXPECT_EQ(curves[1].next->percent, 62.5);
  EXPECT_FALSE(curves[2].next.has_value());  // there is no less than none
  EXPECT_TRUE(OccupancyCurvesOf({}, Shape(1, 256, 64)).empty());
}

TEST_F(OccupancyTest, OfAnA100) {
  Expect(A100(), Shape(1, 256, 32), 8, 100, "");
  // 64 registers x 32 threads = 2048 a warp, 8 warps on each quarter of the SM: 32 warps, 4 blocks.
  Expect(A100(), Shape(1, 256, 64), 4, 50, "registers");
  // 255 registers take 8192 a warp, 2 warps on each quarter: 8 warps, one block.
  Expect(A100(), Shape(1, 256, 255), 1, 12.5, "registers");
  // 40 KiB and the driver's 1 KiB: 4 times in 164 KiB.
  Expect(A100(), Shape(1, 128, 16, 40 * 1024), 4, 25, "shared memory");
  Expect(A100(), Shape(1, 128, 16, 0, 100 * 1024), 1, 6.25, "shared memory");
  // 32 blocks of one warp.
  Expect(A100(), Shape(1, 32, 16), 32, 50, "blocks per SM");
  Expect(A100(), Shape(1, 1, 16), 32, 50, "blocks per SM");
  // Two blocks of 24 warps: a third one does not fit in 64.
  Expect(A100(), Shape(1, 768, 32), 2, 75, "registers, block size");
}

TEST_F(OccupancyTest, OfAnH200) {
  Expect(H200(), Shape(1, 1024, 32), 2, 100, "");
  Expect(H200(), Shape(1, 128, 16, 0, 200 * 1024), 1, 6.25, "shared memory");
  // 227 KiB and the driver's one are all there is.
  Expect(H200(), Shape(1, 128, 16, 0, 227 * 1024), 1, 6.25, "shared memory");
  // 168 registers: 5376 a warp, 3 warps on each quarter: 12 warps, one block of 12.
  Expect(H200(), Shape(1, 384, 168), 1, 18.75, "registers");
}

TEST_F(OccupancyTest, NotOfWhatIsNotKnown) {
  EXPECT_FALSE(OccupancyOf(trace::DeviceRecord{}, Shape(1, 32, 16)).has_value());
  EXPECT_FALSE(OccupancyOf(H200(), trace::KernelShapeRecord{}).has_value());
  EXPECT_FALSE(OccupancyOf(H200(), Shape(1, 2048, 16)).has_value());               // no such block
  EXPECT_FALSE(OccupancyOf(H200(), Shape(1, 32, 16, 0, 300 * 1024)).has_value());  // does not fit
  EXPECT_FALSE(OccupancyOf(Gpu(99, 132, 228), Shape(1, 32, 16)).has_value());
  trace::KernelShapeRecord shape = Shape(1, 0x80000000u, 0xFFFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFFu);  // of a damaged trace
  shape.block_y = shape.block_z = 2;
  EXPECT_FALSE(OccupancyOf(H200(), shape).has_value());
  EXPECT_FALSE(OccupancyOf(H200(), Shape(1, 32, 0xFFFFFFFFu)).has_value());
  trace::DeviceRecord device = H200();
  device.warp_size = 0x80000000u;
  EXPECT_FALSE(OccupancyOf(device, Shape(1, 32, 16)).has_value());
  device = H200();
  device.max_registers_per_sm = 0xFFFFFFFFu;
  EXPECT_FALSE(OccupancyOf(device, Shape(1, 32, 16)).has_value());
}

// One kernel of 1 ms on an H200.
AnalysisResult OneKernel(const trace::KernelShapeRecord& shape) {
  TraceMaker maker;
  maker.trace().devices[0].properties = H200();
  maker.trace().shapes.push_back(shape);
  maker.AddKernel(0, 1000 * kUs, kNone, "single_thread_sum").shape = 0;
  return RunOccupancy(maker.Finish(), {});
}

// Its first launches may have waited for pages for all of their time.
TEST_F(OccupancyTest, AFewLaunchesOnManagedMemoryAreNotToldToTakeMore) {
  const auto is_told = [](int64_t launches) {
    TraceMaker maker;
    maker.trace().devices[0].properties = H200();
    maker.trace().shapes.push_back(Shape(2, 64, 16));
    maker.AddCall(0, 10 * kUs, "cudaMallocManaged");
    for (int64_t i = 0; i < launches; ++i) maker.AddKernel(i * kMs, (i + 1) * kMs, kNone, "set").shape = 0;
    const AnalysisResult result = RunOccupancy(maker.Finish(), {});
    return FindingOf(result, "occupancy.small_grid") != nullptr;
  };
  EXPECT_FALSE(is_told(3));
  EXPECT_TRUE(is_told(4));
}

TEST_F(OccupancyTest, NcclIsNotToldToTakeMore) {
  TraceMaker maker;
  maker.trace().devices[0].properties = H200();
  maker.trace().shapes.push_back(Shape(24, 544, 96));
  maker.AddKernel(0, 1000 * kUs, kNone, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
      .shape = 0;
  const AnalysisResult result = RunOccupancy(maker.Finish(), {});
  EXPECT_EQ(FindingOf(result, "occupancy.small_grid"), nullptr);
  EXPECT_EQ(MetricOf(result, "occupancy.small_grid_count"), 1);
}

TEST_F(OccupancyTest, OneThreadOnAWholeGpu) {
  const AnalysisResult result = OneKernel(Shape(1, 1, 16));
  const Table& table = TableOf(result, "occupancy");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(RealOf(table, 0, "used_percent"), 100.0 / 132 / 32 / 4);
  EXPECT_EQ(TextOf(table, 0, "grid"), "1");
  const Finding* finding = FindingOf(result, "occupancy.small_grid");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->message,
            "single_thread_sum: 1 launch of 1 block x 1 thread (1.00 ms) on a 132-SM GPU; max. utilisation <0.1%");
  EXPECT_EQ(finding->gain_ns, 999'940);  // 1 ms less its 16,896th part
  EXPECT_EQ(MetricOf(result, "occupancy.small_grid_count"), 1);
  EXPECT_EQ(MetricOf(result, "occupancy.small_grid_ns"), 1000 * kUs);
  EXPECT_EQ(MetricOf(result, "occupancy.below_warp_count"), 1);
  EXPECT_EQ(MetricOf(result, "occupancy.percent"), 50);
  EXPECT_EQ(MetricOf(result, "occupancy.unused_ns"), 999'940);
}

// As Rodinia's gaussian has them: there are blocks enough, and half of each warp has no work.
TEST_F(OccupancyTest, ABlockOfTwoWarpsLeavesHalfOfTheSchedulersWithoutOne) {
  const AnalysisResult result = OneKernel(Shape(128, 64, 16));
  EXPECT_DOUBLE_EQ(RealOf(TableOf(result, "occupancy"), 0, "used_percent"), 100.0 * 128 / 132 / 2);
  EXPECT_NE(FindingOf(result, "occupancy.small_grid"), nullptr);
  EXPECT_EQ(FindingOf(OneKernel(Shape(128, 128, 16)), "occupancy.small_grid"), nullptr);
}

TEST_F(OccupancyTest, ManyBlocksOfHalfAWarpNeedLargerBlocksNotMore) {
  const AnalysisResult result = OneKernel(Shape(1'048'576, 16, 16));
  const Finding* finding = FindingOf(result, "occupancy.small_block");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(FindingOf(result, "occupancy.small_grid"), nullptr);
  EXPECT_EQ(finding->message,
            "single_thread_sum: 1 launch of 1,048,576 blocks x 16 threads (1.00 ms), less than a warp of 32; max. "
            "utilisation 50.0%");
  EXPECT_NE(finding->advice.find("multiple of 32 threads"), std::string::npos);
}

// Two kernels of 1 ms in a window of 10 ms: whatever the GPU waits for, it is not these.
TEST_F(OccupancyTest, WhereTheGpuIsMostlyIdleItIsInformation) {
  TraceMaker maker;
  maker.trace().devices[0].properties = H200();
  maker.trace().shapes.push_back(Shape(1, 32, 16));
  maker.AddKernel(0, 1000 * kUs).shape = 0;
  maker.AddKernel(9000 * kUs, 10'000 * kUs).shape = 0;
  const AnalysisResult result = RunOccupancy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "occupancy.small_grid");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_EQ(finding->gain_ns, 0);
}

// Alone they use 8 of 132 SMs. Four use a quarter of the GPU, and ten more than half of it, which is not small.
TEST_F(OccupancyTest, SmallKernelsCountWhileFewOfThemRunSideBySide) {
  TraceMaker maker;
  maker.trace().devices[0].properties = H200();
  maker.trace().shapes.push_back(Shape(8, 128, 16));
  int64_t start_ns = 0;
  for (const int count : {1, 4, 10}) {
    for (int i = 0; i < count; ++i) maker.AddKernel(start_ns, start_ns + 1000 * kUs).shape = 0;
    start_ns += 1000 * kUs;
  }
  const AnalysisResult result = RunOccupancy(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "occupancy.small_grid");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->gain_ns), 1e6 * (1 - 8.0 / 132) + 1e6 * (1 - 32.0 / 132), 20);
}

TEST_F(OccupancyTest, AGridThatFitsLastsAsLongAsTheFullestSm) {
  // 8 blocks of 256 fit on an SM, 1056 on the GPU. 200 blocks: one SM has two, so half of 264 places are for 200.
  const AnalysisResult result = OneKernel(Shape(200, 256, 32));
  EXPECT_DOUBLE_EQ(RealOf(TableOf(result, "occupancy"), 0, "used_percent"), 100.0 * 200 / 264);
  EXPECT_DOUBLE_EQ(RealOf(TableOf(result, "occupancy"), 0, "waves"), 200.0 / 1056);
  EXPECT_TRUE(result.findings.empty());
}

// Shared memory lets one block on an SM, so that the block that does not fit takes as long as all the others.
TEST_F(OccupancyTest, TheTailOfTheLastWave) {
  const AnalysisResult result = OneKernel(Shape(133, 256, 32, 0, 200 * 1024));
  const Finding* finding = FindingOf(result, "occupancy.tail");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->gain_ns, 496'212);  // 1 - 133 / 264
  EXPECT_NE(finding->message.find(", 1.01 waves"), std::string::npos) << finding->message;
  EXPECT_TRUE(OneKernel(Shape(132, 256, 32, 0, 200 * 1024)).findings.empty());
}

TEST_F(OccupancyTest, TheLastBlocksHaveTheirSmsForThemselves) {
  // 8 blocks fit on an SM. Of one more, an SM has 9 while the others have 8: that is an eighth longer, not twice as
  // long.
  EXPECT_DOUBLE_EQ(RealOf(TableOf(OneKernel(Shape(1056, 256, 32)), "occupancy"), 0, "used_percent"), 100);
  EXPECT_DOUBLE_EQ(RealOf(TableOf(OneKernel(Shape(1057, 256, 32)), "occupancy"), 0, "used_percent"),
                   100.0 * 1057 / (9 * 132));
  // As surfel-cuda of HeCBench has them: 9 or 10 blocks on each SM.
  EXPECT_DOUBLE_EQ(RealOf(TableOf(OneKernel(Shape(1200, 256, 32)), "occupancy"), 0, "used_percent"),
                   100.0 * 1200 / (10 * 132));
}

TEST_F(OccupancyTest, LanesOfTheLastWarp) {
  const AnalysisResult result = OneKernel(Shape(132 * 8, 240, 32));  // 7 warps and a half
  EXPECT_DOUBLE_EQ(RealOf(TableOf(result, "occupancy"), 0, "used_percent"), 100.0 * 240 / 256);
}

TEST_F(OccupancyTest, RankedByWhatIsNotUsed) {
  TraceMaker maker;
  maker.trace().devices[0].properties = H200();
  maker.trace().shapes = {Shape(132 * 8, 256, 32), Shape(66, 256, 32)};
  maker.AddKernel(0, 900, kNone, "full").shape = 0;
  maker.AddKernel(900, 1000, kNone, "half").shape = 1;
  maker.AddKernel(1000, 1100, kNone, "half").shape = 1;
  maker.AddKernel(1100, 1200, kNone, "no shape");
  const AnalysisResult result = RunOccupancy(maker.Finish(), {});
  const Table& table = TableOf(result, "occupancy");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "kernel"), "half");
  EXPECT_EQ(IntOf(table, 0, "kernels"), 2);
  EXPECT_EQ(IntOf(table, 0, "unused_ns"), 100);
  EXPECT_EQ(TextOf(table, 1, "kernel"), "full");
  EXPECT_EQ(IntOf(table, 1, "unused_ns"), 0);
}

TEST_F(OccupancyTest, GridsOfADamagedTrace) {
  trace::KernelShapeRecord shape = Shape(0xFFFFFFFFu, 256, 32);
  shape.grid_y = shape.grid_z = 0xFFFFFFFFu;
  EXPECT_EQ(IntOf(TableOf(OneKernel(shape), "occupancy"), 0, "unused_ns"), 0);
  EXPECT_EQ(IntOf(TableOf(OneKernel(Shape(0, 256, 32)), "occupancy"), 0, "unused_ns"), 0);
}

TEST_F(OccupancyTest, KernelsOfAnUnknownGpuAreCounted) {
  TraceMaker maker;
  maker.trace().shapes.push_back(Shape(1, 1, 16));
  maker.AddKernel(0, 100).shape = 0;
  const AnalysisResult result = RunOccupancy(maker.Finish(), {});
  EXPECT_NE(TableOf(result, "occupancy").note.find("1 kernel with an unknown GPU"), std::string::npos);
}

}  // namespace
}  // namespace gprof::test
