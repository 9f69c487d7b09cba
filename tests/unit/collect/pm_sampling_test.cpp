#include "collect/gpu/pm_sampling.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cupti_pm.h"
#include "fake_run.h"

namespace gprof {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kRealtime = 1'700'000'000'000'000'000;  // of CLOCK_MONOTONIC 0

uint64_t gpu_now = 0;

struct Line {
  std::string kind, text;
  int64_t Number(const std::string& name) const {
    const std::size_t at = text.find(" " + name + "=");
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size() + 2));
  }
};

class PmSamplingTest : public testing::Test {
 protected:
  void SetUp() override {
    void* const library = dlopen(MOCK_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    mock_ = reinterpret_cast<MockPm* (*)()>(dlsym(library, "mock_pm"))();
    *mock_ = MockPm{};
    mock_->missing = "nvlrx__bytes.sum.per_second,nvltx__bytes.sum.per_second";
    mock_->value = [](const char* metric, uint64_t) {
      return std::string_view(metric).starts_with("sm__cycles_active") ? 80.5 : 1e6;
    };
    mock_->now = [] { return gpu_now; };
    output_.path = folder_.path() + "/run.trace";
    Write(output_.path, "");
    std::string why;
    journal_ = Journal::Create(folder_.path(), "gpu_metrics", &why);
    ASSERT_TRUE(journal_) << why;
    journal_->SetOutput(output_);
    GoTo(1000 * kMs);
  }

  void GoTo(int64_t now_ns) {
    now_ns_ = now_ns;
    gpu_now = kRealtime + static_cast<uint64_t>(now_ns);
  }

  std::unique_ptr<PmSampling> Start(GpuMetricsOptions wanted = {}) {
    PmSamplingOptions options;
    options.wanted = std::move(wanted);
    if (options.wanted.devices.empty()) options.wanted.devices = "all";
    options.open = [](const std::string&, pm::Api* api, std::string* why) {
      return pm::Open({MOCK_CUPTI_LIBRARY}, api, why);
    };
    options.find_gpus = [count = gpu_count_](std::vector<pm::Gpu>* gpus, std::string*) {
      for (int i = 0; i < count; ++i) gpus->push_back({i, "GPU-" + std::to_string(i)});
      return true;
    };
    options.own_cpu_clock = [this] { return own_cpu_ns_; };
    options.realtime_offset = [] { return static_cast<int64_t>(kRealtime); };
    options.now = [this] { return now_ns_; };
    auto sampling = std::make_unique<PmSampling>(options);
    std::string why;
    EXPECT_TRUE(sampling->Start({}, &why)) << why;
    sampling->Switch(true, now_ns_);
    return sampling;
  }

  // Steps of 100 ms.
  void Run(PmSampling* sampling, int steps, int64_t cpu_ns_a_step = 0) {
    for (int i = 0; i < steps; ++i) {
      sampling->Drain(now_ns_, journal_.get());
      GoTo(now_ns_ + 100 * kMs);
      own_cpu_ns_ += cpu_ns_a_step;
      if (journal_->IsFilling()) Collect();
    }
  }

  // As it wants to be called.
  void RunUntil(PmSampling* sampling, int64_t end_ns, int64_t cpu_ns_a_call) {
    while (now_ns_ < end_ns) {
      const int64_t next_ns = sampling->Drain(now_ns_, journal_.get());
      own_cpu_ns_ += cpu_ns_a_call;
      GoTo(std::max(next_ns, now_ns_ + cpu_ns_a_call));
      if (journal_->IsFilling()) Collect();
    }
  }

  void Collect() {
    Write(output_.path, "");
    EXPECT_EQ(journal_->Write(), 0);
    std::istringstream text(Records(ReadWhole(output_.path)));
    std::string line;
    while (std::getline(text, line)) lines_.push_back({line.substr(0, line.find(' ')), line});
  }

  std::vector<Line> Of(const std::string& kind) {
    Collect();
    std::vector<Line> found;
    for (const Line& line : lines_) {
      if (line.kind == kind) found.push_back(line);
    }
    return found;
  }

  std::string TextOf(const std::string& kind) {
    std::string text;
    for (const Line& line : Of(kind)) text += line.text + "\n";
    return text;
  }

  TemporaryFolder folder_;
  TraceFile output_;
  std::unique_ptr<Journal> journal_;
  MockPm* mock_ = nullptr;
  int64_t now_ns_ = 0, own_cpu_ns_ = 0;
  int gpu_count_ = 1;
  std::vector<Line> lines_;
};

TEST_F(PmSamplingTest, SamplesAndLossesCoverTheTime) {
  {
    const auto sampling = Start();
    Run(sampling.get(), 10);
    sampling->Close(now_ns_, journal_.get());
    EXPECT_EQ(sampling->Failure(), "");
  }
  int64_t at_ns = 1000 * kMs;
  const std::vector<Line> losses = Of("metric_loss");
  ASSERT_EQ(losses.size(), 1u) << TextOf("metric_loss");
  EXPECT_EQ(losses[0].Number("start_ns"), at_ns);
  EXPECT_EQ(losses[0].Number("reason"), 6);  // set up
  at_ns += losses[0].Number("duration_ns");
  for (const Line& sample : Of("metric_block")) {
    if (sample.Number("source") != 1) continue;
    EXPECT_EQ(sample.Number("start_ns"), at_ns);
    at_ns += sample.Number("duration_ns");
  }
  EXPECT_EQ(at_ns, now_ns_);
  EXPECT_EQ(mock_->hosts, 0);
  EXPECT_EQ(mock_->enabled, 0);
}

TEST_F(PmSamplingTest, TellsCountersByTheirNamesAndUnits) {
  const auto sampling = Start();
  Run(sampling.get(), 2);
  const std::string sources = TextOf("metric_source");
  EXPECT_NE(sources.find("id=1 name=\"SMs Active\" unit=\"%\" origin=\"pm\" metric_kind=3 scope=4 scale=-2 "
                         "period_ns=1000000 device_uuid=\"GPU-0\""),
            std::string::npos)
      << sources;
  EXPECT_NE(sources.find("name=\"GPC Clock Frequency\" unit=\"MHz\""), std::string::npos);
  EXPECT_EQ(sources.find("NVLink"), std::string::npos);
  EXPECT_EQ(Of("metric_block")[0].Number("value"), 8050);
  EXPECT_EQ(Of("metric_block")[1].Number("value"), 100);  // 1 MHz
  EXPECT_EQ(TextOf("notice"), "");
}

TEST_F(PmSamplingTest, WhatIsMissingIsSaidWhereItWasAskedFor) {
  GpuMetricsOptions wanted;
  wanted.metrics = {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "nonsense", "nvlrx__bytes.sum.per_second"};
  const auto sampling = Start(wanted);
  Run(sampling.get(), 2);
  EXPECT_EQ(mock_->counters, 1);
  EXPECT_NE(TextOf("notice").find("GPU metrics not available here: nonsense, nvlrx__bytes.sum.per_second"),
            std::string::npos)
      << TextOf("notice");
}

TEST_F(PmSamplingTest, CountersThatNeedASecondPassAreLeftOut) {
  mock_->most_counters = 5;
  const auto sampling = Start();
  Run(sampling.get(), 2);
  EXPECT_EQ(mock_->counters, 5);
  EXPECT_NE(TextOf("notice").find("L2 Sectors"), std::string::npos);
}

TEST_F(PmSamplingTest, AnotherOwnerIsNamedAndTheRunGoesOn) {
  mock_->availability_result = pm::kHardwareBusy;
  const auto sampling = Start();
  EXPECT_GT(sampling->Drain(now_ns_, journal_.get()), now_ns_ + 1000 * 1000 * kMs);
  EXPECT_NE(sampling->Failure().find("another program uses the performance monitors"), std::string::npos);
  EXPECT_NE(TextOf("notice").find("another program uses"), std::string::npos);
  EXPECT_EQ(Of("metric_loss")[0].Number("reason"), 3);
}

TEST_F(PmSamplingTest, WithoutPermissionItSaysWhatToDo) {
  mock_->enable_result = pm::kNotPermitted;
  const auto sampling = Start();
  Run(sampling.get(), 1);
  EXPECT_NE(sampling->Failure().find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
  EXPECT_EQ(Of("metric_loss")[0].Number("reason"), 4);
}

TEST_F(PmSamplingTest, UnknownGpusAreRefused) {
  GpuMetricsOptions wanted;
  wanted.devices = "3";
  const auto sampling = Start(wanted);
  Run(sampling.get(), 1);
  EXPECT_EQ(sampling->Failure(), "there is no GPU 3");
}

TEST_F(PmSamplingTest, AFullBufferHalvesTheRate) {
  mock_->buffer_samples = 1500;
  GpuMetricsOptions fast;
  fast.hz = 10'000;
  const auto sampling = Start(fast);
  Run(sampling.get(), 3);
  GoTo(now_ns_ + 200 * kMs);
  Run(sampling.get(), 3);
  EXPECT_EQ(mock_->interval_ns, 200'000u);
  EXPECT_NE(TextOf("notice").find("were sampled at 5000 Hz from then on: the buffer of the GPU was full"),
            std::string::npos)
      << TextOf("notice");
  EXPECT_EQ(Of("metric_loss").back().Number("reason"), 1);
}

TEST_F(PmSamplingTest, WhatTakesTooMuchStepsDown) {
  const auto sampling = Start();
  Run(sampling.get(), 13, 50 * kMs);
  EXPECT_EQ(mock_->interval_ns, 1'000'000u);
  EXPECT_EQ(mock_->counters, 8);
  EXPECT_NE(TextOf("notice").find("from then on: reading took 50% of a core"), std::string::npos) << TextOf("notice");
  Run(sampling.get(), 100, 50 * kMs);
  EXPECT_EQ(mock_->interval_ns, 20'000'000u);
  EXPECT_EQ(mock_->counters, 4);
  EXPECT_EQ(mock_->hosts, 1);
  EXPECT_NE(TextOf("notice").find("were sampled at 50 Hz from then on"), std::string::npos);
}

GpuMetricsOptions Bursts50Khz() {
  GpuMetricsOptions wanted;
  wanted.set = "kernels";
  wanted.hz = 50'000;
  wanted.burst_seconds = 0.1;
  return wanted;
}

TEST_F(PmSamplingTest, BurstsComeSoSeldomThatReadingThemIsCheap) {
  const auto sampling = Start(Bursts50Khz());
  const int64_t start_ns = now_ns_;
  RunUntil(sampling.get(), start_ns + 20'000 * kMs, 10 * kMs);
  sampling->Close(now_ns_, journal_.get());
  EXPECT_LT(own_cpu_ns_, (now_ns_ - start_ns) * 35 / 100);
  int64_t samples = 0, sampled_ns = 0, lost_ns = 0, bursts = 0;
  for (const Line& sample : Of("metric_block")) {
    if (sample.Number("source") != 1) continue;
    ++samples;
    sampled_ns += sample.Number("duration_ns");
    EXPECT_EQ(sample.Number("duration_ns"), 20'000);
  }
  for (const Line& loss : Of("metric_loss")) {
    EXPECT_EQ(loss.Number("reason"), 6);  // paused
    lost_ns += loss.Number("duration_ns");
    ++bursts;
  }
  EXPECT_GT(bursts, 10);
  EXPECT_NEAR(static_cast<double>(samples), 5000.0 * static_cast<double>(bursts - 1), 5000);
  EXPECT_NEAR(static_cast<double>(sampled_ns + lost_ns), static_cast<double>(now_ns_ - start_ns), 1e6);
  EXPECT_EQ(TextOf("notice"), "");
  EXPECT_EQ(mock_->enabled, 0);
}

TEST_F(PmSamplingTest, BurstsThatDoNotFitGetShorter) {
  mock_->buffer_samples = 3000;
  const auto sampling = Start(Bursts50Khz());
  RunUntil(sampling.get(), now_ns_ + 5000 * kMs, 10 * kMs);
  EXPECT_NE(TextOf("notice").find("were 50 ms long from then on: there was no room for more"), std::string::npos)
      << TextOf("notice");
  EXPECT_GT(Of("metric_block").size(), 2000u);
}

TEST_F(PmSamplingTest, AFullImageIsALoss) {
  const auto sampling = Start();
  Run(sampling.get(), 2);
  GoTo(now_ns_ + 900 * kMs);  // the process was held up
  Run(sampling.get(), 2);
  sampling->Close(now_ns_, journal_.get());
  const std::vector<Line> losses = Of("metric_loss");
  ASSERT_EQ(losses.size(), 2u) << TextOf("metric_loss");
  EXPECT_EQ(losses[1].Number("reason"), 2);
  EXPECT_GT(losses[1].Number("count"), 100);
}

TEST_F(PmSamplingTest, AnErrorEndsItWithALoss) {
  const auto sampling = Start();
  Run(sampling.get(), 3);
  mock_->decode_result = 999;
  Run(sampling.get(), 1);
  EXPECT_NE(sampling->Failure().find("cuptiPmSamplingDecodeData"), std::string::npos);
  EXPECT_EQ(Of("metric_loss").back().Number("reason"), 0);
  sampling->Close(now_ns_, journal_.get());
  EXPECT_EQ(mock_->enabled, 0);
}

TEST_F(PmSamplingTest, TimesOfAnotherClockAreSaidToBeUncertain) {
  mock_->now = [] { return gpu_now - kRealtime + 5; };
  const auto sampling = Start();
  Run(sampling.get(), 5);
  EXPECT_NE(TextOf("notice").find("times of GPU metrics are uncertain"), std::string::npos);
  for (const Line& sample : Of("metric_block")) {
    EXPECT_GE(sample.Number("start_ns"), 1000 * kMs);
    EXPECT_LE(sample.Number("start_ns"), now_ns_);
  }
}

TEST_F(PmSamplingTest, EachCaptureStartsTheMonitorsAnew) {
  const auto sampling = Start();
  Run(sampling.get(), 3);
  sampling->Close(now_ns_, journal_.get());
  sampling->Switch(false, now_ns_);
  EXPECT_EQ(mock_->enabled, 0);
  GoTo(now_ns_ + 1000 * kMs);
  const int64_t on_ns = now_ns_;
  sampling->Switch(true, now_ns_);
  Collect();
  lines_.clear();
  Run(sampling.get(), 3);
  for (const Line& sample : Of("metric_block")) EXPECT_GE(sample.Number("start_ns"), on_ns);
  EXPECT_EQ(Of("metric_loss")[0].Number("start_ns"), on_ns);
}

TEST_F(PmSamplingTest, EachGpuHasTracksOfItsOwn) {
  gpu_count_ = 2;
  const auto sampling = Start();
  Run(sampling.get(), 5);
  EXPECT_EQ(mock_->enabled, 2);
  sampling->Close(now_ns_, journal_.get());
  EXPECT_EQ(mock_->enabled, 0);
  std::map<std::string, int64_t> sources;  // of SMs Active
  for (const Line& source : Of("metric_source")) {
    for (const char* const uuid : {"GPU-0", "GPU-1"}) {
      const bool is_it =
          source.text.find("\"SMs Active\"") != std::string::npos && source.text.find(uuid) != std::string::npos;
      if (is_it) sources[uuid] = source.Number("id");
    }
  }
  ASSERT_EQ(sources.size(), 2u) << TextOf("metric_source");
  std::map<int64_t, int64_t> counts;
  for (const Line& sample : Of("metric_block")) ++counts[sample.Number("source")];
  EXPECT_GT(counts[sources["GPU-0"]], 300);
  EXPECT_EQ(counts[sources["GPU-0"]], counts[sources["GPU-1"]]);
}

TEST_F(PmSamplingTest, OneOfTwoGpusThatIsTakenDoesNotStopTheOther) {
  gpu_count_ = 2;
  mock_->availability_result = pm::kHardwareBusy;
  mock_->only_gpu = 2;
  const auto sampling = Start();
  Run(sampling.get(), 3);
  EXPECT_EQ(mock_->enabled, 1);
  EXPECT_NE(TextOf("notice").find("GPU 1: another program uses the performance monitors"), std::string::npos)
      << TextOf("notice");
  EXPECT_NE(TextOf("metric_source").find("GPU-0"), std::string::npos);
  EXPECT_EQ(TextOf("metric_source").find("GPU-1"), std::string::npos);
}

TEST_F(PmSamplingTest, OneOfTwoGpusThatIsLostDoesNotStopTheOther) {
  gpu_count_ = 2;
  const auto sampling = Start();
  Run(sampling.get(), 3);
  mock_->decode_result = 999;
  mock_->only_gpu = 1;
  Run(sampling.get(), 1);
  EXPECT_NE(TextOf("notice").find("GPU 0: cuptiPmSamplingDecodeData"), std::string::npos) << TextOf("notice");
  const std::size_t before = Of("metric_block").size();
  Run(sampling.get(), 3);
  EXPECT_GT(Of("metric_block").size(), before);
  sampling->Close(now_ns_, journal_.get());
  EXPECT_EQ(mock_->enabled, 0);
}

TEST_F(PmSamplingTest, OnlyTheGpusOfTheListAreSampled) {
  gpu_count_ = 4;
  GpuMetricsOptions wanted;
  wanted.devices = "GPU-3,1";
  const auto sampling = Start(wanted);
  Run(sampling.get(), 2);
  EXPECT_EQ(mock_->enabled, 2);
  for (const Line& source : Of("metric_source")) {
    EXPECT_EQ(source.text.find("GPU-0"), std::string::npos);
    EXPECT_EQ(source.text.find("GPU-2"), std::string::npos);
  }
}

// What CUPTI answers, by its numbers, on GPUs that are not ours alone.
TEST_F(PmSamplingTest, SaysWhyAGpuCannotBeSampled) {
  const std::pair<int, const char*> refusals[] = {{27, "or its driver, cannot sample"},
                                                  {33, "virtual GPUs of this kind"},
                                                  {40, "enable_profiling=1"},
                                                  {41, "confidential computing"},
                                                  {43, "divided by MIG"},
                                                  {45, "WSL"}};
  for (const auto& [result, words] : refusals) {
    mock_->enable_result = result;
    const auto sampling = Start();
    Run(sampling.get(), 1);
    EXPECT_NE(sampling->Failure().find(words), std::string::npos) << sampling->Failure();
    Collect();
  }
  EXPECT_EQ(Of("metric_loss").size(), std::size(refusals));
}

// The real libcupti plans without a GPU.
TEST(PmPlan, SetsOfCountersFitIntoOnePass) {
  pm::Api api;
  std::string why;
  if (!pm::Open(pm::CuptiFiles(""), &api, &why)) GTEST_SKIP() << why;
  for (const std::string_view set : pm::SetNames()) {
    for (const char* const chip : {"GA100", "GA102", "AD102", "GH100", "GB100", "GB202"}) {
      pm::Plan plan;
      std::vector<std::string> missing;
      ASSERT_EQ(pm::MakePlan(api, chip, {}, pm::SetOf(set), &plan, &missing), pm::kSuccess) << set << " " << chip;
      EXPECT_GE(plan.counters.size(), 4u) << set << " " << chip;
      EXPECT_EQ(plan.counters.front().name, "SMs Active") << set << " " << chip;
      if (std::string_view(chip) == "GH100") {
        EXPECT_TRUE(missing.empty()) << set << ": " << missing.front();
      }
    }
  }
}

}  // namespace
}  // namespace gprof
