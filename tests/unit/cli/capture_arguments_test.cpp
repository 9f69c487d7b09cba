#include "cli/arguments/capture_arguments.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/arguments/options.h"
#include "cli/recording/session_protocol.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

CaptureOptions Read(std::vector<std::string> words) {
  CaptureArguments arguments;
  CLI::App app;
  arguments.AddOptions(app);
  arguments.AddSignalOption(app);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return arguments.Read(true, true);
}

TEST(CaptureArguments, ByDefaultEverythingIsRecorded) {
  const CaptureOptions options = Read({});
  EXPECT_FALSE(options.IsCommanded());
  EXPECT_EQ(options.begin, "");
  EXPECT_EQ(options.kill_signal, 0);
}

TEST(CaptureArguments, Time) {
  const CaptureOptions options = Read({"-y", "1.5", "--duration", "2", "--kill", "sigkill"});
  EXPECT_TRUE(options.IsCommanded());
  EXPECT_EQ(options.delay_ns, 1'500'000'000);
  EXPECT_EQ(options.duration_ns, 2'000'000'000);
  EXPECT_EQ(options.kill_signal, SIGKILL);
  EXPECT_EQ(Read({"-d", "2"}).kill_signal, 0);
}

TEST(CaptureArguments, Ranges) {
  const CaptureOptions options = Read({"-c", "nvtx", "-p", "step@train", "--capture-range-end", "repeat:3"});
  EXPECT_FALSE(options.IsCommanded());
  EXPECT_EQ(options.begin, "nvtx");
  EXPECT_EQ(options.nvtx_range, "step@train");
  EXPECT_EQ(options.end, "repeat:3");
  EXPECT_FALSE(options.ends_program);
}

TEST(CaptureArguments, ShutdownEndsTheProgramUnlessToldNotTo) {
  const std::vector<std::string> words = {"-c", "cudaProfilerApi", "--capture-range-end", "stop-shutdown"};
  EXPECT_EQ(Read(words).kill_signal, SIGTERM);
  EXPECT_TRUE(Read(words).ends_program);
  std::vector<std::string> spared = words;
  spared.insert(spared.end(), {"--kill", "none"});
  EXPECT_EQ(Read(spared).kill_signal, 0);
}

TEST(CaptureArguments, Steps) {
  const CaptureOptions options = Read({"--sample-steps", "active=3,skip=1", "-p", "step"});
  EXPECT_EQ(options.begin, "steps");
  EXPECT_EQ(options.sample_steps, "skip=1,wait=0,warmup=0,active=3,repeat=0");
}

TEST(CaptureArguments, Signals) {
  EXPECT_EQ(Read({"--capture-signal", "SIGUSR1"}).toggle_signal, SIGUSR1);
  EXPECT_EQ(Read({"--capture-signal", "usr2"}).toggle_signal, SIGUSR2);
  EXPECT_EQ(ReadSignal("--kill", "none"), 0);
  EXPECT_EQ(ReadSignal("--kill", "15"), SIGTERM);
  EXPECT_EQ(ReadSignal("--kill", std::to_string(SIGRTMAX)), SIGRTMAX);
  for (const char* const text : {"0", "65", "-9", "SIG", "sigterm ", "9x", "SIGNONSENSE"}) {
    EXPECT_THROW(ReadSignal("--kill", text), Error) << text;
  }
}

TEST(ReadSeconds, TakesSecondsOnly) {
  EXPECT_EQ(ReadSeconds("-d", "0.25"), 250'000'000);
  for (const char* const text : {"", "-1", "1s", "1e99", "nan", "inf", "1e300"}) {
    EXPECT_THROW(ReadSeconds("-d", text), Error) << text;
  }
}

TEST(SessionProtocol, PathsOfAnyBytesArrive) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(PathOfText(TextOfPath(all)), all);
  const Json json = {{"path", TextOfPath(all)}};
  EXPECT_EQ(PathOfText(Json::parse(json.dump(-1, ' ', true))["path"].get<std::string>()), all);
  EXPECT_EQ(PathOfText("\xC3"), "\xC3");
}

}  // namespace
}  // namespace gprof::cli
