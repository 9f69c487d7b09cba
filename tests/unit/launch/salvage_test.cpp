#include "launch/salvage/salvage.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <list>

#include "fake_arena.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

// A pid that no process has: that of one that has ended.
pid_t DeadPid() {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

class SalvageTest : public testing::Test {
 protected:
  void SetUp() override {
    output_ = folder_.path() + "/run.trace";
    std::ofstream(output_).flush();
    options_.tracer = GPROF_TEST_STUB;
    traces_.Add({.path = output_});
    options_.traces = &traces_;
    options_.report_loss = [this](const std::string& what) { losses_.push_back(what); };
  }

  FakeArena& DeadArena(const std::string& order) {
    arenas_.emplace_back(folder_.path(), DeadPid(), 1, order);
    return arenas_.back();
  }
  std::string Append(const std::string& text) const { return "append " + output_ + " " + text; }

  TemporaryFolder folder_;
  std::string output_;
  RunTraces traces_;
  SalvageOptions options_;
  std::vector<std::string> losses_;
  std::list<FakeArena> arenas_;
};

TEST_F(SalvageTest, WritesWhatDeadProcessesLeftAndDeletesIt) {
  for (const char* const text : {"a", "b", "c", "d", "e", "f"}) DeadArena(Append(text));
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  EXPECT_EQ(salvager.recovered(), 6u);
  EXPECT_EQ(losses_, std::vector<std::string>());
  for (const FakeArena& arena : arenas_) EXPECT_FALSE(arena.Exists());
  const std::string text = ReadWhole(output_);
  for (const char* const line : {"a now\n", "b now\n", "f now\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(text.size(), 6 * 6u);
}

TEST_F(SalvageTest, TheTimeOfDeathIsNotMadeUp) {
  DeadArena(Append("a"));
  Salvager(folder_.path(), options_).Finish(false);
  EXPECT_EQ(ReadWhole(output_), "a some time ago\n");
}

TEST_F(SalvageTest, LeavesTheLivingAlone) {
  const FakeArena living(folder_.path(), getpid(), StartTicksOf(getpid()), Append("a"));
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  EXPECT_TRUE(living.Exists());
  EXPECT_EQ(salvager.recovered(), 0u);
  EXPECT_EQ(ReadWhole(output_), "");
}

TEST_F(SalvageTest, FinishedArenasAreDeletedUnseen) {
  FakeArena& arena = DeadArena(Append("a"));
  arena.header().state.store(static_cast<uint32_t>(trace::ArenaState::kFinished));
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  EXPECT_FALSE(arena.Exists());
  EXPECT_EQ(ReadWhole(output_), "");
}

TEST_F(SalvageTest, CancelledCapturesAreDropped) {
  DeadArena(Append("a")).header().epoch_done.store(4);
  DeadArena(Append("b")).header().epoch_done.store(8);
  Salvager salvager(folder_.path(), options_);
  salvager.DropUnlessDone(6);
  // One that came later belongs to the next capture, whatever it has carried out.
  DeadArena(Append("c")).header().epoch_done.store(0);
  salvager.Finish(true);
  const std::string text = ReadWhole(output_);
  EXPECT_EQ(text.find("a now\n"), std::string::npos) << text;
  EXPECT_NE(text.find("b now\n"), std::string::npos) << text;
  EXPECT_NE(text.find("c now\n"), std::string::npos) << text;
  for (const FakeArena& arena : arenas_) EXPECT_FALSE(arena.Exists());
}

TEST_F(SalvageTest, ACrashIsSaidOnceAndHurtsNobodyElse) {
  const FakeArena& broken = DeadArena("crash");
  DeadArena(Append("a"));
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  salvager.Finish(true);
  EXPECT_EQ(ReadWhole(output_), "a now\n");
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_NE(losses_[0].find("SIGSEGV"), std::string::npos) << losses_[0];
  EXPECT_NE(losses_[0].find("could not be recovered"), std::string::npos);
  EXPECT_FALSE(broken.Exists());
}

TEST_F(SalvageTest, AHangIsEnded) {
  options_.limit_ns = 100'000'000;
  const FakeArena& broken = DeadArena("hang");
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_NE(losses_[0].find("took longer"), std::string::npos) << losses_[0];
  EXPECT_FALSE(broken.Exists());
}

TEST_F(SalvageTest, ErrorsAreNamed) {
  DeadArena("error 28");
  Salvager(folder_.path(), options_).Finish(true);
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_NE(losses_[0].find("No space left"), std::string::npos) << losses_[0];
}

TEST_F(SalvageTest, SaysNothingOnItsOwn) {
  DeadArena("talk");
  testing::internal::CaptureStdout();
  Salvager salvager(folder_.path(), options_);
  salvager.Finish(true);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(salvager.recovered(), 1u);
}

TEST_F(SalvageTest, MissingTracerIsSaid) {
  options_.tracer = folder_.path() + "/no-tracer.so";
  DeadArena(Append("a"));
  Salvager(folder_.path(), options_).Finish(true);
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_NE(losses_[0].find("tracer"), std::string::npos) << losses_[0];
}

TEST_F(SalvageTest, TracerThatKeepsNothingInArenasHasNothingToSalvage) {
  options_.tracer = "libm.so.6";
  const FakeArena& arena = DeadArena(Append("a"));
  Salvager(folder_.path(), options_).Finish(true);
  EXPECT_EQ(losses_, std::vector<std::string>());
  EXPECT_FALSE(arena.Exists());
}

// ---- runs whose launcher is dead ----

class DeadRunTest : public SalvageTest {
 protected:
  // The folder of a launcher that was killed.
  std::string DeadRun() {
    const std::vector<FoundRun> before = FindRuns({base_.path()});
    const pid_t pid = fork();
    if (pid == 0) {
      std::string why;
      RunFolder* const run = RunFolder::MakeIn({base_.path()}, "", &why).release();
      if (run != nullptr) run->Publish({trace::CaptureWish::kTriggered, trace::CaptureTrigger::kBegin, output_});
      _exit(run != nullptr ? 0 : 1);
    }
    waitpid(pid, nullptr, 0);
    for (const FoundRun& run : FindRuns({base_.path()})) {
      const auto is_it = [&run](const FoundRun& one) { return one.path == run.path; };
      if (std::none_of(before.begin(), before.end(), is_it)) return run.path;
    }
    ADD_FAILURE() << "no run was made";
    return {};
  }

  void Recover() {
    RecoverDeadRuns({base_.path()}, options_, [this](const std::string& what) { said_.push_back(what); });
  }

  TemporaryFolder base_;
  std::vector<std::string> said_;
};

TEST_F(DeadRunTest, IsRecoveredAndRemoved) {
  const std::string run = DeadRun();
  arenas_.emplace_back(run, DeadPid(), 1, Append("a"));
  arenas_.emplace_back(run, DeadPid(), 1, Append("b"));
  Recover();
  EXPECT_FALSE(std::filesystem::exists(run));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("2 processes"), std::string::npos) << said_[0];
  EXPECT_NE(said_[0].find(output_), std::string::npos) << said_[0];
  EXPECT_EQ(ReadWhole(output_).size(), 2 * std::string("a some time ago\n").size());
  Recover();
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(DeadRunTest, EmptyOneIsRemovedWithoutAWord) {
  const std::string run = DeadRun();
  Recover();
  EXPECT_FALSE(std::filesystem::exists(run));
  EXPECT_TRUE(said_.empty());
}

TEST_F(DeadRunTest, IsLeftAloneWhileAProcessLives) {
  const std::string run = DeadRun();
  arenas_.emplace_back(run, DeadPid(), 1, Append("a"));
  arenas_.emplace_back(run, getpid(), StartTicksOf(getpid()), Append("b"));
  Recover();
  for (const FakeArena& arena : arenas_) EXPECT_TRUE(arena.Exists());
  EXPECT_EQ(ReadWhole(output_), "");
}

TEST_F(DeadRunTest, RunOfALivingLauncherIsLeftAlone) {
  std::string why;
  const std::unique_ptr<RunFolder> run = RunFolder::MakeIn({base_.path()}, "", &why);
  arenas_.emplace_back(run->path(), DeadPid(), 1, Append("a"));
  Recover();
  EXPECT_TRUE(arenas_.front().Exists());
  EXPECT_TRUE(std::filesystem::exists(run->path()));
  std::filesystem::remove(arenas_.front().path());
}

TEST_F(DeadRunTest, WorksWhereSigchldIsIgnored) {
  const std::string run = DeadRun();
  arenas_.emplace_back(run, DeadPid(), 1, "error 28");
  signal(SIGCHLD, SIG_IGN);
  Recover();
  EXPECT_EQ(signal(SIGCHLD, SIG_DFL), SIG_IGN);
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_TRUE(said_.empty());
}

}  // namespace
}  // namespace gprof
