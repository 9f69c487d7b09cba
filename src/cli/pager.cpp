#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/talk.h"
#include "gprof/trace/env.h"

extern char** environ;

namespace gprof::cli {
namespace {

constexpr int kNotFound = 127;  // of sh

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool IsSet(const char* name) { return !Variable(name).value_or("").empty(); }

// Somebody sits at this terminal and can press keys. In the background, a pager would be stopped at once.
bool HasReader() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && tcgetpgrp(STDOUT_FILENO) == getpgrp() &&
         Variable("TERM").value_or("dumb") != "dumb" && !IsSet("CI");
}

// Empty: none. An empty variable and `cat` ask for none.
std::string PagerCommand() {
  if (!HasReader()) return "";
  const std::string command = Variable(trace::env::kPager).value_or(Variable("PAGER").value_or("less"));
  return command == "cat" ? "" : command;
}

// Of a line, without the escape sequences of its colours.
std::size_t WidthOf(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find('\033'), line.size());
    text += line.substr(0, escape);
    line.remove_prefix(std::min(line.find('m', escape), line.size() - 1) + 1);
  }
  return DisplayWidth(text);
}

bool FitsScreen(std::string_view text) {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return false;
  std::size_t rows = 1;  // of the prompt that follows
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t width = WidthOf(text.substr(0, end));
    rows += width == 0 ? 1 : (width + size.ws_col - 1) / size.ws_col;
    if (rows > size.ws_row) return false;
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return true;
}

// Ctrl-C is for the pager: less ends a search with it.
class NoInterrupts {
 public:
  NoInterrupts() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~NoInterrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  NoInterrupts(const NoInterrupts&) = delete;
  NoInterrupts& operator=(const NoInterrupts&) = delete;

 private:
  struct sigaction interrupt_ = {}, quit_ = {};
};

// `command` in a shell, with `input` as its stdin. 0: it did not start.
pid_t Spawn(std::string command, int input) {
  // What git sets: leave at once when everything fits, keep colours, and leave the text on the screen.
  setenv("LESS", "FRX", 0);
  setenv("LV", "-c", 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", option = "-c";
  char* const arguments[] = {shell.data(), option.data(), command.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, "sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : 0;
}

// Whether there is such a pager. A reader who leaves it early is no error.
bool Page(const std::string& command, std::string_view text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const NoInterrupts no_interrupts;
  const pid_t pid = Spawn(command, ends[0]);
  close(ends[0]);
  if (pid != 0) WriteTo(ends[1], text);
  close(ends[1]);
  if (pid == 0) return false;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return !WIFEXITED(status) || WEXITSTATUS(status) != kNotFound;
}

}  // namespace

bool MayTakeScreen() { return !PagerCommand().empty(); }

void WritePaged(std::string_view text) {
  const std::string command = PagerCommand();
  if (command.empty() || FitsScreen(text) || !Page(command, text)) WriteResult(text);
}

void AddPagerOption(CLI::App& app) {
  app.add_flag_callback(
         "--no-pager", [] { setenv(trace::env::kPager, "", 1); }, "do not page long output on a terminal")
      ->group("Display");
}

}  // namespace gprof::cli
