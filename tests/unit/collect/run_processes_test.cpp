#include "collect/run/run_processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "collect/host/processor_waits.h"
#include "fake_run.h"
#include "gprof/trace/run_folder.h"

namespace gprof {
namespace {

std::vector<pid_t> Pids(const std::map<pid_t, RunProcess>& processes) {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes) pids.push_back(pid);
  return pids;
}

void WriteArena(const std::string& folder, pid_t pid, uint64_t start_ticks, trace::ArenaOwner owner,
                trace::ArenaState state = trace::ArenaState::kRecording) {
  std::string bytes(sizeof(trace::ArenaHeader), '\0');
  auto* const header = reinterpret_cast<trace::ArenaHeader*>(bytes.data());
  header->magic = trace::kArenaMagic;
  header->pid = static_cast<uint32_t>(pid);
  header->start_ticks = start_ticks;
  header->owner.store(static_cast<uint32_t>(owner));
  header->state.store(static_cast<uint32_t>(state));
  Write(folder + "/" + std::to_string(pid) + "-1.arena", bytes);
}

TEST(RunProcesses, FindsTheProgramAndWhatItStarted) {
  const FakeProc proc;
  proc.SetProcess(10, 100);
  proc.SetProcess(11, 5);
  proc.SetProcess(12, 7);
  proc.SetProcess(99, 1);
  proc.SetThread(10, 10, 0, "11 ");
  proc.SetThread(11, 11, 0, "12 13 ");  // 13 has ended meanwhile
  RunProcesses processes({.proc = proc.path(), .run_folder = {}, .program = 10, .follows_children = true});
  EXPECT_EQ(Pids(processes.Look(false)), (std::vector<pid_t>{10, 11, 12}));
  EXPECT_EQ(processes.Look(false).at(12).resident_pages, 7);
  // The one in the middle ends; what it had started stays in the run.
  proc.End(11);
  proc.SetThread(10, 10, 0, "");
  EXPECT_EQ(Pids(processes.Look(false)), (std::vector<pid_t>{10, 12}));
}

TEST(RunProcesses, ThoroughLooksAskAllThreads) {
  const FakeProc proc;
  proc.SetProcess(10, 100);
  proc.SetProcess(20, 100);
  proc.SetThread(10, 15, 0, "20");
  RunProcesses processes({.proc = proc.path(), .run_folder = {}, .program = 10, .follows_children = true});
  EXPECT_EQ(Pids(processes.Look(false)), (std::vector<pid_t>{10}));
  EXPECT_EQ(Pids(processes.Look(true)), (std::vector<pid_t>{10, 20}));
}

TEST(RunProcesses, FindsTracedOnesWhereverTheyHang) {
  const FakeProc proc;
  const TemporaryFolder run;
  for (const pid_t pid : {10, 30, 31, 32}) proc.SetProcess(pid, 1, 0, pid * 100);
  WriteArena(run.path(), 30, 3000, trace::ArenaOwner::kTarget);
  WriteArena(run.path(), 31, 1, trace::ArenaOwner::kTarget);  // its pid is somebody else's now
  WriteArena(run.path(), 32, 3200, trace::ArenaOwner::kCollector);
  RunProcesses processes({.proc = proc.path(), .run_folder = run.path(), .program = 10, .follows_children = true});
  EXPECT_EQ(Pids(processes.Look(true)), (std::vector<pid_t>{10, 30}));
  RunProcesses alone({.proc = proc.path(), .run_folder = run.path(), .program = 10, .follows_children = false});
  EXPECT_EQ(Pids(alone.Look(true)), (std::vector<pid_t>{10}));
}

TEST(RunProcesses, APidThatIsUsedAgainIsNotOurs) {
  const FakeProc proc;
  proc.SetProcess(10, 100);
  RunProcesses processes({.proc = proc.path(), .run_folder = {}, .program = 10, .follows_children = true});
  ASSERT_EQ(processes.Look(true).size(), 1u);
  proc.End(10);
  proc.SetProcess(10, 100);
  EXPECT_EQ(processes.Look(true).size(), 0u);
  EXPECT_EQ(processes.Look(true).size(), 0u);
}

TEST(RunProcesses, DeadOnesThatNobodyWaitedForAreGone) {
  const FakeProc proc;
  proc.SetProcess(10, 100);
  RunProcesses processes({.proc = proc.path(), .run_folder = {}, .program = 10, .follows_children = true});
  ASSERT_EQ(processes.Look(true).size(), 1u);
  Write(proc.Of(10) + "/statm", "0 0 0 0 0 0 0\n");
  EXPECT_EQ(processes.Look(true).size(), 0u);
}

TEST(RunProcesses, SeesRealChildren) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) < 0 ? 1 : 0);
  }
  RunProcesses processes({.proc = "/proc", .run_folder = {}, .program = getpid(), .follows_children = true});
  const std::map<pid_t, RunProcess>& living = processes.Look(true);
  EXPECT_EQ(living.count(child), 1u);
  EXPECT_GT(living.at(getpid()).resident_pages, 0);
  close(gate[1]);
  close(gate[0]);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(processes.Look(true).count(child), 0u);
}

TEST(IsAnyoneRecorded, LooksAtTargetsOnly) {
  const TemporaryFolder run;
  EXPECT_FALSE(IsAnyoneRecorded(run.path()));
  WriteArena(run.path(), 30, 1, trace::ArenaOwner::kCollector);
  WriteArena(run.path(), 31, 1, trace::ArenaOwner::kTarget, trace::ArenaState::kIdle);
  Write(run.path() + "/32-1.arena", "cut");
  EXPECT_FALSE(IsAnyoneRecorded(run.path()));
  WriteArena(run.path(), 33, 1, trace::ArenaOwner::kTarget);
  EXPECT_TRUE(IsAnyoneRecorded(run.path()));
}

TEST(ProcessorWaits, SumsWhatThreadsWaitedSince) {
  const FakeProc proc;
  proc.SetThread(10, 10, 1000);
  ProcessorWaits waits(proc.path(), 10);
  EXPECT_FALSE(waits.is_known());
  waits.List(false);
  EXPECT_EQ(waits.Read(), 0);
  EXPECT_TRUE(waits.is_known());
  proc.SetThread(10, 10, 1500);
  proc.SetThread(10, 11, 40);  // began since
  waits.List(false);
  EXPECT_EQ(waits.Read(), 540);
  EXPECT_EQ(waits.threads(), 2u);
  std::filesystem::remove_all(proc.Of(10) + "/task/10");
  proc.SetThread(10, 11, 50);
  waits.List(false);
  EXPECT_EQ(waits.Read(), 10);
  EXPECT_EQ(waits.threads(), 1u);
}

TEST(ProcessorWaits, OneThatWasSeenToBeginCountsFromThere) {
  const FakeProc proc;
  proc.SetThread(10, 10, 1000);
  ProcessorWaits waits(proc.path(), 10);
  waits.List(true);
  EXPECT_EQ(waits.Read(), 1000);
}

TEST(ProcessorWaits, IsNotKnownWhereTheKernelDoesNotSay) {
  const FakeProc proc;
  proc.SetThread(10, 10, 0);
  std::filesystem::remove(proc.Of(10) + "/task/10/schedstat");
  ProcessorWaits waits(proc.path(), 10);
  waits.List(true);
  EXPECT_EQ(waits.Read(), 0);
  EXPECT_FALSE(waits.is_known());
}

TEST(ProcFile, FieldsBehindAnyName) {
  const std::string_view stat = "7 (a) S 1 (b c) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1900 20\n";
  EXPECT_EQ(StatField(BehindName(stat), kUserTicksField), 11);
  EXPECT_EQ(StatField(BehindName(stat), kStartTicksField), 1900);
  EXPECT_EQ(StatField(BehindName("7 (cut"), kStartTicksField), std::nullopt);
  EXPECT_EQ(NumberAt("  3 x 5\n7", 2), 7);
}

}  // namespace
}  // namespace gprof
