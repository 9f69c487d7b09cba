#include "launch/run/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr char kTracer[] = "/opt/lib/gprof-cli/libgprof-tracer.so";

Environment Make(std::vector<const char*> inherited, const LaunchOptions& options = {}) {
  inherited.push_back(nullptr);
  return Environment(inherited.data(), options, kTracer);
}

TEST(Environment, KeepsEntriesInOrderEvenOddOnes) {
  const Environment environment = Make({"B=2", "A=1", "=odd", "no equals sign", "A=3", "EMPTY="});
  const std::vector<std::string> first(environment.entries().begin(), environment.entries().begin() + 6);
  EXPECT_EQ(first, (std::vector<std::string>{"B=2", "A=1", "=odd", "no equals sign", "A=3", "EMPTY="}));
  EXPECT_EQ(environment.entries().size(), 10u);  // and where CUDA, NVTX and NCCL find the tracer, and what it records
}

TEST(Environment, NamesAreComparedWhole) {
  LaunchOptions options;
  options.variables = {{"A", "new"}};
  const Environment environment = Make({"AB=1", "A=old", "A=older"}, options);
  EXPECT_EQ(environment.Get("AB"), "1");
  EXPECT_EQ(environment.Get("A"), "new");
  EXPECT_EQ(environment.Get("B"), std::nullopt);
}

TEST(Environment, DropsWhatAnotherRunLeft) { EXPECT_EQ(Make({"GPROF_QUIET=1"}).Get("GPROF_QUIET"), std::nullopt); }

TEST(Environment, WarnsOnceForEachForeignInjection) {
  const Environment environment = Make({"CUDA_INJECTION64_PATH=/a.so", "NVTX_INJECTION64_PATH=/b.so"});
  EXPECT_EQ(environment.warnings().size(), 2u);
  EXPECT_EQ(environment.Get("CUDA_INJECTION64_PATH"), kTracer);
  EXPECT_TRUE(Make({"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=/opt/lib/gprof-cli/libgprof-tracer.so"})
                  .warnings()
                  .empty());
}

TEST(Environment, ComesInThroughBothForTheOperatingSystemAlone) {
  LaunchOptions options;
  options.trace_cuda = options.trace_nvtx = options.trace_mpi = options.trace_gemm = options.trace_nccl = false;
  options.osrt_threshold_ns = 1000;
  options.osrt_functions = "read,poll";
  options.osrt_file_access = true;
  const Environment environment = Make({}, options);
  EXPECT_EQ(environment.Get("CUDA_INJECTION64_PATH"), kTracer);
  EXPECT_EQ(environment.Get("NVTX_INJECTION64_PATH"), kTracer);
  EXPECT_EQ(environment.Get("GPROF_TRACE"), "osrt");
  EXPECT_EQ(environment.Get("GPROF_OSRT_THRESHOLD"), "1000");
  EXPECT_EQ(environment.Get("GPROF_OSRT_FUNCTIONS"), "read,poll");
  EXPECT_EQ(environment.Get("GPROF_OSRT_FILE_ACCESS"), "1");
}

TEST(Environment, LeavesAForeignInjectionAloneThatIsNotNeeded) {
  LaunchOptions options;
  options.trace_nvtx = false;
  const Environment environment = Make({"NVTX_INJECTION64_PATH=/b.so"}, options);
  EXPECT_EQ(environment.Get("NVTX_INJECTION64_PATH"), "/b.so");
  EXPECT_TRUE(environment.warnings().empty());
}

TEST(Environment, PassesOnWhatAForeignInjectionWas) {
  const Environment environment = Make({"CUDA_INJECTION64_PATH=/a.so", "LD_PRELOAD=/p.so"});
  EXPECT_EQ(environment.Get("GPROF_NEXT_CUDA_INJECTION"), "/a.so");
  EXPECT_EQ(environment.Get("GPROF_NEXT_NVTX_INJECTION"), std::nullopt);
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/p.so");
  EXPECT_EQ(Make({"CUDA_INJECTION64_PATH=/opt/lib/gprof-cli/libgprof-tracer.so"}).Get("GPROF_NEXT_CUDA_INJECTION"),
            std::nullopt);
}

TEST(Environment, IsThePluginOfNcclUnlessTheUserHasOne) {
  EXPECT_EQ(Make({}).Get("NCCL_PROFILER_PLUGIN"), kTracer);
  const Environment environment = Make({"NCCL_PROFILER_PLUGIN=inspector"});
  EXPECT_EQ(environment.Get("NCCL_PROFILER_PLUGIN"), "inspector");
  EXPECT_EQ(environment.warnings().size(), 1u);
  LaunchOptions without;
  without.trace_nccl = false;
  EXPECT_EQ(Make({}, without).Get("NCCL_PROFILER_PLUGIN"), std::nullopt);
}

TEST(Environment, ComesBehindTheToolsOfTheUser) {
  EXPECT_EQ(Make({}).Get("OMP_TOOL_LIBRARIES"), std::nullopt);
  LaunchOptions options;
  options.trace_openmp = options.trace_openacc = true;
  EXPECT_EQ(Make({}, options).Get("OMP_TOOL_LIBRARIES"), kTracer);
  const Environment environment = Make({"OMP_TOOL_LIBRARIES=/a.so", "ACC_PROFLIB=/b.so"}, options);
  EXPECT_EQ(environment.Get("OMP_TOOL_LIBRARIES"), std::string("/a.so:") + kTracer);
  EXPECT_EQ(environment.Get("ACC_PROFLIB"), std::string("/b.so;") + kTracer);
}

TEST(Environment, TellsTheTracerOnlyWhatIsNotDefault) {
  const Environment environment = Make({});
  for (const char* const name : {"GPROF_CAPTURE", "GPROF_CAPTURE_END", "GPROF_NVTX_CAPTURE", "GPROF_SAMPLE_STEPS",
                                 "GPROF_MEMORY_USAGE", "GPROF_MANAGED_MEMORY", "GPROF_QUIET", "GPROF_ONLY_PID",
                                 "GPROF_OSRT_THRESHOLD", "GPROF_OSRT_FUNCTIONS", "GPROF_OSRT_FILE_ACCESS"}) {
    EXPECT_EQ(environment.Get(name), std::nullopt) << name;
  }
}

TEST(Environment, TellsTheTracerWhenToRecord) {
  LaunchOptions options;
  options.capture.begin = "nvtx";
  options.capture.end = "repeat:2";
  options.capture.nvtx_range = "step@train";
  options.memory_usage = options.managed_memory = options.is_quiet = true;
  Environment environment = Make({}, options);
  environment.SetRunFolder("/run");
  environment.SetOnlyPid(7);
  EXPECT_EQ(environment.Get("GPROF_CAPTURE"), "nvtx");
  EXPECT_EQ(environment.Get("GPROF_CAPTURE_END"), "repeat:2");
  EXPECT_EQ(environment.Get("GPROF_NVTX_CAPTURE"), "step@train");
  EXPECT_EQ(environment.Get("GPROF_MEMORY_USAGE"), "1");
  EXPECT_EQ(environment.Get("GPROF_MANAGED_MEMORY"), "1");
  EXPECT_EQ(environment.Get("GPROF_QUIET"), "1");
  EXPECT_EQ(environment.Get("GPROF_RUN_FOLDER"), "/run");
  EXPECT_EQ(environment.Get("GPROF_ONLY_PID"), "7");
  LaunchOptions timed;
  timed.capture.delay_ns = 1;
  EXPECT_EQ(Make({}, timed).Get("GPROF_CAPTURE"), "command");
}

TEST(Environment, MissingCuptiIsAnError) {
  LaunchOptions options;
  options.cupti_path = "/no/such/libcupti.so";
  EXPECT_THROW(Make({}, options), Error);
}

}  // namespace
}  // namespace gprof
