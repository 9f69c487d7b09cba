// When processes were recorded, and what that means for what lies at the borders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace_text.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "2:100-200" is number 2 from 100 to 200; "?" where its stop is missing.
std::vector<std::string> CapturesOf(const Trace& t, uint32_t process = 0) {
  std::vector<std::string> captures;
  const Trace::Slice slice = t.process_captures[process];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const Capture& c = t.captures[i];
    captures.push_back(std::to_string(c.number) + ":" + std::to_string(c.start_ns) + "-" + std::to_string(c.end_ns) +
                       (c.is_open ? "?" : ""));
  }
  return captures;
}

TEST(Captures, AreTheTimesBetweenStartAndStop) {
  const Trace t = LoadText(
      "process start_ns=10 pid=1\n"
      "capture time_ns=300 event=1 trigger=3 number=2\ncapture time_ns=100 event=1 trigger=4 number=1\n"
      "capture time_ns=200 event=2 trigger=2 number=1\ncapture time_ns=400 event=2 trigger=8 number=2\n"
      "chunk pid=2\nprocess start_ns=20 pid=2\n");
  EXPECT_THAT(CapturesOf(t), ElementsAre("1:100-200", "2:300-400"));
  EXPECT_THAT(CapturesOf(t, 1), IsEmpty());
  EXPECT_EQ(t.captures[0].trigger, trace::CaptureTrigger::kNvtx);
  EXPECT_EQ(t.captures[0].end_trigger, trace::CaptureTrigger::kDelay);
  EXPECT_EQ(t.captures[1].end_trigger, trace::CaptureTrigger::kEnd);
}

TEST(Captures, WithoutAStopGoOnToTheEndOfTheProcess) {
  EXPECT_THAT(
      CapturesOf(LoadText("capture time_ns=100 event=1 number=1\nthread tid=1\nnvtx time_ns=900 tid=1 event=1\n")),
      ElementsAre("1:100-900?"));
}

TEST(Captures, WithALostBorderDoNotOverlap) {
  EXPECT_THAT(CapturesOf(LoadText("process start_ns=50 pid=1\ncapture time_ns=100 event=2 number=1\n"
                                  "capture time_ns=200 event=1 number=2\ncapture time_ns=300 event=1 number=3\n"
                                  "capture time_ns=400 event=2 number=3\ncapture time_ns=400 event=2 number=3\n")),
              ElementsAre("1:50-100", "2:200-300?", "3:300-400"));
}

TEST(Captures, CutRangesThatGoOn) {
  const Trace t = LoadText(
      "capture time_ns=100 event=1 trigger=6 number=1\ncapture time_ns=200 event=2 trigger=6 number=1\n"
      "capture time_ns=300 event=1 trigger=6 number=2\ncapture time_ns=400 event=2 trigger=6 number=2\n"
      "nvtx time_ns=110 tid=7 event=2 message=\"epoch\"\nnvtx time_ns=120 tid=7 event=2 message=\"step\"\n"
      "nvtx time_ns=310 tid=7 event=3\n"  // of a range that began while nothing was recorded
      "nvtx time_ns=320 tid=7 event=2 message=\"step\"\nnvtx time_ns=330 tid=7 event=3\n"
      "nvtx time_ns=390 tid=7 event=2 message=\"last\"\n"
      "nvtx time_ns=130 tid=7 event=4 range=1 message=\"across\"\nnvtx time_ns=350 tid=7 event=5 range=1\n"
      "nvtx time_ns=140 tid=7 event=4 range=2 message=\"lost\"\nend time_ns=900 reason=1\n");
  std::vector<std::string> ranges;
  for (const NvtxRange& r : t.ranges) {
    ranges.push_back(std::string(t.Text(r.path)) + ":" + std::to_string(r.start_ns) + "-" + std::to_string(r.end_ns) +
                     (r.is_cut ? " cut" : "") + (r.is_open ? " open" : "") +
                     (r.parent == kNone ? "" : " in " + std::to_string(r.parent)));
  }
  EXPECT_THAT(ranges, ElementsAre("epoch:110-200 cut", "epoch/step:120-200 cut in 0", "across:130-350",
                                  "lost:140-200 cut", "step:320-330", "last:390-400 cut"));
  EXPECT_EQ(t.health.open_ranges, 0u);
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 0u);
}

// The push that begins a capture may be a little before it, the pop that ends it a little after.
TEST(Captures, KeepTheRangesThatTriggerThem) {
  const Trace t = LoadText(
      "capture time_ns=100 event=1 trigger=4 number=1\ncapture time_ns=200 event=2 trigger=4 number=1\n"
      "capture time_ns=300 event=1 trigger=4 number=2\ncapture time_ns=400 event=2 trigger=4 number=2\n"
      "nvtx time_ns=99 tid=7 event=2 message=\"step\"\nnvtx time_ns=201 tid=7 event=3\n"
      "nvtx time_ns=299 tid=7 event=2 message=\"step\"\nnvtx time_ns=401 tid=7 event=3\n");
  ASSERT_EQ(t.ranges.size(), 2u);
  EXPECT_EQ(t.ranges[0].end_ns, 201);
  EXPECT_EQ(t.ranges[1].start_ns, 299);
  EXPECT_EQ(t.ranges[1].end_ns, 401);
  EXPECT_FALSE(t.ranges[0].is_cut || t.ranges[1].is_cut);
}

TEST(Captures, ThatBeganWithTheProcessKnowEveryRange) {
  const Trace t = LoadText(
      "capture time_ns=1 event=1 trigger=1 number=1\ncapture time_ns=90 event=2 trigger=8 number=1\n"
      "nvtx time_ns=5 tid=7 event=3\nnvtx time_ns=6 tid=7 event=2 message=\"open\"\nend time_ns=95 reason=1\n");
  EXPECT_EQ(t.health.unmatched_nvtx_ends, 1u);
  EXPECT_EQ(t.health.open_ranges, 1u);
  EXPECT_EQ(t.ranges[0].end_ns, 95);
}

TEST(Captures, EndTheCallsThatTheyCut) {
  const Trace t = LoadText(
      "capture time_ns=100 event=1 trigger=6 number=1\ncapture time_ns=200 event=2 trigger=6 number=1\n"
      "capture time_ns=300 event=1 trigger=6 number=2\ncapture time_ns=400 event=2 trigger=8 number=2\n"
      "api start_ns=150 tid=7 correlation=1 function=\"cudaDeviceSynchronize\" domain=1 is_unfinished=1\n"
      "api start_ns=310 duration_ns=5 tid=7 correlation=9 function=\"cudaMalloc\" domain=1\n"
      "api start_ns=320 tid=7 correlation=10 function=\"cudaFree\" domain=1 is_unfinished=1\n"
      "end time_ns=450 reason=1\n");
  ASSERT_EQ(t.api_calls.size(), 3u);
  EXPECT_EQ(t.api_calls[0].end_ns, 200);
  EXPECT_EQ(t.api_calls[1].parent, kNone);
  EXPECT_EQ(t.api_calls[2].end_ns, 450);  // this one was cut by the end of the process
}

TEST(Captures, WorkLaunchedBeforeThemIsNotAnUnmatchedOperation) {
  const std::string calls =
      "api start_ns=310 duration_ns=5 tid=7 correlation=20 function=\"cudaLaunchKernel\" domain=1\n";
  const std::string ops =
      "kernel start_ns=305 duration_ns=5 correlation=12\n"  // launched in the pause
      "kernel start_ns=320 duration_ns=5 correlation=20\n"
      "kernel start_ns=330 duration_ns=5 correlation=25\n";  // its call is missing
  const std::string capture = "capture time_ns=300 event=1 trigger=6 number=2\n";
  const Trace t = LoadText(capture + calls + ops);
  EXPECT_EQ(t.health.ops_from_before, 1u);
  EXPECT_EQ(t.health.unmatched_ops, 1u);
  EXPECT_TRUE(t.ops[0].is_from_before);
  EXPECT_FALSE(t.ops[2].is_from_before);
  EXPECT_EQ(LoadText(calls + ops).health.unmatched_ops, 2u);
  EXPECT_EQ(LoadText(capture + ops).health.unmatched_ops, 3u);  // no calls were asked for: nothing follows
}

TEST(Processes, SayWhoTheyAreInAParallelJob) {
  const Trace t = LoadText(
      "process start_ns=1 pid=1 rank=0 local_rank=0 world_size=4 rank_source=\"Slurm\" capture_mode=\"none\"\n"
      "chunk pid=2\nprocess start_ns=1 pid=2\n");
  EXPECT_EQ(t.processes[0].rank, 0);
  EXPECT_EQ(t.processes[0].local_rank, 0);
  EXPECT_EQ(t.processes[0].world_size, 4u);
  EXPECT_EQ(t.Text(t.processes[0].rank_source), "Slurm");
  EXPECT_EQ(t.Text(t.processes[0].capture_mode), "none");
  EXPECT_EQ(t.processes[1].rank, -1);
}

TEST(Processes, ThatWereSalvagedAreCompleteWhereNoGpuWorkIsMissing) {
  const Trace whole = LoadText("end time_ns=9 reason=4\n");
  EXPECT_TRUE(whole.processes[0].IsSalvaged());
  EXPECT_EQ(whole.health.salvaged_processes, 1u);
  EXPECT_TRUE(whole.health.IsComplete());
  const Trace cut = LoadText("end time_ns=9 reason=4 gpu_complete_until_ns=7\n");
  EXPECT_EQ(cut.processes[0].gpu_complete_until_ns, 7);
  EXPECT_EQ(cut.health.unfinished_gpu_work, 1u);
  EXPECT_EQ(cut.health.unfinished_processes, 0u);
  EXPECT_FALSE(cut.health.IsComplete());
  EXPECT_FALSE(LoadText("end time_ns=9 reason=1 gpu_complete_until_ns=7\n").health.IsComplete());
  EXPECT_FALSE(LoadText("end time_ns=9 reason=1\n").processes[0].IsSalvaged());
}

TEST(Processes, AreCompleteWhereTheirLastCaptureEndedInOrder) {
  const std::string capture = "capture time_ns=100 event=1 number=1\ncapture time_ns=200 event=2 trigger=6 number=1\n";
  const std::string again = "capture time_ns=300 event=1 number=2\n", over = "capture time_ns=400 event=2 number=2\n";
  const std::string died = "end time_ns=900 reason=4 gpu_complete_until_ns=150\n";
  const Trace alive = LoadText(capture + "end time_ns=210 reason=3\n");
  EXPECT_TRUE(alive.health.IsComplete());
  EXPECT_EQ(alive.processes[0].end_reason, trace::EndReason::kStopped);
  const Trace dead = LoadText(capture + "end time_ns=210 reason=3\n" + died);
  EXPECT_TRUE(dead.health.IsComplete());
  EXPECT_EQ(dead.health.salvaged_processes, 0u);
  EXPECT_EQ(dead.processes[0].gpu_complete_until_ns, 0);
  EXPECT_EQ(LoadText(capture + "end time_ns=210 reason=3\nend time_ns=900 reason=1\n").processes[0].end_reason,
            trace::EndReason::kExit);
  // It says nothing of a capture that came later, and nothing where CUPTI did not answer.
  EXPECT_FALSE(LoadText(capture).health.IsComplete());
  EXPECT_FALSE(LoadText(capture + died).health.IsComplete());
  EXPECT_FALSE(LoadText(capture + "end time_ns=210 reason=3 gpu_complete_until_ns=150\n").health.IsComplete());
  EXPECT_FALSE(LoadText(capture + "end time_ns=210 reason=3\n" + again).health.IsComplete());
  EXPECT_FALSE(LoadText(capture + "end time_ns=210 reason=3\n" + again + over + died).health.IsComplete());
  EXPECT_TRUE(LoadText(capture + again + over + "end time_ns=410 reason=3\n").health.IsComplete());
}

TEST(Processes, LastEndCounts) {
  const Trace t = LoadText("end time_ns=90 reason=4 gpu_complete_until_ns=80\nend time_ns=50 reason=3\n");
  EXPECT_EQ(t.processes[0].end_reason, trace::EndReason::kSalvaged);
  EXPECT_EQ(t.health.salvaged_processes, 1u);
}

}  // namespace
}  // namespace gprof
