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

  // A window that ends, and the base level after it for so long.
  void Window(int64_t from_ns, int64_t until_ns, int64_t base_ns) {
    const auto from = static_cast<uint64_t>(from_ns), until = static_cast<uint64_t>(until_ns);
    file_.Add(trace::CaptureRecord{from, 1, 9, 1}, trace::CaptureRecord{until, 2, 9, 1});
    if (base_ns > 0) file_.Add(trace::BaseTimeRecord{until, static_cast<uint64_t>(base_ns)});
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

TEST_F(WatchTest, BetweenWindowsNobodyKnowsWhatTheGpuDoes) {
  Watch watch(Idle());
  file_.Add(Kernel(50 * kSecond));
  Window(49 * kSecond, 51 * kSecond, 10 * kSecond);
  EXPECT_EQ(LookAt(&watch, 60 * kSecond), "");
  file_.Add(trace::CaptureRecord{61 * kSecond, 1, 9, 2});
  file_.Add(Kernel(61 * kSecond + 1000));
  EXPECT_EQ(LookAt(&watch, 61 * kSecond + 2000), "");
  EXPECT_EQ(LookAt(&watch, 63 * kSecond), "GPU 0 has been idle for 2.00 s");
}

TEST_F(WatchTest, AStepBetweenWindows) {
  Watch watch(Steps());
  Window(1 * kSecond, 2 * kSecond, 98 * kSecond);
  for (int i = 0; i < 20; ++i) Step((10 + i) * kSecond, 30'000'000);
  Step(40 * kSecond, 90'000'000);
  EXPECT_EQ(LookAt(&watch, 100 * kSecond), "step 'train' took 90.00 ms, 3.0 times its median of 30.00 ms");
}

TEST_F(WatchTest, AStepThatWasCutByAWindowWithoutRangesIsNone) {
  Watch watch(Steps());
  Window(1 * kSecond, 2 * kSecond, 48 * kSecond);
  for (int i = 0; i < 20; ++i) Step((10 + i) * kSecond, 30'000'000);
  file_.Add(Range(trace::NvtxEvent::kPush, 49 * kSecond, file_.Name("train")));
  file_.Add(Range(trace::NvtxEvent::kPop, 61 * kSecond));  // of one that began in between
  file_.Add(trace::BaseTimeRecord{60 * kSecond, 40 * kSecond});
  EXPECT_EQ(LookAt(&watch, 100 * kSecond), "");
}

TEST_F(WatchTest, AStepThatIsLongerThanWhatIsKept) {
  WatchOptions options = Steps();
  options.keep_ns = kSecond;
  Watch watch(options);
  for (int i = 0; i < 20; ++i) Step(i * kSecond, 30'000'000);
  Step(30 * kSecond, 2 * kSecond);
  EXPECT_NE(LookAt(&watch, 33 * kSecond).find("it began before what is kept (--keep)"), std::string::npos);
}

TEST_F(WatchTest, AProgramThatTellsNothingBetweenWindowsDoesNotHang) {
  Watch watch(Hang());
  file_.Add(Kernel(kSecond));
  Window(kSecond, 2 * kSecond, 0);
  EXPECT_EQ(LookAt(&watch, 60 * kSecond), "");
  EXPECT_EQ(watch.QuietNs(60 * kSecond), 0);
  file_.Add(trace::CaptureRecord{61 * kSecond, 1, 9, 2});
  EXPECT_EQ(LookAt(&watch, 70 * kSecond), "");
  EXPECT_EQ(LookAt(&watch, 72 * kSecond), "no progress for 11.00 s");
}

TEST_F(WatchTest, AProgramThatTellsOfItselfBetweenWindowsMayHang) {
  Watch watch(Hang());
  file_.Add(Kernel(kSecond));
  Window(kSecond, 2 * kSecond, 0);
  EXPECT_EQ(LookAt(&watch, 3 * kSecond), "");
  Step(4 * kSecond, 1'000'000);
  EXPECT_EQ(LookAt(&watch, 5 * kSecond), "");
  EXPECT_NE(LookAt(&watch, 20 * kSecond), "");
}

TEST_F(WatchTest, AnErrorOfAGpu) {
  WatchOptions options;
  options.on_xid = true;
  Watch watch(options);
  trace::MetricSourceRecord power, xid;
  power.id = 1, power.name = file_.Name("power");
  xid.id = 2, xid.name = file_.Name("Xid"), xid.device = 3;
  file_.Add(power, xid);
  file_.Add(trace::MetricBlockRecord{kSecond, 0, 1, 79});
  EXPECT_EQ(LookAt(&watch, 2 * kSecond), "");
  file_.Add(trace::MetricBlockRecord{2 * kSecond, 0, 2, 79});
  EXPECT_EQ(LookAt(&watch, 3 * kSecond), "the driver logged Xid 79 of GPU 3");
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
