#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "fake_arena.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

using trace::CaptureTrigger;
using trace::CaptureWish;

// What a tracer does: reads again until nothing changed meanwhile.
class PageReader {
 public:
  explicit PageReader(const std::string& folder) {
    const int descriptor = open((folder + "/control").c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(descriptor, 0);
    void* const page = mmap(nullptr, sizeof(trace::ControlPage), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    EXPECT_NE(page, MAP_FAILED);
    page_ = static_cast<const trace::ControlPage*>(page);
  }
  ~PageReader() { munmap(const_cast<trace::ControlPage*>(page_), sizeof *page_); }
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  const trace::ControlPage& page() const { return *page_; }

  // False: it was being changed.
  bool Read(CaptureOrder* order) const {
    const uint32_t before = page_->epoch.load(std::memory_order_acquire);
    if (before % 2 != 0) return false;
    order->wish = static_cast<CaptureWish>(page_->wish.load(std::memory_order_relaxed));
    order->inode = page_->output_inode.load(std::memory_order_relaxed);
    char output[sizeof page_->output];
    std::memcpy(output, page_->output, sizeof output);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (page_->epoch.load(std::memory_order_relaxed) != before) return false;
    order->output.assign(output, strnlen(output, sizeof output));
    return true;
  }

 private:
  const trace::ControlPage* page_;
};

std::unique_ptr<RunFolder> MakeRun(const TemporaryFolder& base, const std::string& session = "") {
  std::string why;
  std::unique_ptr<RunFolder> run = RunFolder::MakeIn({base.path()}, session, &why);
  EXPECT_TRUE(run) << why;
  return run;
}

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(RunFolder, IsPrivateAndGoesWithoutTrace) {
  const TemporaryFolder base;
  const mode_t before = umask(0);
  std::unique_ptr<RunFolder> run = MakeRun(base);
  umask(before);
  const std::string path = run->path();
  // Programs of root may go on as another user, who cannot list what he can enter.
  const bool is_root = geteuid() == 0;
  EXPECT_EQ(ModeOf(path), is_root ? 0711u : 0700u);
  EXPECT_EQ(ModeOf(std::filesystem::path(path).parent_path()), is_root ? 0711u : 0700u);
  EXPECT_EQ(ModeOf(path + "/control"), is_root ? 0644u : 0600u);
  EXPECT_EQ(ModeOf(path + "/spare0"), 0600u);
  if (is_root) {
    EXPECT_EQ(ModeOf(path + "/others"), 01733u);
  }
  run.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
}

TEST(RunFolder, TwoOfOneProcessDoNotMeet) {
  const TemporaryFolder base;
  const std::unique_ptr<RunFolder> one = MakeRun(base), two = MakeRun(base);
  EXPECT_NE(one->path(), two->path());
}

TEST(RunFolder, StaysWhileAProcessHasSomethingInIt) {
  const TemporaryFolder base;
  std::unique_ptr<RunFolder> run = MakeRun(base);
  const std::string path = run->path();
  const FakeArena arena(path, getpid(), 0);
  run.reset();
  EXPECT_TRUE(arena.Exists());
  EXPECT_TRUE(std::filesystem::exists(path + "/control"));
}

TEST(RunFolder, TakesNoFolderThatOthersMayEnter) {
  const TemporaryFolder open_base, good_base;
  std::string folder, why;
  ASSERT_TRUE(PrepareBase(open_base.path(), &folder, &why));
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_FALSE(PrepareBase(open_base.path(), &folder, &why));
  EXPECT_NE(why.find("accessible to other users"), std::string::npos) << why;
  const std::unique_ptr<RunFolder> run = RunFolder::MakeIn({open_base.path(), good_base.path()}, "", &why);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->path().starts_with(good_base.path()));
}

TEST(RunFolder, FollowsNoLink) {
  const TemporaryFolder base, elsewhere;
  std::string folder, why;
  ASSERT_TRUE(PrepareBase(base.path(), &folder, &why));
  ASSERT_EQ(rmdir(folder.c_str()), 0);
  ASSERT_EQ(chmod(elsewhere.path().c_str(), 0700), 0);
  ASSERT_EQ(symlink(elsewhere.path().c_str(), folder.c_str()), 0);
  EXPECT_FALSE(RunFolder::MakeIn({base.path()}, "", &why));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

TEST(RunFolder, SaysWhyThereIsNone) {
  std::string why;
  EXPECT_FALSE(RunFolder::MakeIn({"/proc/nothing"}, "", &why));
  EXPECT_NE(why.find("/proc/nothing"), std::string::npos) << why;
}

TEST(ControlPage, HoldsTheOrder) {
  const TemporaryFolder base;
  const std::unique_ptr<RunFolder> run = MakeRun(base);
  const PageReader reader(run->path());
  EXPECT_EQ(reader.page().magic, trace::kControlMagic);
  EXPECT_EQ(reader.page().launcher_pid.load(), static_cast<uint32_t>(getpid()));
  const FakeArena arena(run->path(), getpid(), 0);
  const uint32_t first = reader.page().epoch.load();
  EXPECT_EQ(first % 2, 0u);
  const uint32_t epoch = run->Publish({CaptureWish::kRecord, CaptureTrigger::kDelay, "/a/run.trace", 5, 6});
  EXPECT_EQ(epoch, first + 2);
  EXPECT_EQ(reader.page().epoch.load(), epoch);
  EXPECT_EQ(reader.page().trigger.load(), static_cast<uint32_t>(CaptureTrigger::kDelay));
  EXPECT_EQ(reader.page().output_device.load(), 5u);
  CaptureOrder order;
  ASSERT_TRUE(reader.Read(&order));
  EXPECT_EQ(order.wish, CaptureWish::kRecord);
  EXPECT_EQ(order.output, "/a/run.trace");
  EXPECT_EQ(order.inode, 6u);
  EXPECT_EQ(const_cast<FakeArena&>(arena).header().bell.load(), 1u);
}

TEST(ControlPage, LeavesOutAPathThatDoesNotFit) {
  const TemporaryFolder base;
  const std::unique_ptr<RunFolder> run = MakeRun(base);
  run->Publish({CaptureWish::kRecord, CaptureTrigger::kBegin, "/" + std::string(5000, 'x'), 1, 1});
  CaptureOrder order;
  ASSERT_TRUE(PageReader(run->path()).Read(&order));
  EXPECT_EQ(order.output, "");
}

TEST(ControlPage, NobodyEverSeesHalfAnOrder) {
  const TemporaryFolder base;
  const std::unique_ptr<RunFolder> run = MakeRun(base);
  run->Publish({CaptureWish::kRecord, CaptureTrigger::kBegin, std::string(1, 'a'), 1, 1});
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> good = 0, torn = 0;
  const auto read = [&] {
    const PageReader reader(run->path());
    CaptureOrder order;
    while (!is_over) {
      if (!reader.Read(&order)) continue;
      // The inode counts the letters of the path, which are all alike.
      const bool is_whole =
          order.output.size() == order.inode && order.output == std::string(order.output.size(), order.output.front());
      ++(is_whole ? good : torn);
    }
  };
  std::thread one(read), two(read);
  for (uint64_t i = 0; i < 20'000 || (good == 0 && i < 50'000'000); ++i) {
    const uint64_t size = 1 + i * 37 % 4000;
    run->Publish(
        {CaptureWish::kRecord, CaptureTrigger::kBegin, std::string(size, static_cast<char>('a' + i % 26)), 1, size});
  }
  is_over = true;
  one.join();
  two.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_GT(good, 0u);
}

TEST(FindRuns, TellsSessionsAndLivingLaunchers) {
  const TemporaryFolder base;
  std::unique_ptr<RunFolder> run = MakeRun(base), session = MakeRun(base, "train");
  std::vector<FoundRun> runs = FindRuns({base.path(), "/proc/nothing"});
  ASSERT_EQ(runs.size(), 2u);
  std::sort(runs.begin(), runs.end(), [](const FoundRun& a, const FoundRun& b) { return a.session < b.session; });
  EXPECT_EQ(runs[0].session, "");
  EXPECT_EQ(runs[1].session, "train");
  EXPECT_EQ(runs[1].launcher_pid, static_cast<uint32_t>(getpid()));
  EXPECT_TRUE(HasLauncher(runs[0]));
  EXPECT_FALSE(RunClaim::Take(runs[0]));
}

TEST(RunClaim, IsGivenOnceWhenTheLauncherIsDead) {
  const TemporaryFolder base;
  const pid_t pid = fork();
  if (pid == 0) {
    std::string why;
    RunFolder* const run = RunFolder::MakeIn({base.path()}, "", &why).release();
    if (run != nullptr) run->Publish({CaptureWish::kTriggered, CaptureTrigger::kBegin, "/a/run.trace", 1, 1});
    _exit(run != nullptr ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
  const std::vector<FoundRun> runs = FindRuns({base.path()});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(HasLauncher(runs[0]));
  const std::unique_ptr<RunClaim> claim = RunClaim::Take(runs[0]);
  ASSERT_TRUE(claim);
  ASSERT_NE(claim->traces().Last(), nullptr);
  EXPECT_EQ(claim->traces().Last()->path, "/a/run.trace");
  EXPECT_FALSE(RunClaim::Take(runs[0]));
}

TEST(RunClaim, WaitsForWhatADeadLauncherHadJustForked) {
  const TemporaryFolder base;
  int released[2];
  ASSERT_EQ(pipe(released), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    std::string why;
    RunFolder::MakeIn({base.path()}, "", &why).release();
    close(released[1]);
    char byte = 0;
    if (fork() == 0) (void)!read(released[0], &byte, 1);  // has the launcher's lock, as every child has at first
    _exit(0);
  }
  close(released[0]);
  int status = 0;
  waitpid(launcher, &status, 0);
  const std::vector<FoundRun> runs = FindRuns({base.path()});
  ASSERT_EQ(runs.size(), 1u);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    close(released[1]);
  });
  EXPECT_TRUE(RunClaim::Take(runs[0]));
  release.join();
}

TEST(RunClaim, AFolderThatIsBeingMadeIsLeftAlone) {
  const TemporaryFolder base;
  std::string folder, why;
  ASSERT_TRUE(PrepareBase(base.path(), &folder, &why));
  ASSERT_EQ(mkdir((folder + "/" + std::to_string(getpid()) + "-0").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((folder + "/no-number").c_str(), 0700), 0);
  const std::vector<FoundRun> runs = FindRuns({base.path()});
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(RunClaim::Take(runs[0]));
}

}  // namespace
}  // namespace gprof
