#include "launch/salvage/remaining.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fake_arena.h"

namespace gprof {
namespace {

bool Has(const std::vector<pid_t>& processes, pid_t pid) {
  return std::find(processes.begin(), processes.end(), pid) != processes.end();
}

// A program with an environment of its own, which reads from a pipe that nobody writes to.
class Sleeper {
 public:
  explicit Sleeper(const std::string& entry) {
    int begun[2], hold[2];
    EXPECT_EQ(pipe2(begun, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(hold, O_CLOEXEC), 0);
    hold_ = hold[1];
    pid_ = fork();
    if (pid_ == 0) {
      dup2(hold[0], 0);
      char program[] = "/bin/cat";
      std::string copy = entry, last = "LAST=1";
      char* arguments[] = {program, nullptr};
      char* environment[] = {copy.data(), last.data(), nullptr};
      execve(program, arguments, environment);
      _exit(127);
    }
    close(begun[1]);
    close(hold[0]);
    char nothing;
    EXPECT_EQ(read(begun[0], &nothing, 1), 0);  // exec closed the other end
    close(begun[0]);
  }
  ~Sleeper() { End(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  pid_t pid() const { return pid_; }
  // It stays a zombie.
  void Kill() const {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  void End() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(hold_);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int hold_ = -1;
};

TEST(Remaining, ProcessesWithTheEnvironmentOfTheRun) {
  const RunMarks marks = {"/dev/shm/none/4711-0", "12:3456"};
  Sleeper by_folder("GPROF_RUN_FOLDER=/dev/shm/none/4711-0"), by_id("GPROF_RUN_ID=12:3456");
  const Sleeper longer("GPROF_RUN_ID=12:34567"), other("XGPROF_RUN_ID=12:3456");
  const std::vector<pid_t> remaining = RemainingProcesses(marks);
  EXPECT_TRUE(Has(remaining, by_folder.pid()));
  EXPECT_TRUE(Has(remaining, by_id.pid()));
  EXPECT_FALSE(Has(remaining, longer.pid()));
  EXPECT_FALSE(Has(remaining, other.pid()));
  by_folder.Kill();
  EXPECT_FALSE(Has(RemainingProcesses(marks), by_folder.pid()));
}

TEST(Remaining, NothingIsOfARunWithoutMarks) {
  const Sleeper sleeper("GPROF_RUN_ID=");
  EXPECT_FALSE(Has(RemainingProcesses({"", ""}), sleeper.pid()));
}

TEST(Remaining, ProcessesWithAnArena) {
  const TemporaryFolder folder;
  const Sleeper sleeper("NOTHING=1");
  FakeArena arena(folder.path(), sleeper.pid(), StartTicksOf(sleeper.pid()));
  EXPECT_EQ(RemainingProcesses({folder.path(), ""}), std::vector<pid_t>{sleeper.pid()});
  arena.header().state.store(static_cast<uint32_t>(trace::ArenaState::kFinished));
  EXPECT_TRUE(RemainingProcesses({folder.path(), ""}).empty());
  arena.header().state.store(static_cast<uint32_t>(trace::ArenaState::kIdle));
  sleeper.Kill();
  EXPECT_TRUE(RemainingProcesses({folder.path(), ""}).empty());
}

TEST(Remaining, Sentences) {
  const std::string name = ReadWhole("/proc/self/comm");
  const std::string self = "process " + std::to_string(getpid()) + " (" + name.substr(0, name.size() - 1) + ")";
  EXPECT_EQ(Describe({getpid()}), self + " of the run is still running");
  EXPECT_EQ(Describe({getpid(), 1, 2}), self + " and 2 more of the run are still running");
}

}  // namespace
}  // namespace gprof
