#include "collect/host/cpu_samples.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_run.h"
#include "gprof/trace/run_folder.h"

namespace gprof {

int64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

__attribute__((noinline)) void Burn(int64_t cpu_ns) {
  const int64_t until_ns = NowNs(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (NowNs(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
    for (int i = 0; i < 2000; ++i) asm volatile("" ::: "memory");
  }
}
// What they do behind the call keeps them on the stack.
__attribute__((noinline)) void BurnMuch(std::atomic<int>* rounds) {
  Burn(8'000'000);
  ++*rounds;
}
__attribute__((noinline)) void BurnLittle(std::atomic<int>* rounds) {
  Burn(2'000'000);
  ++*rounds;
}

namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

void Pause(int64_t ns) {
  const timespec pause = {0, ns};
  nanosleep(&pause, nullptr);
}

// The arena of a traced process that is this one.
class PublishedThreads {
 public:
  explicit PublishedThreads(const std::string& folder) : path_(folder + "/1-1.arena") {
    header_.magic = trace::kArenaMagic;
    header_.pid = static_cast<uint32_t>(getpid());
    header_.state = static_cast<uint32_t>(trace::ArenaState::kRecording);
    Save();
  }
  void Add(pid_t tid) {
    header_.threads[next_++ % trace::kArenaThreads] = static_cast<uint32_t>(tid);
    Save();
  }

 private:
  void Save() { Write(path_, {reinterpret_cast<const char*>(&header_), sizeof header_}); }

  std::string path_;
  trace::ArenaHeader header_ = {};
  uint32_t next_ = 0;
};

bool CanSample() {
  PerfWish wish;
  return TryPerfEvents(&wish) == 0;
}

class CpuSamplesTest : public testing::Test {
 protected:
  void SetUp() override {
    output_.path = folder_.path() + "/run.trace";
    Write(output_.path, "");
    std::filesystem::create_directory(run_.folder = folder_.path() + "/run");
    run_.program = getpid();
    published_.emplace(run_.folder);
    Begin();
  }

  void Begin() {
    std::string why;
    std::filesystem::create_directory(folder_.path() + "/journal");
    journal_ = Journal::Create(folder_.path() + "/journal", "cpu_samples", &why);
    ASSERT_TRUE(journal_) << why;
    journal_->SetOutput(output_);
  }

  void Start(SamplingOptions options) {
    collector_.emplace(options, true);
    std::string why;
    ASSERT_TRUE(collector_->Start(run_, &why)) << why;
    collector_->Switch(true, NowNs(CLOCK_MONOTONIC));
  }
  void Drain() { collector_->Drain(NowNs(CLOCK_MONOTONIC), journal_.get()); }
  // The records, as lines.
  std::vector<std::string> Finish() {
    const int64_t now_ns = NowNs(CLOCK_MONOTONIC);
    collector_->Close(now_ns, journal_.get());
    collector_->Switch(false, now_ns);
    EXPECT_EQ(journal_->Write(), 0);
    std::istringstream records(Records(ReadWhole(output_.path)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(records, line);) lines.push_back(line);
    return lines;
  }

  // Drains while a thread that was published does the work.
  void Collect(const std::function<void()>& work) {
    std::atomic<pid_t> tid{0};
    std::atomic<bool> is_done{false}, may_go{false};
    std::thread worker([&] {
      tid = static_cast<pid_t>(syscall(SYS_gettid));
      while (!may_go) Pause(kMillisecondNs / 10);
      work();
      is_done = true;
    });
    while (tid == 0) Pause(kMillisecondNs / 10);
    published_->Add(tid);
    Drain();
    may_go = true;
    while (!is_done) {
      Drain();
      Pause(5 * kMillisecondNs);
    }
    worker.join();
    Drain();
  }

  TemporaryFolder folder_;
  TraceFile output_;
  RunView run_;
  std::optional<PublishedThreads> published_;
  std::unique_ptr<Journal> journal_;
  std::optional<CpuSamples> collector_;
};

std::size_t CountOf(const std::vector<std::string>& lines, const std::string& begin, const std::string& part = "") {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.starts_with(begin + " ") && line.find(part) != std::string::npos;
  }));
}

std::string FieldOf(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 2;
  std::string value = line.substr(from, line.find(' ', from) - from);
  if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

// How many samples have a function on their stack.
class SampledNames {
 public:
  explicit SampledNames(const std::vector<std::string>& lines) : lines_(lines) {
    for (const std::string& line : lines) {
      if (line.starts_with("symbol ")) names_[FieldOf(line, "frame")] = FieldOf(line, "name");
      if (line.starts_with("stack ")) nodes_[FieldOf(line, "id")] = {FieldOf(line, "parent"), FieldOf(line, "frame")};
    }
  }
  int On(const std::string& name) const {
    int count = 0;
    for (const std::string& line : lines_) {
      if (!line.starts_with("cpu_sample ")) continue;
      bool is_on = false;
      for (std::string at = FieldOf(line, "stack"); nodes_.count(at) != 0; at = nodes_.at(at).first) {
        const auto known = names_.find(nodes_.at(at).second);
        is_on |= known != names_.end() && known->second.find(name) != std::string::npos;
      }
      count += is_on;
    }
    return count;
  }

 private:
  const std::vector<std::string>& lines_;
  std::map<std::string, std::string> names_;                          // of frames
  std::map<std::string, std::pair<std::string, std::string>> nodes_;  // parent and frame
};

TEST_F(CpuSamplesTest, SaysWhichFunctionsRanAndForHowLong) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  Start({.hz = 1000});
  Collect([] {
    std::atomic<int> rounds{0};
    while (rounds < 240) {
      BurnMuch(&rounds);
      BurnLittle(&rounds);
    }
  });
  const std::vector<std::string> lines = Finish();
  const SampledNames names(lines);
  const int much = names.On("BurnMuch"), little = names.On("BurnLittle");
  ASSERT_GT(much, 50) << lines.size();
  ASSERT_GT(little, 5);
  // Four to one.
  EXPECT_GT(much, little * 2);
  EXPECT_LT(much, little * 8);
  const auto all = static_cast<int>(CountOf(lines, "cpu_sample"));
  EXPECT_GT(much + little, all * 8 / 10);
  // To the outermost frame.
  EXPECT_GT(names.On("start_thread") + names.On("clone"), all * 8 / 10);
  // On a busy machine it may step down to fewer samples, and says so; none was lost.
  EXPECT_EQ(CountOf(lines, "metric_loss"), CountOf(lines, "metric_loss", "reason=5"));
}

TEST_F(CpuSamplesTest, TellsNothingTwice) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  Start({.hz = 1000});
  Collect([] {
    std::atomic<int> rounds{0};
    while (rounds < 20) BurnLittle(&rounds);
  });
  const std::vector<std::string> lines = Finish();
  EXPECT_GT(CountOf(lines, "stack"), 0u);
  std::map<std::string, int> times;
  for (const std::string& line : lines) {
    if (line.starts_with("stack ") || line.starts_with("frame ") || line.starts_with("module ")) ++times[line];
  }
  for (const auto& [line, count] : times) EXPECT_EQ(count, 1) << line;
}

TEST_F(CpuSamplesTest, TellsAgainWhatAnotherFileNeeds) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  const auto work = [] {
    std::atomic<int> rounds{0};
    while (rounds < 20) BurnLittle(&rounds);
  };
  Start({.hz = 1000});
  Collect(work);
  Finish();
  collector_->Reset();
  journal_->Discard();
  Write(output_.path = folder_.path() + "/other.trace", "");
  journal_->SetOutput(output_);
  collector_->Switch(true, NowNs(CLOCK_MONOTONIC));
  Collect(work);
  EXPECT_GT(SampledNames(Finish()).On("BurnLittle"), 10);
}

TEST_F(CpuSamplesTest, SaysWhenThreadsAreOffTheProcessor) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  Start({.samples = CpuScope::kNobody, .switches = CpuScope::kLaunching});
  Collect([] {
    for (int i = 0; i < 20; ++i) Pause(3 * kMillisecondNs);
  });
  const std::vector<std::string> lines = Finish();
  EXPECT_EQ(CountOf(lines, "cpu_sample"), 0u);
  std::size_t waits = 0;
  for (const std::string& line : lines) {
    const bool is_wait = line.starts_with("switch ") && FieldOf(line, "is_preempted") != "1";
    waits += is_wait && std::stoll(FieldOf(line, "duration_ns")) >= 3 * kMillisecondNs;
  }
  EXPECT_GE(waits, 19u);
}

TEST_F(CpuSamplesTest, CountsWhatItWasTooLateFor) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  Start({.hz = 5000, .stack_bytes = 32768});
  std::atomic<pid_t> tid{0};
  std::atomic<bool> is_over{false};
  std::thread worker([&] {
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    while (!is_over) Burn(kMillisecondNs);
  });
  while (tid == 0) Pause(kMillisecondNs / 10);
  published_->Add(tid);
  Drain();
  // More than the ring has room for.
  const int64_t until_ns = NowNs(CLOCK_MONOTONIC) + 10'000 * kMillisecondNs;
  clockid_t clock;
  pthread_getcpuclockid(worker.native_handle(), &clock);
  while (NowNs(clock) < 150 * kMillisecondNs && NowNs(CLOCK_MONOTONIC) < until_ns) Pause(10 * kMillisecondNs);
  Drain();
  Pause(20 * kMillisecondNs);
  is_over = true;
  worker.join();
  const std::vector<std::string> lines = Finish();
  EXPECT_GT(CountOf(lines, "cpu_sample"), 0u);
  EXPECT_GT(CountOf(lines, "metric_loss", "reason=1"), 0u);
}

TEST_F(CpuSamplesTest, LetsGoOfThreadsThatHaveEnded) {
  if (!CanSample()) GTEST_SKIP() << "perf events are not allowed here";
  Start({.hz = 1000});
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  for (int i = 0; i < 40; ++i) Collect([] { Burn(2 * kMillisecondNs); });
  Drain();
  EXPECT_LE(descriptors(), before + 1);
  const std::vector<std::string> lines = Finish();
  std::map<std::string, int> samples;
  for (const std::string& line : lines) {
    if (line.starts_with("cpu_sample ")) ++samples[FieldOf(line, "tid")];
  }
  EXPECT_GT(samples.size(), 20u);
}

// As containers do by default.
void ForbidPerfEvents() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {static_cast<unsigned short>(std::size(program)), program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

TEST_F(CpuSamplesTest, SaysOnceWhyItMayNot) {
  const pid_t child = fork();
  if (child == 0) {
    ForbidPerfEvents();
    std::filesystem::remove_all(folder_.path() + "/journal");
    Begin();
    Start({.hz = 1000, .was_asked_for = true});
    for (int i = 0; i < 3; ++i) Drain();
    const std::vector<std::string> lines = Finish();
    _exit(lines.size() == 1 && CountOf(lines, "notice", "--cap-add PERFMON") == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(PerfRefusal, NamesWhatWouldLiftIt) {
  EXPECT_NE(WhyRefused(EACCES, 4).advice.find("kernel.perf_event_paranoid=2"), std::string::npos);
  EXPECT_NE(WhyRefused(EPERM, 3).why.find("is 3"), std::string::npos);
  EXPECT_NE(WhyRefused(EPERM, 2).advice.find("--cap-add PERFMON"), std::string::npos);
  EXPECT_NE(WhyRefused(ENOSYS, 2).why.find("no perf events"), std::string::npos);
}

}  // namespace
}  // namespace gprof
