#include "cli/talk.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/terminal.h"
#include "base/text.h"

namespace gprof::cli {
namespace {

// Turns SIGPIPE into EPIPE for a while. Ignoring the signal would be inherited by the program that `profile` runs.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigprocmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now = {0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

void WriteLine(std::string_view label, std::string_view message) {
  // In one write, so that lines of a program that talks at the same time do not get into it.
  WriteTo(STDERR_FILENO, std::string(label) + Printable(message) + "\n");
}

[[noreturn]] void FailToWrite(const std::string& path, int error) {
  throw Error(ExitCode::kUnreadable, "cannot write '" + path + "': " + std::strerror(error),
              error == ENOENT ? MakeFolderHint(path) : "");
}

bool IsRegularOrNew(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

void WriteInPlace(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) FailToWrite(path, errno);
  const int error = WriteTo(descriptor, text);
  close(descriptor);
  if (error != 0) FailToWrite(path, error);
}

}  // namespace

int WriteTo(int descriptor, std::string_view text) {
  const NoSigpipe no_sigpipe;
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool WriteResult(std::string_view text) {
  const int error = WriteTo(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) {
    throw Error(ExitCode::kUnreadable, std::string("cannot write to stdout: ") + std::strerror(error));
  }
  return error == 0;
}

void Say(std::string_view message) { WriteLine("gprof-cli: ", message); }

void Warn(std::string_view message) {
  WriteLine(Style(DetectTerminal(STDERR_FILENO).has_color).Yellow("gprof-cli: warning:") + " ", message);
}

void Tell(const Error& error) {
  const Style style(DetectTerminal(STDERR_FILENO).has_color);
  WriteLine(style.Red("gprof-cli:") + " ", error.what());
  if (!error.hint().empty()) WriteLine(style.Cyan("hint:") + " ", error.hint());
}

void WriteFile(const std::string& path, std::string_view text) {
  if (path == "-") {
    WriteResult(text);
    return;
  }
  if (!IsRegularOrNew(path)) return WriteInPlace(path, text);
  // Through a link, the file it leads to is replaced and the link stays.
  std::error_code failed;
  const std::string target = std::filesystem::weakly_canonical(path, failed).string();
  if (failed) FailToWrite(path, failed.value());
  const std::string fresh = target + ".new" + std::to_string(getpid());
  const int descriptor = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) FailToWrite(path, errno);
  int error = WriteTo(descriptor, text);
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(fresh.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(fresh.c_str());
  FailToWrite(path, error);
}

}  // namespace gprof::cli
