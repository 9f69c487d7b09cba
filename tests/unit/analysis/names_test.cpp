#include <gtest/gtest.h>

#include "analysis/result/display_names.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(Names, KernelsOfNccl) {
  EXPECT_TRUE(IsNcclKernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_TRUE(IsNcclKernel("ncclKernel_AllGather(int)"));
  EXPECT_FALSE(IsNcclKernel("all_reduce"));
  EXPECT_FALSE(IsNcclKernel(""));
}

TEST(Names, OfOperations) {
  TraceMaker maker;
  maker.AddKernel(0, 1, kNone, "_Z4spinl");
  maker.AddKernel(2, 3, kNone, "");
  maker.AddFill(4, 5, 1);
  maker.AddCopy(6, 7, 1, trace::CopyKind::kDeviceToHost);
  GpuOp& graph = maker.AddKernel(8, 9);
  graph.kind = OpKind::kGraph;
  graph.graph = 12;
  const Trace trace = maker.Finish();
  EXPECT_EQ(OpName(trace, trace.ops[0]), "spin(long)");
  EXPECT_EQ(OpName(trace, trace.ops[1]), "(unnamed kernel)");
  EXPECT_EQ(OpName(trace, trace.ops[2]), "memset");
  EXPECT_EQ(OpName(trace, trace.ops[3]), "copy device to host");
  EXPECT_EQ(OpName(trace, trace.ops[4]), "graph 12");
}

TEST(Names, OfStreamsAndThreads) {
  TraceMaker maker;
  const uint32_t plain = maker.AddStream(13), named = maker.AddStream(14), other = maker.AddStream(7, false);
  maker.trace().streams[named].name = maker.Name("copy");
  const uint32_t nameless = maker.AddThread(0, 101);
  const Trace trace = maker.Finish();
  EXPECT_EQ(StreamName(trace, plain), "stream 13");
  EXPECT_EQ(StreamName(trace, named), "copy (14)");
  EXPECT_EQ(StreamName(trace, other), "default stream");
  EXPECT_EQ(StreamName(trace, kNone), "(unknown)");
  EXPECT_EQ(ThreadName(trace, 0), "main (100)");
  EXPECT_EQ(ThreadName(trace, nameless), "thread 101");
  EXPECT_EQ(FunctionName(trace, kNone), "(unknown)");
}

TEST(Names, OfKindsThatAFileMayInvent) {
  EXPECT_EQ(MemoryName(static_cast<trace::MemoryKind>(200)), "unknown");
  GpuOp op;
  op.kind = OpKind::kMemcpy;
  op.copy_kind = static_cast<trace::CopyKind>(200);
  EXPECT_EQ(DirectionOf(op), Direction::kOther);
}

}  // namespace
}  // namespace gprof::test
