// Self-test of the doubles: record sizes, names, order of events, and that every broken rule is noticed.
#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "scenarios.h"

namespace {

struct Version {
  const char* folder;
  const char* cupti;
  const char* cudart;
  uint32_t number;
  std::map<uint32_t, long> strides;
};

// Keeps gtest from printing the struct byte by byte.
void PrintTo(const Version& v, std::ostream* out) { *out << v.folder; }

// From the real libraries (reference: cuptiActivityGetNextRecord on synthetic buffers
// of 11.8.87, 12.0.146, 12.8.90, 13.0.1).
// clang-format off
const Version kVersions[] = {
    {"11.8", "libcupti.so.11.8", "libcudart.so.11.0", 18,
     {{1, 88}, {2, 88}, {10, 200}, {5, 40}, {8, 176}, {9, 16}, {17, 40}, {22, 96}, {37, 24}, {38, 40}, {49, 120},
      {51, 48}, {52, 64}, {53, 0}}},
    {"12.0", "libcupti.so.12", "libcudart.so.12", 18,
     {{1, 88}, {2, 88}, {10, 208}, {5, 40}, {8, 176}, {9, 16}, {17, 40}, {22, 96}, {37, 24}, {38, 40}, {49, 120},
      {51, 48}, {52, 64}, {53, 0}}},
    {"12.8", "libcupti.so.12", "libcudart.so.12", 26,
     {{1, 96}, {2, 88}, {10, 208}, {5, 40}, {8, 184}, {9, 32}, {17, 56}, {22, 96}, {37, 24}, {38, 56}, {49, 128},
      {51, 56}, {52, 72}, {53, 56}, {55, 0}}},
    {"13.0", "libcupti.so.13", "libcudart.so.13", 130001,
     {{1, 96},   {2, 88},  {3, 216}, {4, 40},   {5, 40},  {8, 184}, {9, 32},   {10, 216}, {11, 32}, {12, 56},
      {13, 40},  {17, 56}, {18, 144}, {20, 40}, {22, 96}, {25, 104}, {26, 32}, {27, 24},  {36, 56}, {37, 24},
      {38, 56},  {39, 24}, {40, 136}, {45, 80}, {46, 168}, {48, 40}, {49, 128}, {50, 80}, {51, 56}, {52, 72},
      {53, 56},  {54, 64}, {55, 32}, {6, 0}}},
};
// clang-format on

std::string Folder(const Version& v) { return std::string(MOCK_FOLDER) + "/" + v.folder; }

// The distance between two records of kind `kind` in a buffer that holds nothing but this number.
long StrideOf(void* library, uint32_t kind) {
  const auto next =
      reinterpret_cast<decltype(&cuptiActivityGetNextRecord)>(dlsym(library, "cuptiActivityGetNextRecord"));
  alignas(8) static uint8_t buffer[8192];
  for (size_t i = 0; i < sizeof(buffer); i += 4) std::memcpy(buffer + i, &kind, 4);
  CUpti_Activity* first = nullptr;
  if (next(buffer, sizeof(buffer), &first) != CUPTI_SUCCESS) return 0;
  CUpti_Activity* second = first;
  if (next(buffer, sizeof(buffer), &second) != CUPTI_SUCCESS) return 0;
  return reinterpret_cast<uint8_t*>(second) - reinterpret_cast<uint8_t*>(first);
}

void* Open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library;
}

struct Outcome {
  int status = 0;
  std::string output, violations;
};

using Environment = std::map<std::string, std::string>;

// Runs this binary again with `--scenario name`.
Outcome RunProcess(const Version& v, const std::string& name, const Environment& more = {}) {
  char folder[] = "/tmp/mock_test_XXXXXX";
  EXPECT_NE(mkdtemp(folder), nullptr);
  Environment environment = {{"LD_LIBRARY_PATH", Folder(v)},
                             {"MOCK_TEST_CUPTI", Folder(v) + "/" + v.cupti},
                             {"MOCK_TEST_CUDART", Folder(v) + "/" + v.cudart},
                             {"CUDA_INJECTION64_PATH", std::string(MOCK_FOLDER) + "/mock_collector.so"},
                             {"MOCK_VIOLATIONS", std::string(folder) + "/violations"}};
  for (const auto& [key, value] : more) environment[key] = value;
  std::string command = "exec env";
  for (const auto& [key, value] : environment) command += " '" + key + "=" + value + "'";
  command += " /proc/" + std::to_string(getpid()) + "/exe --scenario " + name + " 2>/dev/null";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  char chunk[4096];
  for (size_t n; (n = fread(chunk, 1, sizeof(chunk), pipe)) > 0;) outcome.output.append(chunk, n);
  outcome.status = pclose(pipe);
  std::stringstream text;
  text << std::ifstream(std::string(folder) + "/violations").rdbuf();
  outcome.violations = text.str();
  unlink((std::string(folder) + "/violations").c_str());
  rmdir(folder);
  return outcome;
}

size_t Count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

class MockTest : public testing::TestWithParam<Version> {};
std::string TestName(const testing::TestParamInfo<Version>& test) {
  return std::regex_replace(std::string(test.param.folder), std::regex("\\."), "_");
}
INSTANTIATE_TEST_SUITE_P(Versions, MockTest, testing::ValuesIn(kVersions), TestName);

TEST_P(MockTest, RecordsHaveTheSizesOfTheRealLibrary) {
  void* library = Open(Folder(GetParam()) + "/" + GetParam().cupti);
  for (const auto& [kind, bytes] : GetParam().strides) EXPECT_EQ(StrideOf(library, kind), bytes) << "kind " << kind;
  uint32_t version = 0;
  reinterpret_cast<decltype(&cuptiGetVersion)>(dlsym(library, "cuptiGetVersion"))(&version);
  EXPECT_EQ(version, GetParam().number);
}

TEST_P(MockTest, HasEveryFunctionThatTheTracerLooksFor) {
  std::ifstream header(GPROF_CUPTI_API_H);
  if (!header) GTEST_SKIP() << "no " << GPROF_CUPTI_API_H;
  std::stringstream text;
  text << header.rdbuf();
  const std::string source = text.str();
  void* library = Open(Folder(GetParam()) + "/" + GetParam().cupti);
  size_t found = 0;
  const std::regex entry("SYMBOL\\((cupti\\w+)");
  for (std::sregex_iterator it(source.begin(), source.end(), entry), end; it != end; ++it, ++found) {
    EXPECT_NE(dlsym(library, (*it)[1].str().c_str()), nullptr) << (*it)[1];
  }
  EXPECT_GT(found, 10u);
}

TEST_P(MockTest, ProgramRunsTheSameWithoutATool) {
  const Outcome o = RunProcess(GetParam(), "no-tool", {{"CUDA_INJECTION64_PATH", ""}});
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.output, "done\n");
  EXPECT_EQ(o.violations, "");
}

TEST_P(MockTest, TellsTheToolWhatHappens) {
  const Outcome o = RunProcess(GetParam(), "work");
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.violations, "");
  EXPECT_EQ(Count(o.output, "subscribe 0\n"), 1u) << o.output;
  EXPECT_EQ(Count(o.output, "second 39\n"), 1u);
  EXPECT_EQ(Count(o.output, "resource 5 null\n"), 1u);
  EXPECT_EQ(Count(o.output, "resource 1 data\n"), 1u);
  // Only what was enabled, the driver call inside the runtime call under the same correlation id.
  EXPECT_EQ(Count(o.output, "enter 2 cudaLaunchKernel"), 3u);
  EXPECT_EQ(Count(o.output,
                  "enter 2 cudaLaunchKernel (\\d+)\n(?:resource 6 data\n)?enter 1 cuLaunchKernel \\1\nexit 1 "
                  "cuLaunchKernel \\1 0\n"
                  "exit 2 cudaLaunchKernel \\1 0\n"),
            3u);
  EXPECT_EQ(Count(o.output, "enter 2 cudaMemcpy"), 0u);
  EXPECT_EQ(Count(o.output, "kernel _Z6kernelv \\d+ 7 1100\n"), 3u);
  EXPECT_EQ(Count(o.output, "memcpy 1 1 3 4096\n"), 1u);
  EXPECT_EQ(Count(o.output, "record 8\n"), 2u);
  EXPECT_EQ(Count(o.output, "record 38\n"), 1u);
  EXPECT_EQ(Count(o.output, "record 37\n"), 7u);
  EXPECT_LT(o.output.find("request"), o.output.find("complete"));
  EXPECT_EQ(Count(o.output, "complete 12\n"), Count(o.output, "complete"));
}

TEST_P(MockTest, RefusesKindsAsTheRealLibraryDoes) {
  const Outcome o = RunProcess(GetParam(), "work");
  for (const char* line : {"kind 3 14", "kind 6 38", "kind 27 21", "kind 53 21", "kind 99 21", "kind 10 0"}) {
    EXPECT_NE(o.output.find(line), std::string::npos) << line;
  }
  const bool has_state = GetParam().number >= 20;
  EXPECT_NE(o.output.find(has_state ? "state-domain 0" : "state-domain 1"), std::string::npos);
}

TEST_P(MockTest, HoldsBackUnfinishedWorkUntilForced) {
  const Outcome o = RunProcess(GetParam(), "unfinished");
  EXPECT_EQ(o.status, 0);
  const size_t forced = o.output.find("\nforced\n");
  EXPECT_EQ(Count(o.output.substr(0, forced), "kernel _"), 3u);
  EXPECT_EQ(Count(o.output.substr(forced), "kernel _Z6kernelv \\d+ 7 0\n"), 1u);
}

TEST_P(MockTest, SwitchesKindsOffAndOn) {
  const Outcome o = RunProcess(GetParam(), "disable");
  EXPECT_EQ(o.violations, "");
  EXPECT_EQ(Count(o.output, "kernel _Z6kernelv"), 3u + 2u) << o.output;
  EXPECT_EQ(Count(o.output, "enter 2 cudaLaunchKernel"), 9u);
  // Within cuInit the driver has no answer for the counters of managed memory.
  EXPECT_EQ(Count(o.output, "managed 15\n"), 1u);
}

TEST_P(MockTest, TellsOfNodesWhereGraphsAreNotRecordedAsAWhole) {
  const Outcome o = RunProcess(GetParam(), "graph");
  EXPECT_EQ(o.violations, "");
  EXPECT_EQ(Count(o.output, "record 51\n"), 1u) << o.output;
  EXPECT_EQ(Count(o.output, "kernel _Z6kernelv"), 3u + 1u);
  EXPECT_EQ(Count(o.output, "resource 13 data\n"), 1u);
  EXPECT_EQ(Count(o.output, "resource 20 data\n"), 1u);
  const Outcome late = RunProcess(GetParam(), "graph", {{"MOCK_TEST_BREAK", "late-graph-trace"}});
  EXPECT_NE(late.violations.find("GRAPH_TRACE"), std::string::npos);
}

TEST_P(MockTest, IsOfNoUseAfterFinalize) {
  const Outcome o = RunProcess(GetParam(), "finalize");
  EXPECT_EQ(o.violations, "");
  EXPECT_EQ(Count(o.output, "finalize 0\nflush 15\n"), 1u) << o.output;
  EXPECT_EQ(Count(o.output, "enter 2 cudaLaunchKernel"), 3u);
}

TEST_P(MockTest, NoticesBrokenRules) {
  const auto breaks = [](const char* what) { return Environment{{"MOCK_TEST_BREAK", what}}; };
  const Version& v = GetParam();
  EXPECT_NE(RunProcess(v, "work", breaks("flush-in-resource")).violations.find("resource callback"), std::string::npos);
  EXPECT_NE(RunProcess(v, "work", breaks("call-in-request")).violations.find("request callback"), std::string::npos);
  EXPECT_NE(RunProcess(v, "work", breaks("cuda-in-injection")).violations.find("InitializeInjection"),
            std::string::npos);
  EXPECT_NE(RunProcess(v, "late-flush").violations.find("after the driver was torn down"), std::string::npos);
  const Outcome forked = RunProcess(v, "fork");
  EXPECT_NE(forked.violations.find("forked child"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(forked.status), 100 + SIGABRT);
  const Outcome null_buffer = RunProcess(v, "work", breaks("null-buffer"));
  EXPECT_EQ(null_buffer.violations.find("no buffer") != std::string::npos, v.number < 27);
}

TEST_P(MockTest, AnswersErrorsOnRequest) {
  const Version& v = GetParam();
  EXPECT_NE(RunProcess(v, "work", {{"MOCK_OCCUPIED", "1"}}).output.find("subscribe 39"), std::string::npos);
  EXPECT_NE(RunProcess(v, "work", {{"MOCK_DRIVER_VERSION", "10020"}}).output.find("subscribe 15"), std::string::npos);
  const Outcome wrap = RunProcess(v, "work", {{"MOCK_CORRELATION_START", "4294967294"}});
  EXPECT_EQ(Count(wrap.output, "kernel _Z6kernelv 0 "), 0u);
  EXPECT_EQ(Count(wrap.output, "kernel _Z6kernelv 4294967295 "), 1u) << wrap.output;
  EXPECT_EQ(Count(RunProcess(v, "work", {{"MOCK_UNKNOWN_KIND", "1"}}).output, "record 60\n"), 15u);
  const Outcome dead = RunProcess(v, "work", {{"MOCK_FATAL_AFTER", "3"}});
  EXPECT_EQ(Count(dead.output, "state 1\n"), v.number >= 20 ? 1u : 0u);
}

TEST(MockNames, AreThoseOfTheRealLibrary) {
  const char* real_path = "/usr/local/cuda/lib64/libcupti.so.13";
  if (access(real_path, R_OK) != 0) GTEST_SKIP() << "no " << real_path;
  void* real = Open(real_path);
  uint32_t version = 0;
  reinterpret_cast<decltype(&cuptiGetVersion)>(dlsym(real, "cuptiGetVersion"))(&version);
  if (version != kVersions[3].number) GTEST_SKIP() << real_path << " is of version " << version;
  void* mock = Open(std::string(MOCK_FOLDER) + "/13.0/libcupti.so.13");
  using Name = decltype(&cuptiGetCallbackName);
  for (int domain = 1; domain <= 2; ++domain) {
    for (uint32_t id = 1; id < 900; ++id) {
      const char *ours = "", *theirs = "";
      const auto d = static_cast<CUpti_CallbackDomain>(domain);
      const CUptiResult result = reinterpret_cast<Name>(dlsym(real, "cuptiGetCallbackName"))(d, id, &theirs);
      ASSERT_EQ(reinterpret_cast<Name>(dlsym(mock, "cuptiGetCallbackName"))(d, id, &ours), result)
          << domain << " " << id;
      if (result == CUPTI_SUCCESS && std::string(ours) != "INVALID") {
        ASSERT_STREQ(ours, theirs) << domain << " " << id;
      }
    }
  }
  for (uint32_t kind = 1; kind < 60; ++kind) {
    EXPECT_EQ(StrideOf(mock, kind), StrideOf(real, kind)) << kind;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--scenario") return RunScenario(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
