// Why a capture has no GPU work: nobody recorded it, and what its profiler said of that, or there was none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "database.h"
#include "import/nsight/nsight.h"
#include "kineto_capture.h"
#include "report/trace_words.h"
#include "trace/load/load.h"
#include "trace/text/assemble.h"

namespace gprof {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kNoGpuSide =
    "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY;"
    "DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET;";

Trace ReadCalls(const std::string& more) {
  return ReadNsight(TestDatabase(std::string(NewSchema()) + std::string(SmallCapture()) + more).path());
}

// What nsys said: a severity and a text.
Trace WithoutGpuSide(int severity, const std::string& said) {
  return ReadCalls(std::string(kNoGpuSide) +
                   "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT, globalPid INTEGER);"
                   "INSERT INTO DIAGNOSTIC_EVENT VALUES (" +
                   std::to_string(severity) + ", '" + said + "', 281483365318656);");
}

TEST(NoGpuWork, IsNoQuestionWhereThereIsSome) { EXPECT_THAT(WhyNoGpuWork(ReadCalls("")), IsEmpty()); }

TEST(NoGpuWork, ThatWasLaunchedWasNotRecorded) {
  EXPECT_THAT(WhyNoGpuWork(ReadCalls(std::string(kNoGpuSide))),
              ElementsAre(StartsWith("GPU work was not recorded: 2 of the 4 CUDA calls launched some")));
  EXPECT_THAT(WhyNoGpuWork(ReadCalls(std::string(kNoGpuSide) +
                                     "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId <> 13;")),
              ElementsAre("The program made 1 CUDA call, none of which started GPU work."));
}

TEST(NoGpuWork, ThatCopiedWasNotRecorded) {
  const Trace copies = ReadEvents(R"json(
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpy", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 1, "tid": 1, "ts": 9, "dur": 5, "args": {"correlation": 4}})json");
  EXPECT_THAT(WhyNoGpuWork(copies), ElementsAre(StartsWith("The file has launches or copies and no GPU work")));
  EXPECT_THAT(
      WhyNoGpuWork(ReadCalls(std::string(kNoGpuSide) + "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE nameId <> 4;")),
      ElementsAre(HasSubstr("GPU work was not recorded: 1 of the 1 CUDA call")));
}

TEST(NoGpuWork, HasTheReasonThatItsProfilerGave) {
  const auto reasons = [](int severity, const std::string& said) {
    return WhyNoGpuWork(WithoutGpuSide(severity, said));
  };
  const std::string old = "Installed CUDA driver version is not supported by this build of Nsight Systems.";
  EXPECT_THAT(reasons(2, old),
              Contains(AllOf(StartsWith("The profiler does not support the installed CUDA driver"), HasSubstr(old))));
  EXPECT_THAT(reasons(2, "CUDA profiling might have not been started correctly."),
              Contains(StartsWith("CUDA profiling did not start properly")));
  EXPECT_THAT(reasons(3, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"), Contains(StartsWith("The user was not permitted")));
  EXPECT_THAT(reasons(3, "Event requestor failed"),
              Contains("Nsight Systems 2026.2.1.210 reported an error: Event requestor failed"));
}

TEST(NoGpuWork, HasNoReasonThatIsAboutSomethingElse) {
  const Trace trace = WithoutGpuSide(3, "CUDA device 0: Unified Memory cannot be traced on such devices");
  EXPECT_THAT(WhyNoGpuWork(trace), ElementsAre(StartsWith("GPU work was not recorded")));
  for (const Notice& notice : trace.notices) EXPECT_FALSE(IsReasonForNoGpuWork(trace, notice));
  EXPECT_THAT(WhyNoGpuWork(WithoutGpuSide(2, "CUDA buffers were flushed late")), testing::SizeIs(1));
}

TEST(NoGpuWork, OfKinetoHasWhatItLogged) {
  const std::string call = R"json({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
"ts": 1, "dur": 1, "args": {"correlation": 5}})json";
  const Trace trace = ReadKineto(Document(call, R"json("schemaVersion": 1,
"WARNING": ["WARNING:2024-04-11 13:30:02 37:37 init.cpp:5] Nothing about it"],
"ERROR": ["ERROR:2024-04-11 13:30:02 37:37 CuptiActivityApi.cpp:9] CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"], )json"),
                                 "test.json");
  EXPECT_TRUE(trace.Lacks(Fact::kOperations));
  const auto reasons = WhyNoGpuWork(trace);
  EXPECT_THAT(reasons, Contains(StartsWith("GPU work was not recorded: 1 of the 1 CUDA call launched some")));
  EXPECT_THAT(reasons, Contains(StartsWith("Another profiler was using CUPTI")));
  EXPECT_THAT(reasons, Contains(HasSubstr("ProfilerActivity.CUDA")));
  EXPECT_THAT(reasons, Not(Contains(HasSubstr("Nothing about it"))));
}

TEST(NoGpuWork, OfOurOwnTracerIsToldByItsNotices) {
  const auto load = [](const std::string& text) { return LoadTraceFromMemory(AssembleTrace(text), "t"); };
  const std::string begin = "process start_ns=1 pid=1 tracer_version=\"1\"\n", end = "end time_ns=9 reason=1\n";
  const auto notice = [](int level, const std::string& text) {
    return "notice time_ns=2 level=" + std::to_string(level) + " message=\"" + text + "\"\n";
  };
  EXPECT_THAT(WhyNoGpuWork(load(begin + notice(2, "CUDA is not recorded: no usable libcupti") + end)),
              ElementsAre("CUDA is not recorded: no usable libcupti"));
  EXPECT_THAT(WhyNoGpuWork(load(begin + notice(2, "the sampling process was killed") + end)),
              ElementsAre("The program made no CUDA call that could be recorded."));
  EXPECT_THAT(WhyNoGpuWork(load(begin)), ElementsAre("No CUDA call is in the data that was recovered."));
}

}  // namespace
}  // namespace gprof
