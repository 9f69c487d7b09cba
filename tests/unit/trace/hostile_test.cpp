// Values that no program would write: nothing may overflow, hang or crash, whatever a record says.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chunks.h"
#include "gprof/error.h"
#include "gprof/lists.h"
#include "gprof/trace/wire.h"
#include "random_trace.h"
#include "trace_text.h"

namespace gprof {
namespace {

// Of everything that describes itself.
void ExpectIndexesInRange(const Trace& t) {
  std::array<std::size_t, kRoles> sizes{};
  ForEachList([&](const auto& list) { sizes[static_cast<std::size_t>(list.index)] = (t.*list.list).size(); });
  sizes[static_cast<std::size_t>(Role::kCall)] = t.api_calls.size();
  sizes[static_cast<std::size_t>(Role::kRange)] = t.ranges.size();
  ForEachList([&](const auto& list) {
    int64_t before_ns = std::numeric_limits<int64_t>::min();
    for (const auto& item : t.*list.list) {
      if (list.is_by_time) {
        ASSERT_LE(std::exchange(before_ns, WhenOf(item)), WhenOf(item)) << list.name;
      }
      std::decay_t<decltype(item)>::Fields(item, [&](FieldOf field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, NameId>) {
          ASSERT_LT(value.value, t.strings.size()) << list.name;
        }
        if constexpr (std::is_same_v<T, uint32_t>) {
          const std::size_t size = sizes[static_cast<std::size_t>(field.role)];
          const bool is_end = field.role == Role::kPayloadValue;
          if (field.role < Role::kProcess || value == kNone) return;
          ASSERT_LT(value, size + (is_end ? 1 : 0)) << list.name << ' ' << field.name;
        }
      });
    }
  });
}

void ExpectSound(const Trace& t) {
  const auto in = [](uint32_t index, const auto& v) { return index == kNone || index < v.size(); };
  ExpectIndexesInRange(t);
  for (uint32_t i = 0; i < t.stacks.size(); ++i) {
    ASSERT_TRUE(t.stacks[i].parent == kNone || t.stacks[i].parent < i);
  }
  for (const GpuOp& op : t.ops) {
    ASSERT_LE(op.start_ns, op.end_ns);
    ASSERT_LT(op.device, t.devices.size());
    ASSERT_LT(op.stream, t.streams.size());
    ASSERT_LT(op.process, t.processes.size());
    ASSERT_LT(op.name.value, t.strings.size());
    ASSERT_TRUE(in(op.api, t.api_calls) && in(op.shape, t.shapes) && in(op.peer_device, t.devices));
  }
  for (uint32_t i = 0; i < t.api_calls.size(); ++i) {
    const ApiCall& c = t.api_calls[i];
    ASSERT_LE(c.start_ns, c.end_ns);
    ASSERT_LT(c.thread, t.threads.size());
    ASSERT_TRUE(c.parent == kNone || c.parent < i);
    ASSERT_TRUE(in(c.range, t.ranges));
  }
  for (uint32_t i = 0; i < t.ranges.size(); ++i) {
    const NvtxRange& r = t.ranges[i];
    ASSERT_LE(r.start_ns, r.end_ns);
    ASSERT_TRUE(r.parent == kNone || r.parent < i);
    ASSERT_LT(r.domain, t.domains.size());
    ASSERT_LT(r.path.value, t.strings.size());
  }
  for (const Stream& s : t.streams) ASSERT_TRUE(in(s.device, t.devices) && in(s.process, t.processes));
  for (const Sync& s : t.syncs) ASSERT_TRUE(in(s.api, t.api_calls) && in(s.stream, t.streams));
  for (const MemoryEvent& m : t.memory_events) {
    ASSERT_TRUE(in(m.api, t.api_calls) && in(m.stream, t.streams) && in(m.device, t.devices));
  }
  for (const MemoryPoolEvent& p : t.memory_pools) ASSERT_TRUE(in(p.api, t.api_calls) && in(p.device, t.devices));
  for (const EventRecord& e : t.event_records) {
    ASSERT_TRUE(in(e.api, t.api_calls) && in(e.stream, t.streams) && in(e.thread, t.threads));
  }
  for (const ManagedMemory& m : t.managed_memory) {
    ASSERT_TRUE(in(m.source, t.devices) && in(m.destination, t.devices) && in(m.stream, t.streams));
    ASSERT_LE(m.start_ns, m.end_ns);
  }
  for (const GraphNode& n : t.graph_nodes) {
    ASSERT_TRUE(in(n.source, t.graph_nodes) && in(n.api, t.api_calls) && in(n.range, t.ranges));
    ASSERT_TRUE(n.source == kNone || t.graph_nodes[n.source].original_id == 0);
  }
  for (const GpuOp& op : t.ops) ASSERT_TRUE(in(op.node, t.graph_nodes));
  for (const NvtxPayload& p : t.payloads) {
    ASSERT_TRUE(in(p.range, t.ranges) && in(p.mark, t.marks) && in(p.domain, t.domains));
    ASSERT_TRUE(p.first_value <= p.last_value && p.last_value <= t.payload_values.size());
  }
  for (const PayloadValue& v : t.payload_values) ASSERT_TRUE(in(v.key.value, t.strings) && in(v.text.value, t.strings));
  ASSERT_EQ(t.process_captures.size(), t.processes.size());
  for (std::size_t i = 0; i < t.captures.size(); ++i) {
    ASSERT_LE(t.captures[i].start_ns, t.captures[i].end_ns);
    const bool follows = i > 0 && t.captures[i - 1].process == t.captures[i].process;
    ASSERT_TRUE(!follows || t.captures[i - 1].end_ns <= t.captures[i].start_ns);
  }
  ASSERT_EQ(t.thread_api_calls.size(), t.threads.size());
  ASSERT_EQ(t.thread_ranges.size(), t.threads.size());
  ASSERT_EQ(t.device_ops.size(), t.devices.size());
  const auto by_device = [](const GpuOp& a, const GpuOp& b) {
    return std::tie(a.device, a.start_ns, a.end_ns) < std::tie(b.device, b.start_ns, b.end_ns);
  };
  ASSERT_TRUE(std::is_sorted(t.ops.begin(), t.ops.end(), by_device));
  ASSERT_TRUE(std::is_sorted(t.devices.begin(), t.devices.end(),
                             [](const Device& a, const Device& b) { return a.ordinal < b.ordinal; }));
  for (const auto& [first, last] : t.thread_ranges) {
    ASSERT_TRUE(std::is_sorted(t.ranges.begin() + first, t.ranges.begin() + last,
                               [](const NvtxRange& a, const NvtxRange& b) { return a.start_ns < b.start_ns; }));
  }
}

TEST(Hostile, AnyTraceGivesASoundModel) {
  for (uint64_t seed = 1000; seed < 1400; ++seed) {
    SCOPED_TRACE(seed);
    ExpectSound(LoadTraceFromMemory(RandomTrace(seed), "t"));
    if (HasFatalFailure()) return;
  }
}

TEST(Hostile, HugeTimesAreCutAndStaySums) {
  const Trace t = LoadText(R"(
process start_ns=18446744073709551615 name="p"
api start_ns=18446744073709551615 duration_ns=18446744073709551615 tid=1 function="f"
api start_ns=5 duration_ns=18446744073709551615 tid=1 function="g"
sync start_ns=9223372036854775807 duration_ns=9223372036854775807 tid=1
nvtx time_ns=18446744073709551615 tid=1 event=2 message="r"
stream created_ns=18446744073709551615 context=1 stream=1
memory time_ns=18446744073709551615
clock monotonic_ns=18446744073709551615
)");
  ExpectSound(t);
  EXPECT_GT(t.end_ns, 0);
  for (const ApiCall& c : t.api_calls) EXPECT_GE(c.DurationNs(), 0);
  EXPECT_GE(t.syncs[0].DurationNs(), 0);
  EXPECT_GE(t.end_ns - t.start_ns, 0);
}

TEST(Hostile, ATraceWithoutAnythingHasNoTimes) {
  const Trace t = LoadText("chunk kind=kernel\n");
  ExpectSound(t);
  EXPECT_EQ(t.start_ns, 0);
  EXPECT_EQ(t.end_ns, 0);
  EXPECT_EQ(t.processes.size(), 1u);
}

TEST(Hostile, ManyCrossingRangesAndCallsStayLinear) {
  // 20,000 domains whose ranges all overlap: every shortcut of nesting fails here.
  std::string text;
  for (int i = 1; i <= 20000; ++i) {
    const std::string domain = std::to_string(i);
    text += "nvtx time_ns=" + domain + " tid=1 event=2 domain=" + domain + "\n";
    text += "nvtx time_ns=" + std::to_string(100000 + i) + " tid=1 event=3 domain=" + domain + "\n";
    text += "api start_ns=" + domain + " duration_ns=100000 tid=1\n";
  }
  const Trace t = LoadText(text);
  ExpectSound(t);
  EXPECT_EQ(t.ranges.size(), 20000u);
  EXPECT_EQ(t.health.open_ranges, 0u);
}

TEST(Hostile, ManyCapturesThreadsAndNodesStayLinear) {
  std::string text;
  for (int i = 1; i <= 20000; ++i) {
    const std::string number = std::to_string(i), time = std::to_string(10 * i);
    text += "capture time_ns=" + time + " event=1 trigger=6 number=" + number + "\n";
    text += "capture time_ns=" + std::to_string(10 * i + 5) + " event=2 trigger=6 number=" + number + "\n";
    text += "nvtx time_ns=9000000 tid=" + number + " event=2 message=\"r\"\n";
    text += "api start_ns=" + time + " duration_ns=1000000 tid=1\n";  // all within each other
    text += "graph_node time_ns=900000 tid=1 node=" + number + "\n";
  }
  const Trace t = LoadText(text);
  ExpectSound(t);
  EXPECT_EQ(t.captures.size(), 20000u);
  EXPECT_EQ(t.graph_nodes.size(), 20000u);
}

// Records that are all alike take no bytes of their own: 33 MB hold more of them than there are numbers.
TEST(Hostile, MoreRecordsThanTheModelCanNumberAreRefused) {
  std::vector<trace::ApiRecord> calls(trace::kMaxChunkRecords);
  std::vector<unsigned char> body(1024);
  trace::ByteWriter out(body.data(), body.size());
  trace::EncodeBlock(calls.data(), calls.size(), out);
  ASSERT_FALSE(out.overflow());
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kApi);
  const std::string_view packed(reinterpret_cast<const char*>(body.data()), out.size());
  std::string bytes;
  for (; header.sequence <= kNone / trace::kMaxChunkRecords; ++header.sequence) bytes += MakeChunk(header, packed);
  EXPECT_THROW(LoadTraceFromMemory(bytes, "many.trace"), Error);
}

}  // namespace
}  // namespace gprof
