#include "recorder/ring_snapshot.h"

#include "recorded_file.h"
#include "trace/load/load.h"

namespace gprof {
namespace {

constexpr trace::ProcessKey kWriter = {1, 9, 99, 0};

struct Taken {
  Snapshot snapshot;
  Trace trace;
};

Taken Take(const RecordedFile& file, Ring* ring, int64_t from_ns, int64_t until_ns) {
  ring->Follow();
  const RecordedFile output("/tmp/gprof-snapshot-XXXXXX");
  Taken taken;
  taken.snapshot = WriteSnapshot(*ring, {.run = output.file().run,
                                         .write = AppendTo(output.file()),
                                         .from_ns = from_ns,
                                         .until_ns = until_ns,
                                         .reason = "a test",
                                         .writer = kWriter});
  taken.trace = LoadTrace(output.path());
  (void)file;
  return taken;
}

// When they began.
std::vector<int64_t> KernelsOf(const Trace& trace) {
  std::vector<int64_t> starts;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) starts.push_back(trace.ops[i].start_ns);
  return starts;
}

trace::ProcessRecord Process() {
  trace::ProcessRecord process;
  process.start_ns = 1;
  return process;
}

TEST(Snapshot, IsACompleteTraceOfWhatIsKept) {
  RecordedFile file;
  file.Add(Process(), trace::StreamRecord{});
  for (int second = 1; second <= 20; ++second) file.Add(Kernel(second * kSecond));
  const auto ring = Ring::Open(file.path(), {.keep_ns = 5 * kSecond});
  ring->Follow();
  ring->Forget(20 * kSecond);
  const Taken taken = Take(file, ring.get(), 15 * kSecond, 21 * kSecond);
  EXPECT_EQ(taken.snapshot.error, 0);
  EXPECT_EQ(taken.snapshot.damaged, 0u);
  ASSERT_EQ(KernelsOf(taken.trace).size(), 6u);
  EXPECT_EQ(KernelsOf(taken.trace).front(), 15 * kSecond);
  EXPECT_EQ(taken.trace.health.missing_chunks, 0u);
  EXPECT_EQ(taken.trace.health.unfinished_processes, 0u);
  ASSERT_EQ(taken.trace.captures.size(), 1u);
  EXPECT_EQ(taken.trace.captures.front().start_ns, 15 * kSecond);
  EXPECT_EQ(taken.trace.captures.front().end_ns, 21 * kSecond);
}

TEST(Snapshot, ShortensChunksThatBeginBefore) {
  RecordedFile file;
  file.Add(Process());
  file.Add(Kernel(1 * kSecond), Kernel(2 * kSecond), Kernel(3 * kSecond), Kernel(4 * kSecond));
  const auto ring = Ring::Open(file.path(), {});
  const Taken taken = Take(file, ring.get(), 3 * kSecond, 5 * kSecond);
  EXPECT_EQ(KernelsOf(taken.trace).size(), 2u);
  EXPECT_EQ(taken.snapshot.records, 2u);
}

TEST(Snapshot, SaysWhyItWasTaken) {
  RecordedFile file;
  file.Add(Process(), Kernel(kSecond));
  const auto ring = Ring::Open(file.path(), {});
  const Taken taken = Take(file, ring.get(), 0, 2 * kSecond);
  ASSERT_EQ(taken.trace.notices.size(), 1u);
  EXPECT_EQ(taken.trace.Text(taken.trace.notices.front().message), "a test");
}

TEST(Snapshot, AProcessThatEndedStaysEnded) {
  RecordedFile file;
  file.Add(Process(), Kernel(kSecond));
  trace::EndRecord end;
  end.time_ns = 2 * kSecond;
  end.reason = static_cast<uint8_t>(trace::EndReason::kExit);
  end.chunks_written = 40;  // most of which were forgotten
  file.Add(end);
  const auto ring = Ring::Open(file.path(), {});
  const Taken taken = Take(file, ring.get(), 0, 5 * kSecond);
  EXPECT_EQ(taken.trace.health.missing_chunks, 0u);
  EXPECT_EQ(taken.trace.health.unfinished_processes, 0u);
  ASSERT_EQ(taken.trace.captures.size(), 1u);
  EXPECT_EQ(taken.trace.captures.front().end_ns, 2 * kSecond);
}

TEST(Snapshot, OfWindowsKeepsTheirBorders) {
  RecordedFile file;
  file.Add(Process());
  const auto border = [](int64_t time_ns, trace::CaptureEvent event, uint32_t number) {
    return trace::CaptureRecord{static_cast<uint64_t>(time_ns), static_cast<uint8_t>(event),
                                static_cast<uint8_t>(trace::CaptureTrigger::kWindow), number};
  };
  using trace::CaptureEvent;
  file.Add(border(1 * kSecond, CaptureEvent::kStart, 1), border(2 * kSecond, CaptureEvent::kStop, 1));
  file.Add(border(3 * kSecond, CaptureEvent::kStart, 2), Kernel(4 * kSecond + 1),
           border(5 * kSecond, CaptureEvent::kStop, 2));
  file.Add(border(7 * kSecond, CaptureEvent::kStart, 3));
  const auto ring = Ring::Open(file.path(), {});
  const Taken taken = Take(file, ring.get(), 4 * kSecond, 8 * kSecond);
  ASSERT_EQ(taken.trace.captures.size(), 2u);
  EXPECT_EQ(taken.trace.captures[0].start_ns, 4 * kSecond);
  EXPECT_EQ(taken.trace.captures[0].end_ns, 5 * kSecond);
  EXPECT_EQ(taken.trace.captures[1].start_ns, 7 * kSecond);
  EXPECT_EQ(taken.trace.captures[1].end_ns, 8 * kSecond);
}

// "Recorded throughout" is what a process without any capture would say.
TEST(Snapshot, BetweenTwoWindowsHasNoKernelsAndSaysSo) {
  RecordedFile file;
  file.Add(Process());
  file.Add(trace::CaptureRecord{1 * kSecond, 1, 9, 1}, trace::CaptureRecord{2 * kSecond, 2, 9, 1});
  file.Add(trace::BaseTimeRecord{2 * kSecond, 3 * kSecond}, trace::BaseTimeRecord{5 * kSecond, 4 * kSecond});
  const auto ring = Ring::Open(file.path(), {.keep_ns = 5 * kSecond});
  ring->Follow();
  ring->Forget(9 * kSecond);
  const Taken taken = Take(file, ring.get(), 4 * kSecond, 9 * kSecond);
  ASSERT_EQ(taken.trace.captures.size(), 1u);
  EXPECT_EQ(taken.trace.captures.front().DurationNs(), 0);
  ASSERT_EQ(taken.trace.base_times.size(), 1u);
  EXPECT_EQ(taken.trace.base_times.front().start_ns, 4 * kSecond);
  EXPECT_EQ(taken.trace.base_times.front().end_ns, 9 * kSecond);
  EXPECT_TRUE(taken.trace.Lacks(Fact::kWholeRun));
}

}  // namespace
}  // namespace gprof
