#include "html/view/browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"

extern char** environ;

namespace gprof {
namespace {

// A browser that is not yet over after this long has taken the address: some stay until their last window is closed.
constexpr int kPatienceMs = 3000, kStepMs = 20;

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

// In a session of its own, so that Ctrl-C in this terminal does not end it, and silent: browsers talk much.
bool Spawn(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  for (int waited_ms = 0; waited_ms < kPatienceMs; waited_ms += kStepMs) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    poll(nullptr, 0, kStepMs);
  }
  return true;
}

// The words of a command of $BROWSER, with the address in place of %s or at the end.
std::vector<std::string> CommandWith(const std::string& command, const std::string& url) {
  std::vector<std::string> words = Split(command, ' ');
  bool is_placed = false;
  for (std::string& word : words) {
    const std::size_t at = word.find("%s");
    if (at == std::string::npos) continue;
    word.replace(at, 2, url);
    is_placed = true;
  }
  if (!is_placed) words.push_back(url);
  return words;
}

std::vector<std::string> Candidates() {
  std::vector<std::string> commands = Split(EnvironmentText({"BROWSER"}), ':');
  if (!EnvironmentText({"WSL_DISTRO_NAME"}).empty()) commands.emplace_back("wslview");
  // Without a display, xdg-open would start a browser for terminals in this one.
  if (!EnvironmentText({"DISPLAY"}).empty() || !EnvironmentText({"WAYLAND_DISPLAY"}).empty()) {
    for (const char* command : {"xdg-open", "open"}) commands.emplace_back(command);
  }
  return commands;
}

}  // namespace

std::string OpenInBrowser(const std::string& url, std::string* why) {
  const std::vector<std::string> candidates = Candidates();
  for (const std::string& command : candidates) {
    if (Spawn(CommandWith(command, url))) return command;
  }
  *why = candidates.empty() ? "there is no display, and BROWSER is not set" : "no browser could be started";
  return "";
}

std::string FileUrl(std::string_view path) {
  std::string url = "file://";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::strchr("/-._~", c) != nullptr) {
      url += c;
    } else {
      url += fmt::format("%{:02X}", byte);
    }
  }
  return url;
}

}  // namespace gprof
