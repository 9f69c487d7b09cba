// What LoadTrace makes of a small whole trace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "chunks.h"
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

// More chunks than are looked at side by side, every third compressed; in the middle damage, and a chunk that is there
// twice.
TEST(Load, ManyChunksAreReadInTheirOrder) {
  std::string text;
  for (uint32_t i = 0; i < 700; ++i) {
    text += fmt::format("chunk pid=7 sequence={}{}\n", i, i % 3 == 0 ? " zstd=1" : "");
    for (uint32_t k = 1; k <= 20; ++k) {
      text += fmt::format("api start_ns={} duration_ns=5 tid=70 correlation={} function=\"function {}\"\n",
                          1000 * i + k * 10, 20 * i + k, (i + k) % 50);
    }
  }
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(text));
  ASSERT_EQ(HeaderOf(chunks[0]).flags, trace::kChunkZstd);
  chunks[301].back() ^= 1;
  chunks[303].back() ^= 1;
  std::string bytes;
  for (const std::string& chunk : chunks) bytes += chunk;
  bytes += chunks[5] + chunks[6] + "torn";
  const Trace t = LoadTraceFromMemory(bytes, "many.trace");
  EXPECT_EQ(t.health.chunks, 698u);
  EXPECT_EQ(t.health.damaged_chunks, 2u);
  EXPECT_EQ(t.health.duplicate_chunks, 2u);
  EXPECT_EQ(t.health.skipped_bytes, 4u);
  ASSERT_EQ(t.api_calls.size(), 698u * 20);
  uint32_t at = 0;
  for (uint32_t i = 0; i < 700; ++i) {
    if (i == 301 || i == 303) continue;
    for (uint32_t k = 1; k <= 20; ++k, ++at) {
      ASSERT_EQ(t.api_calls[at].correlation, 20 * i + k);
      ASSERT_EQ(t.Text(t.api_calls[at].function), fmt::format("function {}", (i + k) % 50));
    }
  }
}

}  // namespace
}  // namespace gprof
