#include "analysis/topics/memory/memory_churn.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using trace::MemoryKind;
using trace::MemoryOp;

// A program that allocates, works and frees in each step of 1,000 ns; every call takes 40 ns.
class Churning {
 public:
  void Allocate(int64_t time_ns, uint64_t address, uint64_t bytes, const char* function = "cudaMalloc") {
    const uint32_t call = maker.AddCall(time_ns, time_ns + 40, function);
    if (has_records) Add(time_ns + 30, address, bytes, MemoryOp::kAllocate, call);
  }
  void Free(int64_t time_ns, uint64_t address, const char* function = "cudaFree") {
    const uint32_t call = maker.AddCall(time_ns, time_ns + 40, function);
    if (has_records) Add(time_ns + 30, address, 0, MemoryOp::kFree, call);
  }
  // The GPU waits from 900 ns of a step to 200 ns of the next: 60 ns of free, 40 ns of launch, the rest the host.
  void Steps(int64_t count, const char* allocate = "cudaMalloc", const char* free = "cudaFree") {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at_ns = 1000 * i;
      maker.AddRange(at_ns, at_ns + 999, "step");
      Allocate(at_ns + 10, 0x100, 4096, allocate);
      maker.Launch(at_ns + 150, at_ns + 160, at_ns + 200, at_ns + 900);
      Free(at_ns + 920, 0x100, free);
    }
  }
  AnalysisResult Run() { return RunMemory(maker.Finish(), {}); }

  TraceMaker maker;
  bool has_records = true;

 private:
  void Add(int64_t time_ns, uint64_t address, uint64_t bytes, MemoryOp operation, uint32_t call) {
    maker.trace().memory_events.push_back(
        {time_ns, address, bytes, 0, 0, 0, kNone, call, operation, MemoryKind::kDevice, false});
  }
};

TEST(MemoryChurn, CountsBlocksThatCouldHaveBeenKept) {
  Churning c;
  c.Steps(20);
  const AnalysisResult result = c.Run();
  EXPECT_EQ(MetricOf(result, "memory.churn_count"), 19);  // the first block is new
  EXPECT_EQ(MetricOf(result, "memory.churn_ns"), 19 * 80);
  EXPECT_EQ(MetricOf(result, "memory.churn_idle_ns"), 19 * 80);
  EXPECT_EQ(MetricOf(result, "memory.growth_bytes"), 0);
  const Table& table = TableOf(result, "memory_churn");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_FALSE(table.is_detail);
  EXPECT_EQ(IntOf(table, 0, "pairs"), 19);
  EXPECT_EQ(IntOf(table, 0, "size_bytes"), 4096);
  EXPECT_EQ(IntOf(table, 0, "steps"), 19);
  EXPECT_EQ(TextOf(table, 0, "path"), "step");
  EXPECT_EQ(TextOf(table, 0, "function"), "cudaMalloc");
  EXPECT_EQ(TextOf(table, 0, "free_function"), "cudaFree");
  const Finding* finding = FindingOf(result, "memory.churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(
      WordsOf(finding),
      "Device memory was freed and allocated again at the same size 19 times: 1.52 us in those calls, GPU idle "
      "for 1.52 us of that | Most affected: 19 x 4.10 kB by cudaMalloc in step (in 19 of 20 \"step\" iterations)");
  EXPECT_EQ(finding->gain_ns, 19 * 80);
  EXPECT_EQ(finding->severity, Severity::kNote);  // 8 % of the window
  EXPECT_NE(finding->advice.find("cudaMallocAsync"), std::string::npos);
}

TEST(MemoryChurn, IsSeenInTheCallsAloneAndSaysWhatIsMissing) {
  Churning c;
  c.has_records = false;
  c.Steps(20);
  const AnalysisResult result = c.Run();
  EXPECT_EQ(MetricOf(result, "memory.churn_count"), 19);
  EXPECT_EQ(MetricOf(result, "memory.churn_idle_ns"), 19 * 80);
  EXPECT_EQ(MetricOf(result, "memory.growth_bytes"), 0);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(CellOf(TableOf(result, "memory_churn"), 0, "size_bytes")));
  const Finding* finding = FindingOf(result, "memory.churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->advice.find("--cuda-memory-usage=true"), std::string::npos);
}

TEST(MemoryChurn, OfAPoolHasAnotherAdvice) {
  Churning c;
  c.Steps(20, "cudaMallocAsync", "cudaFreeAsync");
  const AnalysisResult result = c.Run();
  const Finding* finding = FindingOf(result, "memory.churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->message.find("Pool memory"), std::string::npos);
  EXPECT_NE(finding->advice.find("cudaMemPoolAttrReleaseThreshold"), std::string::npos);
  EXPECT_EQ(finding->advice.find("use cudaMallocAsync"), std::string::npos);
}

TEST(MemoryChurn, IsNotWhatAProgramAllocatesOnce) {
  Churning c;
  for (int64_t i = 0; i < 50; ++i) c.Allocate(i * 50, static_cast<uint64_t>(0x100 + i), 4096);
  c.maker.Launch(3000, 3010, 3020, 3500);
  c.maker.Launch(3600, 3610, 3620, 4000);
  for (int64_t i = 0; i < 50; ++i) c.Free(5000 + i * 50, static_cast<uint64_t>(0x100 + i));
  for (const bool has_records : {true, false}) {
    c.has_records = has_records;
    const AnalysisResult result = c.Run();
    EXPECT_EQ(MetricOf(result, "memory.churn_count"), 0);
    EXPECT_EQ(FindingOf(result, "memory.churn"), nullptr);
  }
}

TEST(MemoryChurn, SizesDoNotStandForEachOther) {
  Churning c;
  c.Allocate(0, 0x100, 1000);
  c.Free(50, 0x100);
  c.Allocate(100, 0x100, 2000);
  c.Free(150, 0x100);
  c.Allocate(200, 0x100, 1000);
  c.Allocate(250, 0x200, 1000);  // the block of 1,000 bytes is in use again
  EXPECT_EQ(MetricOf(c.Run(), "memory.churn_count"), 1);
}

TEST(MemoryChurn, RegistrationsAreSeenInTheCalls) {
  Churning c;
  c.Allocate(0, 0x100, 1000);  // there are records, and none for registrations
  c.has_records = false;
  c.Steps(20, "cudaHostRegister", "cudaHostUnregister");
  for (ApiCall& call : c.maker.calls()) {
    if (call.api_class == ApiClass::kOther) call.api_class = ApiClass::kMemory;
  }
  const AnalysisResult result = c.Run();
  EXPECT_EQ(MetricOf(result, "memory.churn_count"), 19);
  const Finding* finding = FindingOf(result, "memory.churn");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->message.find("registered"), std::string::npos);
}

TEST(MemoryChurn, KnowsCallsByTheirNames) {
  const auto kind = MemoryCallKindOf;
  EXPECT_EQ(kind("cudaMalloc"), MemoryCallKind::kDevice);
  EXPECT_EQ(kind("cuMemAlloc_v2"), MemoryCallKind::kDevice);
  EXPECT_EQ(kind("cudaFree"), MemoryCallKind::kDevice);
  EXPECT_EQ(kind("cudaMallocManaged"), MemoryCallKind::kDevice);
  EXPECT_EQ(kind("cudaMallocAsync_v11020"), MemoryCallKind::kPool);
  EXPECT_EQ(kind("cuMemFreeAsync"), MemoryCallKind::kPool);
  EXPECT_EQ(kind("cudaMallocFromPoolAsync"), MemoryCallKind::kPool);
  EXPECT_EQ(kind("cudaMallocHost"), MemoryCallKind::kHost);
  EXPECT_EQ(kind("cudaFreeHost"), MemoryCallKind::kHost);
  EXPECT_EQ(kind("cudaHostRegister"), MemoryCallKind::kRegistration);
  EXPECT_EQ(kind("cuMemHostUnregister"), MemoryCallKind::kRegistration);
  for (const char* other : {"cuMemAddressFree", "cuMemRetainAllocationHandle", "cuMemGetAllocationGranularity",
                            "cudaMemPoolCreate", "cudaMemPrefetchAsync"}) {
    EXPECT_EQ(kind(other), MemoryCallKind::kOther) << other;
  }
  EXPECT_TRUE(IsAllocation("cudaHostAlloc"));
  EXPECT_FALSE(IsAllocation("cudaFreeAsync"));
}

// Four blocks of 3 MiB that stay, and one of 2 MiB that a pool gives out six times, on an H200.
TEST(MemoryChurn, OfARecordedTrace) {
  const Trace trace = LoadTrace(std::string(GPROF_SOURCE_DIR) + "/tests/data/memory.trace");
  const AnalysisResult result = RunMemory(trace, {});
  EXPECT_EQ(MetricOf(result, "memory.peak_bytes"), 4 * 3145728 + 2097152);
  EXPECT_EQ(MetricOf(result, "memory.churn_count"), 5);
  EXPECT_EQ(MetricOf(result, "memory.churn_ns"), 13630 + 3471 + 4128 + 2287 + 3288 + 1953 + 3300 + 1963 + 3231 + 5998);
  EXPECT_EQ(MetricOf(result, "memory.growth_bytes"), 0);
  EXPECT_EQ(FindingOf(result, "memory.leaked"), nullptr);
  const Table& over_time = TableOf(result, "memory_over_time");
  EXPECT_EQ(IntOf(over_time, over_time.rows.size() - 1, "bytes"), 0);
  EXPECT_EQ(SumOf(over_time, "allocations"), 10);
  EXPECT_EQ(SumOf(over_time, "frees"), 10);
}

TEST(MemoryGrowth, IsWhatStepsKeep) {
  Churning c;
  for (int64_t i = 0; i < 12; ++i) {
    const int64_t at_ns = 1000 * i;
    c.maker.AddRange(at_ns, at_ns + 999, "step");
    c.maker.Launch(at_ns + 150, at_ns + 160, at_ns + 200, at_ns + 900);
    c.Allocate(at_ns + 920, static_cast<uint64_t>(0x1000 + i), 100);  // never freed
    c.Allocate(at_ns + 10, static_cast<uint64_t>(0x2000 + i), 7000);  // freed in the next step
    if (i > 0) c.Free(at_ns + 70, static_cast<uint64_t>(0x2000 + i - 1));
  }
  std::stable_sort(c.maker.trace().memory_events.begin(), c.maker.trace().memory_events.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  const AnalysisResult result = c.Run();
  // 11 blocks of 100 bytes after the first step. The last block of 7,000 is of the same place, and there at the end.
  EXPECT_EQ(MetricOf(result, "memory.growth_bytes"), 11 * 100 + 7000);
  const Finding* finding = FindingOf(result, "memory.growth");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_NE(finding->message.find("12 blocks"), std::string::npos) << finding->message;
  EXPECT_NE(WordsOf(finding).find("11 of 11 iterations"), std::string::npos) << WordsOf(finding);
}

TEST(MemoryGrowth, IsNotABlockThatLivesForTwoSteps) {
  Churning c;
  for (int64_t i = 0; i < 12; ++i) {
    const int64_t at_ns = 1000 * i;
    c.maker.AddRange(at_ns, at_ns + 999, "step");
    c.Allocate(at_ns + 10, static_cast<uint64_t>(0x2000 + i), 7000);
    if (i > 0) c.Free(at_ns + 70, static_cast<uint64_t>(0x2000 + i - 1));
    c.maker.Launch(at_ns + 150, at_ns + 160, at_ns + 200, at_ns + 900);
  }
  const AnalysisResult result = c.Run();
  EXPECT_EQ(MetricOf(result, "memory.growth_bytes"), 0);
  EXPECT_EQ(FindingOf(result, "memory.growth"), nullptr);
  EXPECT_EQ(MetricOf(result, "memory.churn_count"), 10);  // two blocks would do
}

TEST(MemoryGrowth, WithoutStepsIsSpreadOverTheTimeOfTheGpu) {
  Churning c;
  for (int64_t i = 0; i < 40; ++i) {
    c.Allocate(1000 * i, static_cast<uint64_t>(0x1000 + i), 100);
    c.maker.Launch(1000 * i + 150, 1000 * i + 160, 1000 * i + 200, 1000 * i + 900);
  }
  EXPECT_NE(FindingOf(c.Run(), "memory.growth"), nullptr);
  Churning start;
  for (int64_t i = 0; i < 40; ++i) start.Allocate(50 * i, static_cast<uint64_t>(0x1000 + i), 100);
  for (int64_t i = 0; i < 40; ++i) start.maker.Launch(1000 * i + 150, 1000 * i + 160, 1000 * i + 200, 1000 * i + 900);
  EXPECT_EQ(FindingOf(start.Run(), "memory.growth"), nullptr);
}

TEST(MemoryLeaks, AreToldOfCleanEndsOnly) {
  Churning c;
  c.Allocate(0, 0x100, 1000);
  c.Allocate(50, 0x200, 500, "cudaMallocHost");
  c.maker.Launch(150, 160, 200, 900);
  const AnalysisResult result = c.Run();
  const Finding* finding = FindingOf(result, "memory.leaked");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kInfo);
  EXPECT_EQ(finding->message,
            "2 blocks of memory (1.50 kB) were not freed when the process ended; mostly allocated by cudaMalloc");
  EXPECT_EQ(TableOf(result, "memory_not_freed").rows.size(), 2u);
  EXPECT_EQ(SumOf(TableOf(result, "memory_not_freed"), "bytes"), 1500);
  c.maker.trace().processes[0].has_end = false;
  EXPECT_EQ(FindingOf(c.Run(), "memory.leaked"), nullptr);
  c.maker.trace().processes[0].has_end = true;
  c.maker.trace().processes[0].end_reason = trace::EndReason::kSalvaged;
  EXPECT_EQ(FindingOf(c.Run(), "memory.leaked"), nullptr);
  c.maker.trace().processes[0].end_reason = trace::EndReason::kExit;
  c.maker.trace().health.lost_records = 1;
  EXPECT_EQ(FindingOf(c.Run(), "memory.leaked"), nullptr);
  c.maker.trace().health.lost_records = 0;
  c.maker.AddCapture(0, 1000);
  EXPECT_EQ(FindingOf(c.Run(), "memory.leaked"), nullptr);
}

}  // namespace
}  // namespace gprof::test
