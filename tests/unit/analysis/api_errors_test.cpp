#include <gtest/gtest.h>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

class ErrorMaker : public TraceMaker {
 public:
  uint32_t AddResult(int64_t start_ns, std::string_view function, int32_t result,
                     trace::ApiDomain domain = trace::ApiDomain::kRuntime) {
    const uint32_t call = AddCall(start_ns, start_ns + 5, function);
    Call(call).result = result;
    Call(call).domain = domain;
    return call;
  }
};

TEST(ApiErrors, ByFunctionAndCode) {
  ErrorMaker maker;
  maker.AddRange(0, 100, "train");
  maker.AddResult(10, "cudaMalloc", 0);
  maker.AddResult(20, "cudaMalloc", 2);
  maker.AddResult(40, "cudaMalloc", 2);
  maker.AddResult(200, "cudaMalloc", 1);
  maker.AddResult(300, "cuMemAlloc_v2", 2, trace::ApiDomain::kDriver);
  maker.AddResult(400, "cudaThing", 12345);
  const AnalysisResult result = RunApiErrors(maker.Finish(), {});
  const Table& table = TableOf(result, "api_errors");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(TextOf(table, 0, "function"), "cudaMalloc");
  EXPECT_EQ(TextOf(table, 0, "error"), "cudaErrorMemoryAllocation");
  EXPECT_EQ(IntOf(table, 0, "code"), 2);
  EXPECT_EQ(IntOf(table, 0, "count"), 2);
  EXPECT_EQ(IntOf(table, 0, "first_ns"), 20);
  EXPECT_EQ(TextOf(table, 0, "thread"), "main (100)");
  EXPECT_EQ(TextOf(table, 0, "path"), "train");
  EXPECT_EQ(TextOf(table, 1, "error"), "cudaErrorInvalidValue");
  EXPECT_EQ(TextOf(table, 2, "error"), "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(TextOf(table, 3, "error"), "error 12345");
  EXPECT_EQ(MetricOf(result, "api.errors"), 5);
  const Finding* finding = FindingOf(result, "api.errors");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->message,
            "5 CUDA calls returned an error; first: cudaMalloc, cudaErrorMemoryAllocation at 20 ns in train");
  EXPECT_EQ(finding->severity, Severity::kNote);
}

TEST(ApiErrors, ALostContextIsAWarning) {
  ErrorMaker maker;
  maker.AddResult(0, "cudaMalloc", 2);
  maker.AddResult(10, "cudaDeviceSynchronize", 700);
  maker.AddResult(20, "cudaMalloc", 700);
  const AnalysisResult result = RunApiErrors(maker.Finish(), {});
  const Finding* finding = FindingOf(result, "api.errors");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(finding->message,
            "3 CUDA calls returned an error; the context is lost, first reported by cudaDeviceSynchronize: "
            "cudaErrorIllegalAddress at 10 ns");
}

TEST(ApiErrors, NotReadyIsTheAnswerOfAQuery) {
  ErrorMaker maker;
  for (int64_t i = 0; i < 10; ++i) maker.AddResult(i * 10, "cudaStreamQuery", 600);
  EXPECT_TRUE(RunApiErrors(maker.Finish(), {}).findings.empty());
  ErrorMaker wait;
  wait.AddResult(0, "cudaEventSynchronize", 600);
  EXPECT_EQ(MetricOf(RunApiErrors(wait.Finish(), {}), "api.errors"), 1);
}

TEST(ApiErrors, CallsWithinCallsAreNotCounted) {
  ErrorMaker maker;
  const uint32_t call = maker.AddResult(0, "cudaMalloc", 2);
  const uint32_t inner = maker.AddInnerCall(1, 3, "cuMemAlloc_v2", call);
  maker.Call(inner).result = 2;
  EXPECT_EQ(MetricOf(RunApiErrors(maker.Finish(), {}), "api.errors"), 1);
}

TEST(ApiErrors, NoneNoTable) {
  ErrorMaker maker;
  maker.AddResult(0, "cudaMalloc", 0);
  const AnalysisResult result = RunApiErrors(maker.Finish(), {});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(TableOf(result, "api_errors").rows.empty());
  EXPECT_EQ(MetricOf(result, "api.errors"), 0);
}

}  // namespace
}  // namespace gprof::test
