#include "collect/gpu/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "fake_run.h"

namespace gprof {
namespace {

constexpr int64_t kMs = 1'000'000;

class NvmlTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // What is loaded is found by its SONAME from then on.
    ASSERT_NE(dlopen(MOCK_NVML_LIBRARY, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }
  void SetUp() override {
    output_.path = folder_.path() + "/run.trace";
    Write(output_.path, "");
    std::string why;
    journal_ = Journal::Create(folder_.path(), "nvml", &why);
    ASSERT_TRUE(journal_) << why;
    journal_->SetOutput(output_);
    proc_.SetProcess(10, 100);
    setenv("MOCK_NVML", (folder_.path() + "/gpus").c_str(), 1);
    Say("gpus 1\nfield 186 250000\nclock 1 1980\n");
  }
  void TearDown() override { unsetenv("MOCK_NVML"); }

  void Say(const std::string& lines) const { Write(folder_.path() + "/gpus", lines); }

  std::unique_ptr<NvmlCollector> Start() {
    NvmlOptions options;
    options.proc = proc_.path();
    options.has_slow_thread = false;
    options.own_cpu_clock = [this] { return own_cpu_ns_; };
    options.clock = [this] { return clock_ns_ += look_ns_; };
    auto nvml = std::make_unique<NvmlCollector>(options);
    RunView run;
    run.program = 10;
    std::string why;
    EXPECT_TRUE(nvml->Start(run, &why)) << why;
    nvml->Switch(true, 0);
    return nvml;
  }

  std::string Written() {
    Write(output_.path, "");
    EXPECT_EQ(journal_->Write(), 0);
    std::string samples, line;
    std::istringstream text(Records(ReadWhole(output_.path)));
    while (std::getline(text, line)) {
      if (!line.starts_with("metric_source")) samples += line + "\n";
      if (line.starts_with("metric_source")) sources_ += line + "\n";
    }
    return samples;
  }

  TemporaryFolder folder_;
  FakeProc proc_;
  TraceFile output_;
  std::unique_ptr<Journal> journal_;
  int64_t own_cpu_ns_ = 0;
  int64_t clock_ns_ = 0, look_ns_ = 0;  // what each look takes
  std::string sources_;
};

TEST_F(NvmlTest, TellsWhatTheGpuHasAndNothingElse) {
  const auto nvml = Start();
  EXPECT_EQ(nvml->Drain(1000 * kMs, journal_.get()), 1100 * kMs);
  EXPECT_EQ(Written(),
            "metric_block start_ns=1000000000 source=1 value=250000\n"
            "metric_block start_ns=1000000000 source=2 value=1980\n");
  EXPECT_EQ(sources_,
            "metric_source id=1 name=\"power\" unit=\"W\" origin=\"nvml\" metric_kind=1 scope=4 scale=-3 "
            "period_ns=100000000 device_uuid=\"GPU-1\"\n"
            "metric_source id=2 name=\"SM clock\" unit=\"MHz\" origin=\"nvml\" metric_kind=1 scope=4 "
            "period_ns=100000000 device_uuid=\"GPU-1\"\n");
}

TEST_F(NvmlTest, TakesTheOtherPowerWhereThereIsNoInstantOne) {
  Say("gpus 1\nnvmlDeviceGetPowerUsage 70000\n");
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  EXPECT_EQ(Written(), "metric_block start_ns=1000000000 source=1 value=70000\n");
}

TEST_F(NvmlTest, IsQuietWithoutADriver) {
  Say("fail nvmlInit_v2 9\n");
  NvmlCollector nvml({});
  std::string why = "something";
  EXPECT_FALSE(nvml.Start({}, &why));
  EXPECT_EQ(why, "");
}

TEST_F(NvmlTest, ALostGpuIsALoss) {
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  Say("gpus 1\nfail nvmlDeviceGetFieldValues 15\nfail nvmlDeviceGetClockInfo 15\nfail nvmlDeviceGetMemoryInfo 15\n");
  nvml->Drain(1100 * kMs, journal_.get());
  nvml->Drain(1200 * kMs, journal_.get());
  nvml->Close(1300 * kMs, journal_.get());
  const std::string written = Written();
  EXPECT_NE(written.find("metric_loss start_ns=1100000000 duration_ns=200000000 source=1\n"), std::string::npos)
      << written;
  EXPECT_NE(written.find("metric_loss start_ns=1100000000 duration_ns=200000000 source=2\n"), std::string::npos);
}

// That nothing was logged is told by a source without samples.
TEST_F(NvmlTest, TellsWhatTheDriverLogs) {
  Say("gpus 2\nxids 1\n");
  const auto nvml = Start();
  nvml->TakeSlow(1000 * kMs);
  nvml->Drain(1000 * kMs, journal_.get());
  Written();
  EXPECT_NE(sources_.find("id=1 name=\"Xid\""), std::string::npos) << sources_;
  EXPECT_NE(sources_.find("id=2 name=\"Xid\""), std::string::npos) << sources_;
  Say("gpus 2\nxids 1\nxid 1 79\nxid 0 13\n");
  nvml->TakeSlow(1100 * kMs);
  nvml->TakeSlow(1200 * kMs);
  nvml->Drain(1200 * kMs, journal_.get());
  const std::string written = Written();
  EXPECT_NE(written.find("metric_block start_ns=1100000000 source=2 value=79\n"), std::string::npos) << written;
  EXPECT_NE(written.find("metric_block start_ns=1100000000 source=1 value=13\n"), std::string::npos) << written;
}

TEST_F(NvmlTest, GoesOnAfterAnError) {
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  Say("gpus 1\nfield 186 260000\nclock 1 1980\nfail nvmlDeviceGetFieldValues 999\n");
  nvml->Drain(1100 * kMs, journal_.get());
  Say("gpus 1\nfield 186 270000\nclock 1 1980\n");
  nvml->Drain(1200 * kMs, journal_.get());
  const std::string written = Written();
  EXPECT_NE(written.find("metric_loss start_ns=1100000000 duration_ns=100000000 source=1\n"), std::string::npos)
      << written;
  EXPECT_NE(written.find("start_ns=1200000000 source=1 value=270000"), std::string::npos);
}

TEST_F(NvmlTest, SlowThingsAreReadOnceASecond) {
  Say("gpus 1\nnvmlDeviceGetTotalEnergyConsumption 5000\nfield 74 100\n");
  const auto nvml = Start();
  nvml->TakeSlow(1000 * kMs);
  nvml->TakeSlow(1100 * kMs);
  nvml->TakeSlow(2000 * kMs);
  nvml->Drain(2000 * kMs, journal_.get());
  EXPECT_EQ(Written(),
            "metric_block start_ns=1000000000 source=1 value=5000\n"
            "metric_block start_ns=1000000000 source=2 value=100\n"
            "metric_block start_ns=2000000000 source=1 value=5000\n"
            "metric_block start_ns=2000000000 source=2 value=100\n"
            "metric_block start_ns=1000000000 source=3\n"
            "metric_block start_ns=1000000000 source=4\n"
            "metric_block start_ns=1000000000 source=5\n"
            "metric_block start_ns=2000000000 source=3\n"
            "metric_block start_ns=2000000000 source=4\n"
            "metric_block start_ns=2000000000 source=5\n");
  EXPECT_NE(sources_.find("name=\"energy\" unit=\"J\" origin=\"nvml\" metric_kind=2"), std::string::npos) << sources_;
}

TEST_F(NvmlTest, WhatTakesLongIsReadLessOften) {
  Say("gpus 1\nnvmlDeviceGetTotalEnergyConsumption 5000\n");
  const auto nvml = Start();
  look_ns_ = 30 * kMs;  // one percent of three seconds
  for (const int64_t at_ms : {1000, 2000, 3900, 4000, 6900}) nvml->TakeSlow(at_ms * kMs);
  look_ns_ = 1 * kMs;
  for (const int64_t at_ms : {7000, 8000}) nvml->TakeSlow(at_ms * kMs);
  nvml->Drain(8000 * kMs, journal_.get());
  const std::string written = Written();
  for (const int64_t at_ms : {1000, 2000, 3900, 4000, 6900, 7000, 8000}) {
    const bool is_read = at_ms % 3000 == 1000 || at_ms == 8000;
    const std::string sample = "start_ns=" + std::to_string(at_ms * kMs) + " source=1 ";
    EXPECT_EQ(written.find(sample) != std::string::npos, is_read) << at_ms << "\n" << written;
  }
}

TEST_F(NvmlTest, AnswersOfACaptureThatIsOverAreDropped) {
  Say("gpus 1\nnvmlDeviceGetTotalEnergyConsumption 5000\n");
  const auto nvml = Start();
  nvml->TakeSlow(1000 * kMs);
  nvml->Switch(false, 1050 * kMs);
  nvml->Switch(true, 1060 * kMs);
  nvml->Drain(1100 * kMs, journal_.get());
  EXPECT_EQ(Written(), "");
}

TEST_F(NvmlTest, TheLastEnergyIsThatOfTheEnd) {
  Say("gpus 1\nnvmlDeviceGetTotalEnergyConsumption 5000\n");
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  nvml->Close(1050 * kMs, journal_.get());
  EXPECT_NE(Written().find("source=1 value=5000"), std::string::npos);
}

// Which were taken 94 ms later than what they count.
TEST_F(NvmlTest, MeansOfGpmAreOverTheTimeBetweenTwoSamples) {
  Say("gpus 1\ngpm 2 96.5\ngpm 20 3\n");
  const auto nvml = Start();
  nvml->TakeSlow(1000 * kMs);
  nvml->TakeSlow(1100 * kMs);
  nvml->Drain(1100 * kMs, journal_.get());
  const std::string written = Written();
  EXPECT_NE(written.find("metric_block start_ns=906000000 duration_ns=100000000 source=1 value=9650\n"),
            std::string::npos)
      << written;
  EXPECT_NE(written.find("start_ns=906000000 duration_ns=100000000 source=2 value=3145728\n"), std::string::npos);
  EXPECT_NE(sources_.find("name=\"SMs Active\" unit=\"%\" origin=\"gpm\" metric_kind=3"), std::string::npos)
      << sources_;
}

TEST_F(NvmlTest, TellsOtherProcessesFromThoseOfTheRun) {
  Say("gpus 1\nprocess 10 1000\nprocess 77 5000\n");
  const auto nvml = Start();
  nvml->TakeSlow(1000 * kMs);
  nvml->Drain(1000 * kMs, journal_.get());
  EXPECT_EQ(Written(),
            "metric_block start_ns=1000000000 source=1 value=1\n"
            "metric_block start_ns=1000000000 source=2 value=1\n"
            "metric_block start_ns=1000000000 source=3 value=5000\n");
  std::filesystem::remove_all(proc_.path() + "/10");  // NVML tells of a process for a moment after its end
  nvml->TakeSlow(2000 * kMs);
  nvml->Drain(2000 * kMs, journal_.get());
  EXPECT_EQ(Written().find("metric_block start_ns=2000000000 source=1 value=1\n"
                           "metric_block start_ns=2000000000 source=2 value=1\n"
                           "metric_block start_ns=2000000000 source=3 value=5000\n"),
            0u);
}

TEST_F(NvmlTest, InstancesOfMigHaveMemoryOnly) {
  Say("gpus 1\nmig 1\nnvmlDeviceGetMaxMigDeviceCount 2\nfield 186 250000\nnvmlDeviceGetMemoryInfo 700\n");
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  Written();
  EXPECT_NE(sources_.find("name=\"power\" unit=\"W\" origin=\"nvml\" metric_kind=1 scope=4 scale=-3 "
                          "period_ns=100000000 device_uuid=\"GPU-1\""),
            std::string::npos)
      << sources_;
  EXPECT_NE(sources_.find("device_uuid=\"MIG-1\""), std::string::npos);
  EXPECT_EQ(sources_.find("MIG-2"), std::string::npos);
}

TEST_F(NvmlTest, LooksLessOftenWhenItTakesTooMuch) {
  const auto nvml = Start();
  int64_t now_ns = 1000 * kMs;
  for (int i = 0; i < 25; ++i) {
    nvml->Drain(now_ns, journal_.get());
    now_ns += 100 * kMs;
    own_cpu_ns_ += 5 * kMs;
  }
  EXPECT_EQ(nvml->period_ns(), 200 * kMs);
  EXPECT_NE(Written().find("reason=5"), std::string::npos);
}

TEST_F(NvmlTest, SourcesAreToldAgainAfterAReset) {
  const auto nvml = Start();
  nvml->Drain(1000 * kMs, journal_.get());
  Written();
  sources_.clear();
  nvml->Reset();
  nvml->Drain(1100 * kMs, journal_.get());
  Written();
  EXPECT_NE(sources_.find("id=1 name=\"power\""), std::string::npos) << sources_;
}

}  // namespace
}  // namespace gprof
