#include <gtest/gtest.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "fake_arena.h"
#include "launch/salvage/arena_files.h"

namespace gprof {
namespace {

// A process of its own that does `work` and then waits to be killed; gone when the test is over.
class Process {
 public:
  explicit Process(const std::function<void()>& work = [] {}) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      alarm(120);
      work();
      (void)!write(ends[1], "x", 1);
      for (;;) pause();
    }
    close(ends[1]);
    char ready;
    EXPECT_EQ(read(ends[0], &ready, 1), 1);
    close(ends[0]);
  }
  ~Process() { KillAndReap(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  pid_t pid() const { return pid_; }

  // Waits until it is dead, and leaves it a zombie.
  void Kill() {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void KillAndReap() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(IsProcessAlive, TellsTheLivingFromTheDead) {
  Process process;
  const auto pid = static_cast<uint32_t>(process.pid());
  const uint64_t ticks = StartTicksOf(process.pid());
  EXPECT_TRUE(IsProcessAlive(pid, ticks));
  EXPECT_TRUE(IsProcessAlive(pid, 0));
  process.Kill();
  EXPECT_FALSE(IsProcessAlive(pid, ticks)) << "a zombie is dead";
  process.KillAndReap();
  EXPECT_FALSE(IsProcessAlive(pid, ticks));
}

TEST(IsProcessAlive, AnotherProcessWithThePidIsAnotherProcess) {
  const auto pid = static_cast<uint32_t>(getpid());
  EXPECT_TRUE(IsProcessAlive(pid, StartTicksOf(getpid())));
  EXPECT_FALSE(IsProcessAlive(pid, StartTicksOf(getpid()) + 1));
}

TEST(IsProcessAlive, LivesOnWhenItsFirstThreadHasEnded) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(120);
    std::thread([] {
      for (;;) pause();
    }).detach();
    close(ends[1]);
    syscall(SYS_exit, 0);  // of this thread alone
  }
  close(ends[1]);
  const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
  for (int i = 0; i < 60'000 && ReadWhole(stat).find(") Z ") == std::string::npos; ++i) usleep(1000);
  ASSERT_NE(ReadWhole(stat).find(") Z "), std::string::npos);
  EXPECT_TRUE(IsProcessAlive(static_cast<uint32_t>(pid), 0));
  close(ends[0]);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(Arenas, AreListedByNameAndReadWithCare) {
  const TemporaryFolder folder;
  FakeArena good(folder.path(), 200, 7);
  good.header().epoch_done.store(4);
  good.header().wants_shutdown.store(1);
  std::ofstream(folder.path() + "/100-9.arena") << "short";
  std::ofstream(folder.path() + "/control") << "no arena";
  std::ofstream(folder.path() + "/x-1.arena") << "no pid";
  std::ofstream(folder.path() + "/300.arena") << "no dash";
  const std::vector<Arena> arenas = ArenasIn(folder.path());
  ASSERT_EQ(arenas.size(), 2u);
  EXPECT_EQ(arenas[0].pid, 100u);
  EXPECT_FALSE(arenas[0].has_header);
  EXPECT_TRUE(arenas[1].has_header);
  EXPECT_EQ(arenas[1].start_ticks, 7u);
  EXPECT_EQ(arenas[1].epoch_done, 4u);
  EXPECT_TRUE(arenas[1].wants_shutdown);
  EXPECT_EQ(arenas[1].state, trace::ArenaState::kRecording);
  EXPECT_TRUE(ArenasIn(folder.path() + "/nothing").empty());
}

TEST(Arenas, HeaderOfAnotherPidIsNone) {
  const TemporaryFolder folder;
  FakeArena arena(folder.path(), 200, 7);
  arena.header().pid = 1;
  EXPECT_FALSE(ArenasIn(folder.path()).front().has_header);
}

TEST(Arenas, BellWakesWhoWaits) {
  const TemporaryFolder folder;
  FakeArena arena(folder.path(), getpid(), 0);
  std::atomic<uint32_t>& bell = arena.header().bell;
  std::thread waiter([&bell] {
    while (bell.load() == 0) syscall(SYS_futex, &bell, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  });
  RingBell(ArenasIn(folder.path()).front());
  waiter.join();
  EXPECT_EQ(bell.load(), 1u);
}

TEST(ArenaClaim, IsNotGivenWhileTheProcessLives) {
  const TemporaryFolder folder;
  Process process;
  const FakeArena arena(folder.path(), process.pid(), StartTicksOf(process.pid()));
  EXPECT_FALSE(ArenaClaim::Take(ArenasIn(folder.path()).front()));
  process.Kill();
  EXPECT_TRUE(ArenaClaim::Take(ArenasIn(folder.path()).front()));
}

TEST(ArenaClaim, IsGivenOnce) {
  const TemporaryFolder folder;
  const FakeArena arena(folder.path(), getpid(), 1);
  const Arena facts = ArenasIn(folder.path()).front();
  std::optional<ArenaClaim> first = ArenaClaim::Take(facts);
  ASSERT_TRUE(first);
  EXPECT_FALSE(ArenaClaim::Take(facts));
  first->Delete();
  EXPECT_FALSE(ArenaClaim::Take(facts));
}

// The process of the pid lives on, but as another program: the lock of the image before is free.
TEST(ArenaClaim, ExecEndsAnImage) {
  const TemporaryFolder folder;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(120);
    FakeArena arena(folder.path(), getpid(), StartTicksOf(getpid()));
    flock(arena.descriptor(), LOCK_EX);
    arena.header().is_locked.store(1);
    (void)!write(ends[1], "x", 1);
    raise(SIGSTOP);
    execlp("sleep", "sleep", "120", nullptr);
    _exit(1);
  }
  close(ends[1]);
  char byte;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  const Arena arena = ArenasIn(folder.path()).front();
  EXPECT_TRUE(arena.is_locked);
  EXPECT_TRUE(IsAlive(arena));
  EXPECT_FALSE(ArenaClaim::Take(arena));
  waitpid(pid, nullptr, WUNTRACED);
  kill(pid, SIGCONT);
  close(ends[0]);
  for (int i = 0; i < 60'000 && IsAlive(arena); ++i) usleep(1000);
  EXPECT_TRUE(IsProcessAlive(static_cast<uint32_t>(pid), arena.start_ticks));
  EXPECT_FALSE(IsAlive(arena));
  EXPECT_TRUE(ArenaClaim::Take(arena));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace gprof
