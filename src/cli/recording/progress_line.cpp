#include "cli/recording/progress_line.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "base/terminal.h"

namespace gprof::cli {
namespace {

using namespace std::chrono_literals;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
// Short work says nothing, and what is shown can be read.
constexpr auto kFirst = 500ms, kEvery = 100ms;

std::atomic<int> signal_that_came = 0;
struct sigaction before[std::size(kSignals)];

void OnSignal(int signal) { signal_that_came = signal; }

void Print(std::string_view text) {
  const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(ignored);
}

}  // namespace

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      is_terminal_(DetectTerminal(STDERR_FILENO).is_terminal),
      next_(std::chrono::steady_clock::now() + kFirst) {
  signal_that_came = 0;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // The second one does what it always does.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

ProgressLine::~ProgressLine() {
  Clear();
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
  // All that was made since is destroyed by now.
  if (signal_that_came != 0) raise(signal_that_came);
}

void ProgressLine::Show(uint64_t done, uint64_t total) {
  if (signal_that_came != 0) throw Interrupted{};
  if (!is_terminal_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  is_shown_ = true;
  Print("\r" + what_ + ": " + std::to_string(done * 100 / total) + "%");
}

void ProgressLine::Clear() {
  constexpr std::string_view kToStartAndErase = "\r\033[K";
  if (is_shown_) Print(kToStartAndErase);
  is_shown_ = false;
}

}  // namespace gprof::cli
