#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/topics/analyses.h"
#include "random_trace.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::ManagedKind;
using trace::MemoryKind;
using trace::MemoryOp;

class Memory {
 public:
  void Allocate(int64_t time_ns, uint64_t address, uint64_t bytes, MemoryKind memory = MemoryKind::kDevice,
                uint32_t device = 0, uint32_t api = kNone) {
    Add({time_ns, address, bytes, 0, 0, device, kNone, api, MemoryOp::kAllocate, memory, false});
  }
  void Free(int64_t time_ns, uint64_t address, uint32_t process = 0) {
    Add({time_ns, address, 0, 0, process, 0, kNone, kNone, MemoryOp::kFree, MemoryKind::kDevice, false});
  }
  void Managed(ManagedKind kind, int64_t start_ns, int64_t end_ns, uint64_t value) {
    ManagedMemory m;
    m.kind = kind;
    m.start_ns = start_ns;
    m.end_ns = end_ns;
    m.value = value;
    maker.trace().managed_memory.push_back(m);
  }
  AnalysisResult Run() { return RunMemory(maker.Finish(), {}); }
  TraceMaker maker;

 private:
  void Add(const MemoryEvent& event) { maker.trace().memory_events.push_back(event); }
};

TEST(MemoryUse, PeakIsWhatWasAllocatedAtOneTime) {
  Memory m;
  m.maker.AddRange(50, 90, "step/load");
  const uint32_t call = m.maker.AddCall(55, 60, "cudaMalloc");
  m.Allocate(10, 0x100, 1000);
  m.Free(20, 0x100);
  m.Allocate(30, 0x100, 300);
  m.Allocate(57, 0x200, 900, MemoryKind::kDevice, 0, call);
  m.Allocate(58, 0x300, 5000, MemoryKind::kPinned);
  m.Free(70, 0x300);
  m.Free(80, 0x100);
  const AnalysisResult result = m.Run();
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes", "gpu0"), 1200);
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes"), 1200);
  EXPECT_EQ(MetricOf(result, "memory.allocations"), 4);
  EXPECT_EQ(MetricOf(result, "memory.frees"), 3);
  EXPECT_EQ(MetricOf(result, "memory.leaked_bytes"), 900);
  const Table& table = TableOf(result, "memory");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(TextOf(table, 0, "memory"), "pinned");
  EXPECT_EQ(IntOf(table, 0, "peak_bytes"), 5000);
  EXPECT_EQ(IntOf(table, 0, "not_freed"), 0);
  EXPECT_EQ(TextOf(table, 1, "memory"), "device");
  EXPECT_EQ(IntOf(table, 1, "peak_bytes"), 1200);
  EXPECT_EQ(IntOf(table, 1, "peak_ns"), 57 - 50);  // the trace begins at 50
  EXPECT_EQ(IntOf(table, 1, "allocated_bytes"), 2200);
  EXPECT_EQ(IntOf(table, 1, "not_freed_bytes"), 900);
  EXPECT_EQ(TextOf(table, 1, "path"), "step/load");
}

TEST(MemoryUse, FreesOfOlderBlocksTakeNothingAway) {
  Memory m;
  m.Free(5, 0x900);
  m.Allocate(10, 0x100, 1000);
  m.Free(12, 0x900);
  m.Allocate(20, 0x200, 500);
  EXPECT_EQ(MetricOf(m.Run(), "memory.peak_bytes", "gpu0"), 1500);
}

TEST(MemoryUse, AnAddressThatIsGivenOutAgainWasFreed) {
  Memory m;
  m.Allocate(10, 0x100, 1000);
  m.Allocate(20, 0x100, 600);
  const AnalysisResult result = m.Run();
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes", "gpu0"), 1000);
  EXPECT_EQ(MetricOf(result, "memory.leaked_bytes"), 600);
}

TEST(MemoryUse, ProcessesHaveAddressesOfTheirOwnAndShareTheGpu) {
  Memory m;
  m.maker.AddProcess(200);
  m.Allocate(10, 0x100, 1000);
  m.Allocate(20, 0x100, 600);
  m.maker.trace().memory_events.back().process = 1;
  m.Free(30, 0x100, 1);
  const AnalysisResult result = m.Run();
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes", "gpu0"), 1600);
  EXPECT_EQ(MetricOf(result, "memory.leaked_bytes"), 1000);
}

TEST(MemoryUse, StaticMemoryIsNotLeaked) {
  Memory m;
  m.Allocate(10, 0x100, 1000, MemoryKind::kDeviceStatic);
  const AnalysisResult result = m.Run();
  EXPECT_EQ(MetricOf(result, "memory.leaked_bytes"), 0);
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes", "gpu0"), 1000);
  EXPECT_EQ(TextOf(TableOf(result, "memory"), 0, "memory"), "device (static)");
}

// Whether these zeros are known is for the catalogue to say.
TEST(MemoryUse, WithoutItsRecordsIsZero) {
  Memory m;
  m.maker.Launch(0, 10, 20, 30);
  const AnalysisResult result = m.Run();
  for (const Metric& metric : result.metrics) EXPECT_EQ(metric.value, 0) << metric.id;
  EXPECT_TRUE(result.findings.empty());
  for (const Table& table : result.tables) EXPECT_TRUE(table.rows.empty()) << table.id;
}

TEST(MemoryUse, OfRandomTracesIsThatOfEveryEvent) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = RandomTrace(seed);
    std::map<uint32_t, uint64_t> expected;
    for (size_t n = 0; n <= trace.memory_events.size(); ++n) {
      // The last event of each address among the first n says whether its block is in use.
      std::map<std::pair<uint32_t, uint64_t>, const MemoryEvent*> last;
      for (size_t i = 0; i < n; ++i)
        last[{trace.memory_events[i].process, trace.memory_events[i].address}] = &trace.memory_events[i];
      std::map<uint32_t, uint64_t> now;
      for (const auto& [key, event] : last) {
        const bool is_device = event->memory == MemoryKind::kDevice || event->memory == MemoryKind::kArray ||
                               event->memory == MemoryKind::kDeviceStatic;
        if (event->operation == MemoryOp::kAllocate && is_device) now[event->device] += event->size_bytes;
      }
      for (const auto& [device, bytes] : now) expected[device] = std::max(expected[device], bytes);
    }
    const AnalysisResult result = RunMemory(trace, {});
    for (const auto& [device, bytes] : expected) {
      if (device == kNone) continue;
      ASSERT_EQ(MetricOf(result, "memory.peak_bytes", "gpu" + std::to_string(trace.devices[device].ordinal)),
                static_cast<double>(bytes));
    }
  }
}

TEST(MemoryOverTime, HasEqualSlicesWithThePeakAndTheLastValue) {
  Memory m;
  m.Allocate(100, 0x100, 1000);
  m.Allocate(130, 0x200, 500);
  m.Free(140, 0x200);
  m.Allocate(150, 0x300, 9000, MemoryKind::kPinned);  // not of the GPU
  m.Allocate(260, 0x400, 300);
  m.Free(300, 0x100);
  AnalysisOptions options;
  options.max_rows = 5;
  const AnalysisResult result = RunMemory(m.maker.Finish(), options);
  const Table& table = TableOf(result, "memory_over_time");
  ASSERT_EQ(table.rows.size(), 5u);
  const int64_t until_ns[] = {140, 180, 220, 260, 300}, bytes[] = {1500, 1000, 1000, 1000, 300},
                highest[] = {1500, 1500, 1000, 1000, 1300}, allocations[] = {2, 0, 0, 0, 1}, frees[] = {0, 1, 0, 0, 1};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(IntOf(table, i, "time_ns"), until_ns[i]) << i;
    EXPECT_EQ(IntOf(table, i, "bytes"), bytes[i]) << i;
    EXPECT_EQ(IntOf(table, i, "highest_bytes"), highest[i]) << i;
    EXPECT_EQ(IntOf(table, i, "allocations"), allocations[i]) << i;
    EXPECT_EQ(IntOf(table, i, "frees"), frees[i]) << i;
  }
  EXPECT_EQ(RealOf(table, 0, "percent"), 100);
}

TEST(MemoryOverTime, OfRandomTracesKeepsPeaksAndLastValues) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = RandomTrace(seed);
    AnalysisOptions options;
    options.max_rows = 1 + seed % 40;
    const AnalysisResult result = RunMemory(trace, options);
    const Table& table = TableOf(result, "memory_over_time");
    std::map<std::string, int64_t> peaks, last, now;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      int64_t& peak = peaks[TextOf(table, i, "device")];
      peak = std::max(peak, IntOf(table, i, "highest_bytes"));
      last[TextOf(table, i, "device")] = IntOf(table, i, "bytes");
      EXPECT_LE(IntOf(table, i, "bytes"), IntOf(table, i, "highest_bytes"));
    }
    std::map<std::pair<uint32_t, uint64_t>, const MemoryEvent*> alive;
    for (const MemoryEvent& event : trace.memory_events) alive[{event.process, event.address}] = &event;
    for (const auto& [key, event] : alive) {
      const bool is_device = event->memory == MemoryKind::kDevice || event->memory == MemoryKind::kArray ||
                             event->memory == MemoryKind::kDeviceStatic;
      if (event->operation != MemoryOp::kAllocate || !is_device) continue;
      now[event->device == kNone ? "(unknown)" : "gpu" + std::to_string(event->device)] +=
          static_cast<int64_t>(event->size_bytes);
    }
    for (const auto& [device, bytes] : last) EXPECT_EQ(bytes, now[device]) << device;
    for (const auto& [device, bytes] : peaks) {
      if (device == "(unknown)") continue;
      EXPECT_EQ(MetricOf(result, "memory.peak_bytes", device), static_cast<double>(bytes));
    }
  }
}

TEST(ManagedMemory, IsSummedByKind) {
  Memory m;
  m.maker.Launch(0, 10, 20, 1020);
  m.Managed(ManagedKind::kHostToDevice, 30, 50, 4096);
  m.Managed(ManagedKind::kHostToDevice, 60, 80, 4096);
  m.Managed(ManagedKind::kDeviceToHost, 90, 92, 100);
  m.Managed(ManagedKind::kGpuPageFault, 30, 90, 16);
  m.Managed(ManagedKind::kCpuPageFaults, 95, 95, 3);
  const AnalysisResult result = m.Run();
  EXPECT_EQ(MetricOf(result, "memory.managed_h2d_count"), 2);
  EXPECT_EQ(MetricOf(result, "memory.managed_h2d_bytes"), 8192);
  EXPECT_EQ(MetricOf(result, "memory.managed_h2d_ns"), 40);
  EXPECT_EQ(MetricOf(result, "memory.managed_d2h_bytes"), 100);
  EXPECT_EQ(MetricOf(result, "memory.managed_d2d_count"), 0);
  EXPECT_EQ(MetricOf(result, "memory.gpu_page_faults"), 16);
  EXPECT_EQ(MetricOf(result, "memory.gpu_fault_ns"), 60);
  EXPECT_EQ(MetricOf(result, "memory.cpu_page_faults"), 3);
  EXPECT_EQ(MetricOf(result, "memory.allocations"), 0);
  const Table& table = TableOf(result, "managed_memory");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(TextOf(table, 0, "what"), "GPU page faults");
  EXPECT_EQ(IntOf(table, 0, "pages"), 16);
  EXPECT_EQ(TextOf(table, 1, "what"), "host to device");
  EXPECT_EQ(IntOf(table, 1, "bytes"), 8192);
  EXPECT_EQ(RealOf(table, 1, "bytes_per_second"), 8192e9 / 40);
  const Finding* migrations = FindingOf(result, "memory.migrations");
  ASSERT_NE(migrations, nullptr);
  EXPECT_EQ(migrations->gain_ns, 2);                 // what came to the GPU came within its faults
  EXPECT_EQ(migrations->severity, Severity::kNote);  // 42 ns of 1,000
  const Finding* faults = FindingOf(result, "memory.page_faults");
  ASSERT_NE(faults, nullptr);
  EXPECT_EQ(faults->severity, Severity::kWarning);
  EXPECT_NE(faults->message.find("16 pages"), std::string::npos);
}

TEST(MemoryPools, ShowTheirLargestSizes) {
  Memory m;
  m.maker.Launch(0, 10, 20, 30);
  MemoryPoolEvent p;
  p.process = 0;
  p.device = 0;
  p.pool = 500;
  p.time_ns = 5;
  p.operation = trace::PoolOp::kCreate;
  m.maker.trace().memory_pools.push_back(p);
  p.time_ns = 15;
  p.operation = trace::PoolOp::kTrim;
  p.size_bytes = 300;
  p.used_bytes = 200;
  p.release_threshold_bytes = 100;
  m.maker.trace().memory_pools.push_back(p);
  p.time_ns = 25;
  p.operation = trace::PoolOp::kDestroy;
  p.size_bytes = p.used_bytes = 0;
  m.maker.trace().memory_pools.push_back(p);
  const AnalysisResult result = m.Run();
  const Table& table = TableOf(result, "memory_pools");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(TextOf(table, 0, "device"), "gpu0");
  EXPECT_EQ(IntOf(table, 0, "size_bytes"), 300);
  EXPECT_EQ(IntOf(table, 0, "used_bytes"), 200);
  EXPECT_EQ(IntOf(table, 0, "trims"), 1);
  EXPECT_EQ(IntOf(table, 0, "created_ns"), 5);
  EXPECT_EQ(IntOf(table, 0, "destroyed_ns"), 25);
}

}  // namespace
}  // namespace gprof::test
