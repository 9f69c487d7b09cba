#include "launch/environment.h"

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
  EXPECT_EQ(environment.entries().size(), 9u);
}

TEST(Environment, NamesAreComparedWhole) {
  LaunchOptions options;
  options.variables = {{"A", "new"}};
  const Environment environment = Make({"AB=1", "A=old", "A=older"}, options);
  EXPECT_EQ(environment.Get("AB"), "1");
  EXPECT_EQ(environment.Get("A"), "new");
  EXPECT_EQ(environment.Get("B"), std::nullopt);
}

TEST(Environment, DropsWhatAnotherRunLeft) {
  EXPECT_EQ(Make({"GPROF_QUIET=1"}).Get("GPROF_QUIET"), std::nullopt);
}

TEST(Environment, WarnsOnceForEachForeignInjection) {
  const Environment environment = Make({"CUDA_INJECTION64_PATH=/a.so", "NVTX_INJECTION64_PATH=/b.so"});
  EXPECT_EQ(environment.warnings().size(), 2u);
  EXPECT_EQ(environment.Get("CUDA_INJECTION64_PATH"), kTracer);
  EXPECT_TRUE(Make({"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=/opt/lib/gprof-cli/libgprof-tracer.so"})
                  .warnings()
                  .empty());
}

TEST(Environment, LeavesAForeignInjectionAloneThatIsNotNeeded) {
  LaunchOptions options;
  options.trace_nvtx = false;
  const Environment environment = Make({"NVTX_INJECTION64_PATH=/b.so"}, options);
  EXPECT_EQ(environment.Get("NVTX_INJECTION64_PATH"), "/b.so");
  EXPECT_TRUE(environment.warnings().empty());
}

TEST(Environment, MissingCuptiIsAnError) {
  LaunchOptions options;
  options.cupti_path = "/no/such/libcupti.so";
  EXPECT_THROW(Make({}, options), Error);
}

}  // namespace
}  // namespace gprof
