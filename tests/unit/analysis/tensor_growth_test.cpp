// Tensors that a program keeps step after step, and what is like it and is none.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

constexpr int64_t kStepNs = kMs, kMb = 1'000'000;

// A program whose steps take a millisecond, and which does what a test says in each.
class Training {
 public:
  Training() { maker.trace().devices[0].properties.memory_bytes = 80'000 * kMegabyte; }

  template <class F>
  AnalysisResult Run(int64_t steps, F&& in_step) {
    for (now = 0; now < steps; ++now) {
      const int64_t at_ns = now * kStepNs;
      maker.AddRange(at_ns, at_ns + kStepNs - kUs, "step");
      maker.Launch(at_ns + kUs, at_ns + 2 * kUs, at_ns + 3 * kUs, at_ns + 900 * kUs);
      clock_ns_ = at_ns + 10 * kUs;
      in_step(now);
    }
    trace = maker.Finish();
    return RunMemory(trace, kAllRows);
  }
  // Within an operator. Answers the address.
  uint64_t Allocate(int64_t bytes, std::string_view op = "aten::mm") {
    const int64_t time_ns = Tick();
    maker.AddRange(time_ns - 100, time_ns + 100, "step/" + std::string(op));
    Add(time_ns, ++addresses_ << 12, bytes);
    return addresses_ << 12;
  }
  void Free(uint64_t address, int64_t bytes) { Add(Tick(), address, -bytes); }
  // What is there until the end of the step.
  void AllocateAndFree(int64_t bytes) { Free(Allocate(bytes, "aten::add"), bytes); }

  TraceMaker maker;
  Trace trace;
  int64_t now = 0;

 private:
  int64_t Tick() { return clock_ns_ += kUs; }
  void Add(int64_t time_ns, uint64_t address, int64_t bytes) {
    maker.trace().tensor_blocks.push_back({time_ns, bytes, address, 0, 0, 0, kNone, false});
  }
  int64_t clock_ns_ = 0;
  uint64_t addresses_ = 0;
};

const Finding* Growth(const AnalysisResult& result) {
  for (const Finding& finding : result.findings) {
    if (finding.id == "memory.tensor_growth") return &finding;
  }
  return nullptr;
}

double BytesEach(const AnalysisResult& result) {
  for (const Metric& metric : result.metrics) {
    if (metric.id == "memory.tensor_growth_bytes") return metric.value;
  }
  return -1;
}

TEST(TensorGrowth, IsWhatEachStepKeeps) {
  Training t;
  const AnalysisResult result = t.Run(20, [&](int64_t) {
    t.Allocate(3 * kMb);
    t.Allocate(kMb, "aten::nll_loss_forward");
    t.AllocateAndFree(50 * kMb);
  });
  const Finding* finding = Growth(result);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(BytesEach(result), 4e6);
  EXPECT_EQ(WordsOf(finding),
            "Tensors are kept step after step: 4.00 MB more after each step; gpu0 would be full after 20,000 more "
            "(20.00 s); the largest share by aten::mm | 24 blocks in 12 steps");
}

TEST(TensorGrowth, NeedsNotComeInEachStep) {
  Training t;
  EXPECT_NE(Growth(t.Run(60,
                         [&](int64_t step) {
                           if (step % 5 == 0) t.Allocate(kMb);
                         })),
            nullptr);
}

TEST(TensorGrowth, OfSmallNumbersIsInformation) {
  Training t;
  const AnalysisResult result = t.Run(20, [&](int64_t) { t.Allocate(512); });
  ASSERT_NE(Growth(result), nullptr);
  EXPECT_EQ(Growth(result)->severity, Severity::kInfo);
}

TEST(TensorGrowth, AWarmUpIsNone) {
  Training t;
  const AnalysisResult result = t.Run(20, [&](int64_t step) {
    if (step < 6) t.Allocate(kMb);
    t.AllocateAndFree(kMb);
  });
  EXPECT_EQ(Growth(result), nullptr);
  EXPECT_EQ(BytesEach(result), 0);
}

TEST(TensorGrowth, ACacheThatLevelsOffIsNone) {
  for (const int64_t full : {8, 12, 15}) {
    Training t;
    EXPECT_EQ(Growth(t.Run(20,
                           [&](int64_t step) {
                             if (step < full) t.Allocate(kMb);
                           })),
              nullptr)
        << full;
  }
  Training t;  // with fewer and fewer that are new
  EXPECT_EQ(Growth(t.Run(40,
                         [&](int64_t step) {
                           for (int64_t i = 0; i < 200 / (step + 1) / (step + 1) + (step < 30 ? 1 : 0); ++i)
                             t.Allocate(kMb);
                         })),
            nullptr);
}

TEST(TensorGrowth, AGrowingBatchIsNone) {
  Training t;
  uint64_t before = 0;
  EXPECT_EQ(Growth(t.Run(20,
                         [&](int64_t step) {
                           if (before != 0) t.Free(before, step * kMb);
                           before = t.Allocate((step + 1) * kMb);
                         })),
            nullptr);
}

TEST(TensorGrowth, AWindowOfTheLastStepsIsNone) {
  Training t;
  std::vector<uint64_t> window;
  EXPECT_EQ(Growth(t.Run(40,
                         [&](int64_t) {
                           window.push_back(t.Allocate(kMb));
                           if (window.size() > 5) t.Free(window[window.size() - 6], kMb);
                         })),
            nullptr);
}

TEST(TensorGrowth, WhatIsGivenBackAtTheEndOfAnEpochIsNone) {
  Training t;
  std::vector<uint64_t> kept;
  EXPECT_EQ(Growth(t.Run(40,
                         [&](int64_t step) {
                           kept.push_back(t.Allocate(kMb));
                           if (step % 10 != 9) return;
                           for (const uint64_t address : kept) t.Free(address, kMb);
                           kept.clear();
                         })),
            nullptr);
}

TEST(TensorGrowth, FewStepsDoNotTell) {
  Training t;
  const AnalysisResult result = t.Run(7, [&](int64_t) { t.Allocate(kMb); });
  EXPECT_EQ(Growth(result), nullptr);
  EXPECT_EQ(BytesEach(result), -1);
}

}  // namespace
}  // namespace gprof::test
