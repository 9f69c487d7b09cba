#include "cli/live/live_loop.h"

#include <time.h>

#include <csignal>

#include "cli/arguments/options.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

volatile std::sig_atomic_t is_interrupted = 0;

}  // namespace

int64_t ReadInterval(const std::string& text) {
  constexpr int64_t kShortestNs = 100'000'000;
  const int64_t interval_ns = ReadTime("--interval", text);
  if (interval_ns < kShortestNs) throw Error(ExitCode::kUsage, "--interval is too short", "use at least 100ms");
  return interval_ns;
}

void ShowAgainAndAgain(int64_t interval_ns, uint64_t count, const std::function<bool()>& show) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  struct sigaction end = {};
  end.sa_handler = [](int) { is_interrupted = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &end, nullptr);
  for (uint64_t i = 0; (count == 0 || i < count) && is_interrupted == 0; ++i) {
    const timespec pause = {interval_ns / kSecondNs, interval_ns % kSecondNs};
    nanosleep(&pause, nullptr);  // a signal ends it early
    if (is_interrupted != 0 || !show()) return;
  }
}

}  // namespace gprof::cli
