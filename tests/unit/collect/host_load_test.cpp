#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <memory>

#include "collect/host/host_load_collector.h"
#include "fake_run.h"

namespace gprof {
namespace {

constexpr int64_t kMs = 1'000'000;

class HostLoadTest : public testing::Test {
 protected:
  void SetUp() override {
    output_.path = folder_.path() + "/run.trace";
    Write(output_.path, "");
    std::string why;
    journal_ = Journal::Create(folder_.path(), "host_load", &why);
    ASSERT_TRUE(journal_) << why;
    journal_->SetOutput(output_);
    SetMachine(0, 0);
    Write(proc_.path() + "/loadavg", "0.20 0.18 0.12 3/80 11206\n");
    proc_.SetProcess(10, 100);
  }

  // The fields are user, nice, system, idle, iowait, irq, softirq, steal, guest and guest_nice.
  void SetMachine(int64_t busy, int64_t idle) const {
    const std::string b = std::to_string(busy), i = std::to_string(idle);
    Write(proc_.path() + "/stat", "cpu  " + b + " 0 0 " + i + " 0 0 0 0 " + b + " 0\ncpu0 1 2 3 4 5\n");
  }

  std::unique_ptr<HostLoad> Start(bool follows_children = true) {
    HostLoadOptions options;
    options.proc = proc_.path();
    options.cpu_clock = [this](pid_t pid) {
      const auto known = cpu_ns_.find(pid);
      return known == cpu_ns_.end() ? std::nullopt : std::optional<int64_t>(known->second);
    };
    options.own_cpu_clock = [this] { return own_cpu_ns_; };
    auto load = std::make_unique<HostLoad>(options);
    RunView run;
    run.program = 10;
    run.follows_children = follows_children;
    std::string why;
    EXPECT_TRUE(load->Start(run, &why)) << why;
    load->Switch(true, 0);
    return load;
  }

  // What was written since the last call, without the sources.
  std::string Written() {
    Write(output_.path, "");
    EXPECT_EQ(journal_->Write(), 0);
    std::string samples, line;
    std::istringstream text(Records(ReadWhole(output_.path)));
    while (std::getline(text, line)) {
      if (!line.starts_with("metric_source")) samples += line + "\n";
      if (line.starts_with("metric_source")) sources_ += line + "\n";
    }
    return samples;
  }

  TemporaryFolder folder_;
  FakeProc proc_;
  TraceFile output_;
  std::unique_ptr<Journal> journal_;
  std::map<pid_t, int64_t> cpu_ns_;
  int64_t own_cpu_ns_ = 0;
  std::string sources_;
};

TEST_F(HostLoadTest, TheFirstLookIsWhatOthersAreComparedWith) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 50 * kMs;
  EXPECT_EQ(load->Drain(1000 * kMs, journal_.get()), 1100 * kMs);
  EXPECT_TRUE(journal_->IsEmpty());
}

TEST_F(HostLoadTest, TellsWhatWasUsedSinceTheLastLook) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 50 * kMs;
  load->Drain(1000 * kMs, journal_.get());
  cpu_ns_[10] = 200 * kMs;            // 150 ms in 100 ms
  proc_.SetThread(10, 10, 25 * kMs);  // 25 ms
  proc_.SetProcess(10, 200);
  SetMachine(3, 1);
  // A late look does not shift those that come.
  EXPECT_EQ(load->Drain(1100 * kMs, journal_.get()), 1200 * kMs);
  const std::string bytes = std::to_string(200 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(Written(),
            "metric_block start_ns=1000000000 duration_ns=100000000 source=1 value=15000\n"
            "metric_block start_ns=1000000000 duration_ns=100000000 source=2 value=2500\n"
            "metric_block start_ns=1000000000 duration_ns=100000000 source=3 value=7500\n"
            "metric_block start_ns=1100000000 source=4 value=" +
                bytes +
                "\n"
                "metric_block start_ns=1100000000 source=5 value=3\n");
  EXPECT_EQ(
      sources_,
      "metric_source id=1 name=\"CPU\" unit=\"%\" origin=\"proc\" metric_kind=3 scope=2 scale=-2 period_ns=100000000 "
      "pid=10\n"
      "metric_source id=2 name=\"waiting for a CPU\" unit=\"%\" origin=\"proc\" metric_kind=3 scope=2 scale=-2 "
      "period_ns=100000000 pid=10\n"
      "metric_source id=3 name=\"CPU\" unit=\"%\" origin=\"proc\" metric_kind=3 scope=1 scale=-2 period_ns=100000000\n"
      "metric_source id=4 name=\"resident memory\" unit=\"bytes\" origin=\"proc\" metric_kind=1 scope=2 "
      "period_ns=100000000 pid=10\n"
      "metric_source id=5 name=\"runnable threads\" origin=\"proc\" metric_kind=1 scope=1 period_ns=100000000\n");
  cpu_ns_[10] = 210 * kMs;
  EXPECT_EQ(load->Drain(1250 * kMs, journal_.get()), 1300 * kMs);
  EXPECT_NE(Written().find("start_ns=1100000000 duration_ns=150000000 source=1 value=667\n"), std::string::npos);
}

TEST_F(HostLoadTest, SourcesAreToldOnceAndAgainAfterAReset) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 1;
  for (int64_t at_ms = 1000; at_ms < 1500; at_ms += 100) load->Drain(at_ms * kMs, journal_.get());
  Written();
  EXPECT_EQ(std::count(sources_.begin(), sources_.end(), '\n'), 4)
      << sources_;  // the machine had no time to be busy in
  const std::string first = std::exchange(sources_, {});
  load->Reset();
  load->Drain(1500 * kMs, journal_.get());
  Written();
  EXPECT_EQ(sources_, first);
}

TEST_F(HostLoadTest, AProcessThatBeganSinceHasAllOfItsTime) {
  const std::unique_ptr<HostLoad> load = Start();
  timespec boot;
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const int64_t now_ticks = boot.tv_sec * sysconf(_SC_CLK_TCK);
  cpu_ns_[10] = 0;
  load->Drain(1000 * kMs, journal_.get());
  // Both are found by the second look. One was there before, but another process was its parent.
  proc_.SetProcess(11, 1, 0, now_ticks + sysconf(_SC_CLK_TCK));
  proc_.SetProcess(12, 1, 0, 1);
  proc_.SetThread(10, 10, 0, "11 12 ");
  cpu_ns_[11] = 40 * kMs;
  cpu_ns_[12] = 40 * kMs;
  load->Drain(1100 * kMs, journal_.get());
  const std::string samples = Written();
  EXPECT_EQ(samples.find("value=4000\n"), samples.rfind("value=4000\n")) << samples;
  EXPECT_NE(samples.find("value=4000\n"), std::string::npos) << samples;
  EXPECT_NE(sources_.find(
                "name=\"CPU\" unit=\"%\" origin=\"proc\" metric_kind=3 scope=2 scale=-2 period_ns=100000000 pid=11"),
            std::string::npos)
      << sources_;
}

TEST_F(HostLoadTest, TicksWillDoWithoutAClock) {
  const std::unique_ptr<HostLoad> load = Start();
  load->Drain(1000 * kMs, journal_.get());
  proc_.SetProcess(10, 100, sysconf(_SC_CLK_TCK) / 20);  // 50 ms
  load->Drain(1100 * kMs, journal_.get());
  EXPECT_NE(Written().find("source=1 value=5000\n"), std::string::npos);
}

TEST_F(HostLoadTest, APauseIsNobodysTime) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 0;
  load->Drain(1000 * kMs, journal_.get());
  load->Switch(false, 1050 * kMs);
  cpu_ns_[10] = 5000 * kMs;
  load->Switch(true, 6000 * kMs);
  EXPECT_EQ(load->Drain(6000 * kMs, journal_.get()), 6100 * kMs);
  EXPECT_TRUE(journal_->IsEmpty());
  cpu_ns_[10] = 5100 * kMs;
  load->Drain(6100 * kMs, journal_.get());
  EXPECT_NE(Written().find("start_ns=6000000000 duration_ns=100000000 source=1 value=10000\n"), std::string::npos);
}

TEST_F(HostLoadTest, DeadProcessesHaveNoSamples) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 0;
  load->Drain(1000 * kMs, journal_.get());
  proc_.End(10);
  load->Drain(1100 * kMs, journal_.get());
  EXPECT_EQ(Written(), "metric_block start_ns=1100000000 source=1 value=3\n");
}

TEST_F(HostLoadTest, LooksLessOftenWhereItIsDear) {
  const std::unique_ptr<HostLoad> load = Start();
  cpu_ns_[10] = 0;
  int64_t now_ns = 1000 * kMs;
  for (int i = 0; i < 1000; ++i) {
    own_cpu_ns_ += 5 * kMs;  // 5 % of the time at first
    now_ns = load->Drain(now_ns, journal_.get());
  }
  // 5 ms in 800 ms is less than 1 %.
  EXPECT_EQ(load->period_ns(), 800 * kMs);
  std::size_t steps = 0;
  const std::string samples = Written();
  for (std::size_t at = samples.find("metric_loss"); at != std::string::npos; at = samples.find("metric_loss", at + 1))
    ++steps;
  EXPECT_EQ(steps, 3u) << "each step is told";
  EXPECT_NE(samples.find(" reason=5"), std::string::npos);
}

// The clocks that are used when nobody gives others.
TEST_F(HostLoadTest, MeasuresThisProcess) {
  HostLoad load({});
  RunView run;
  run.program = getpid();
  std::string why;
  ASSERT_TRUE(load.Start(run, &why)) << why;
  load.Switch(true, 0);
  const auto now_ns = [](clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  const int64_t start_ns = now_ns(CLOCK_MONOTONIC), cpu_start_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  load.Drain(start_ns, journal_.get());
  const int64_t cpu_begin_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < cpu_begin_ns + 50 * kMs) {
  }
  const int64_t end_ns = now_ns(CLOCK_MONOTONIC);
  load.Drain(end_ns, journal_.get());
  const int64_t used_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_ns;
  const std::string samples = Written();
  const std::string wanted = "source=1 value=";
  ASSERT_NE(samples.find(wanted), std::string::npos) << samples;
  const double percent = std::stod(samples.substr(samples.find(wanted) + wanted.size())) / 100;
  const double told_ns = percent / 100 * static_cast<double>(end_ns - start_ns);
  EXPECT_GE(told_ns, 49e6);
  EXPECT_LE(told_ns, static_cast<double>(used_ns) + 1e6);
}

TEST_F(HostLoadTest, NoProcNoLoad) {
  HostLoadOptions options;
  options.proc = proc_.path() + "/none";
  std::string why;
  EXPECT_FALSE(HostLoad(options).Start({}, &why));
  EXPECT_NE(why.find("none"), std::string::npos) << why;
}

}  // namespace
}  // namespace gprof
