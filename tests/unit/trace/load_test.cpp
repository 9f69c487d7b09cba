// What LoadTrace makes of a small whole trace.
#include <gtest/gtest.h>

#include "trace_text.h"

namespace gprof {
namespace {

constexpr char kSmall[] = R"(
chunk pid=7
process start_ns=100 pid=7 parent_pid=6 name="app" host="box"
device name="H200" uuid="GPU-1" sm_count=132
context context=1 null_stream=7
thread tid=70 name="main"
stream created_ns=120 context=1 stream=13 handle=4096
api start_ns=200 duration_ns=50 tid=70 correlation=5 function="cudaLaunchKernel_v7000" domain=1
kernel start_ns=300 duration_ns=100 context=1 stream=13 correlation=5 name="saxpy" shape={grid_x=4 block_x=256}
end time_ns=1000 reason=1
)";

TEST(Load, JoinsASmallTrace) {
  const Trace t = LoadText(kSmall);
  EXPECT_TRUE(t.health.IsComplete());
  EXPECT_EQ(t.record_count, 8u);
  ASSERT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.Text(t.processes[0].name), "app");
  EXPECT_TRUE(t.processes[0].has_end);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.ops[0].api, 0u);
  EXPECT_EQ(t.Text(t.ops[0].name), "saxpy");
  EXPECT_EQ(t.shapes[t.ops[0].shape].block_x, 256u);
  ASSERT_EQ(t.api_calls.size(), 1u);
  EXPECT_EQ(t.api_calls[0].op_count, 1u);
  EXPECT_EQ(t.api_calls[0].api_class, ApiClass::kLaunch);
  EXPECT_EQ(t.health.unmatched_launches, 0u);
  ASSERT_EQ(t.streams.size(), 2u);
  EXPECT_EQ(t.start_ns, 100);
  EXPECT_EQ(t.end_ns, 1000);
}

TEST(Load, DumpIsTheInverseOfAssemble) {
  const std::string dump = DumpText(AssembleTrace(kSmall));
  EXPECT_EQ(DumpText(AssembleTrace(dump)), dump) << dump;
}

}  // namespace
}  // namespace gprof
