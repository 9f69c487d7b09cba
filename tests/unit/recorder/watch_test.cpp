#include "recorder/watch.h"

#include "recorded_file.h"

namespace gprof {
namespace {

WatchOptions Steps() {
  WatchOptions options;
  options.step = "train";
  options.slow_factor = 2;
  return options;
}

WatchOptions Idle() {
  WatchOptions options;
  options.idle_ns = kSecond;
  return options;
}

WatchOptions Hang() {
  WatchOptions options;
  options.hang_ns = 10 * kSecond;
  return options;
}

class WatchTest : public testing::Test {
 protected:
  std::string LookAt(Watch* watch, int64_t now_ns) {
    ring_->Follow([&](const RingChunk& chunk) { watch->Take(*ring_, chunk); });
    return watch->Look(now_ns);
  }

  void Step(int64_t from_ns, int64_t duration_ns, const char* name = "train") {
    file_.Add(Range(trace::NvtxEvent::kPush, from_ns, file_.Name(name)));
    file_.Add(Range(trace::NvtxEvent::kPop, from_ns + duration_ns));
  }

  RecordedFile file_;
  std::unique_ptr<Ring> ring_ = Ring::Open(file_.path(), {});
};

TEST_F(WatchTest, AStepThatIsSlow) {
  Watch watch(Steps());
  for (int i = 0; i < 20; ++i) Step(i * kSecond, 30'000'000 + i * 100'000);
  EXPECT_EQ(LookAt(&watch, 20 * kSecond), "");
  Step(21 * kSecond, 90'000'000, "evaluate");
  EXPECT_EQ(LookAt(&watch, 22 * kSecond), "");
  Step(23 * kSecond, 93'000'000);
  EXPECT_EQ(LookAt(&watch, 24 * kSecond), "step 'train' took 93.00 ms, 3.0 times its median of 31.00 ms");
  EXPECT_EQ(LookAt(&watch, 25 * kSecond), "");
}

TEST_F(WatchTest, TooFewStepsSayNothing) {
  Watch watch(Steps());
  for (int i = 0; i < 7; ++i) Step(i * kSecond, 1'000'000);
  Step(8 * kSecond, 900'000'000);
  EXPECT_EQ(LookAt(&watch, 10 * kSecond), "");
}

TEST_F(WatchTest, AGapOfTheGpu) {
  Watch watch(Idle());
  EXPECT_EQ(LookAt(&watch, 50 * kSecond), "");  // it has done nothing yet
  file_.Add(Kernel(50 * kSecond), Kernel(50 * kSecond + 2000));
  EXPECT_EQ(LookAt(&watch, 50 * kSecond + kSecond / 2), "");
  file_.Add(Kernel(52 * kSecond));
  EXPECT_EQ(LookAt(&watch, 52 * kSecond + 1000), "GPU 0 was idle for 2.00 s");
}

TEST_F(WatchTest, AGapThatLastsIsToldOnce) {
  Watch watch(Idle());
  file_.Add(Kernel(50 * kSecond, 1'000'000'000));
  EXPECT_EQ(LookAt(&watch, 51 * kSecond), "");
  EXPECT_EQ(LookAt(&watch, 52 * kSecond + kSecond / 2), "GPU 0 has been idle for 1.50 s");
  EXPECT_EQ(LookAt(&watch, 53 * kSecond), "");
  file_.Add(Kernel(54 * kSecond));
  EXPECT_EQ(LookAt(&watch, 54 * kSecond + 1000), "");  // the same gap
  EXPECT_EQ(LookAt(&watch, 56 * kSecond), "GPU 0 has been idle for 2.00 s");
}

TEST_F(WatchTest, CallsThatFail) {
  trace::ApiRecord call;
  call.start_ns = kSecond;
  call.function = file_.Name("cudaMalloc");
  call.domain = static_cast<uint8_t>(trace::ApiDomain::kRuntime);
  call.result = 2;
  WatchOptions of_none, of_any;
  of_none.on_out_of_memory = of_none.on_lost_context = false;
  of_any.on_any_error = true;
  Watch none(of_none), serious({}), any(of_any);
  const auto all = [&] {
    std::vector<RingChunk> chunks;
    ring_->Follow([&](const RingChunk& chunk) {
      for (Watch* watch : {&none, &serious, &any}) watch->Take(*ring_, chunk);
    });
    return std::vector<std::string>{none.Look(kSecond), serious.Look(kSecond), any.Look(kSecond)};
  };
  file_.Add(call);
  const std::string memory = "cudaMalloc returned cudaErrorMemoryAllocation (out of GPU memory)";
  EXPECT_EQ(all(), (std::vector<std::string>{"", memory, memory}));
  call.result = 1;
  file_.Add(call);
  EXPECT_EQ(all(), (std::vector<std::string>{"", "", "cudaMalloc returned cudaErrorInvalidValue"}));
  call.result = 600;  // not ready: the answer of a query
  file_.Add(call);
  EXPECT_EQ(all(), (std::vector<std::string>{"", "", ""}));
  call.result = 700;
  file_.Add(call);
  EXPECT_EQ(all()[1], "cudaMalloc returned cudaErrorIllegalAddress (the context is lost)");
}

TEST_F(WatchTest, NoProgress) {
  Watch watch(Hang());
  EXPECT_EQ(LookAt(&watch, 100 * kSecond), "");  // it has not begun
  file_.Add(Kernel(100 * kSecond));
  EXPECT_EQ(LookAt(&watch, 105 * kSecond), "");
  EXPECT_EQ(LookAt(&watch, 111 * kSecond), "no progress for 11.00 s");
  EXPECT_EQ(LookAt(&watch, 120 * kSecond), "");
  file_.Add(Kernel(121 * kSecond));
  EXPECT_EQ(LookAt(&watch, 122 * kSecond), "");
  EXPECT_EQ(LookAt(&watch, 140 * kSecond), "no progress for 19.00 s");
}

}  // namespace
}  // namespace gprof
