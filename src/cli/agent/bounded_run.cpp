#include "cli/agent/bounded_run.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "gprof/error.h"

namespace gprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::seconds(5);  // to write down what was recorded

struct OutputPipe {
  std::array<int, 2> ends{-1, -1};
  OutputPipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw Error(ExitCode::kUnreadable, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  ~OutputPipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;
  void CloseEnd(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

// In a group of its own, so that a signal reaches all that it starts.
pid_t StartGprofCli(std::vector<std::string> words, int out, int err) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error(ExitCode::kUnreadable, std::string("cannot start a process: ") + std::strerror(error));
  return pid;
}

class Collected {
 public:
  Collected(std::size_t most, Keep keep) : most_(most), keep_(keep) {}

  // False at the end of the stream.
  bool ReadFrom(int descriptor, std::string* text, bool* is_cut) const {
    std::array<char, 65536> buffer;
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0) return errno == EINTR;
    if (size == 0) return false;
    text->append(buffer.data(), static_cast<std::size_t>(size));
    if (text->size() <= most_) return true;
    *is_cut = true;
    keep_ == Keep::kFirst ? text->resize(most_) : static_cast<void>(text->erase(0, text->size() - most_));
    return true;
  }

 private:
  std::size_t most_;
  Keep keep_;
};

int MillisecondsUntil(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(std::min<long>(left, 60'000));
}

// Reads until both are closed. Who is late is asked to end, and then made to.
void ReadAll(pid_t pid, OutputPipe& out, OutputPipe& err, Clock::time_point end, const Collected& collected,
             BoundedOutput* result) {
  std::array<pollfd, 2> streams = {{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const int ready = poll(streams.data(), streams.size(), MillisecondsUntil(end));
    if (ready < 0 && errno != EINTR) break;
    if (Clock::now() >= end) {
      kill(-pid, result->is_late ? SIGKILL : SIGTERM);
      if (result->is_late) break;
      result->is_late = true;
      end = Clock::now() + kGrace;
    }
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].revents == 0) continue;
      std::string* const text = i == 0 ? &result->out : &result->err;
      if (!collected.ReadFrom(streams[i].fd, text, &result->is_cut)) streams[i].fd = -1;
    }
  }
}

int CodeOfStatus(int status) {
  constexpr int kBySignal = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
}

}  // namespace

BoundedOutput RunBounded(const std::vector<std::string>& words, std::chrono::seconds limit, std::size_t most_bytes,
                         Keep keep) {
  std::vector<std::string> all = {"gprof-cli"};
  all.insert(all.end(), words.begin(), words.end());
  OutputPipe out, err;
  const pid_t pid = StartGprofCli(std::move(all), out.ends[1], err.ends[1]);
  out.CloseEnd(1);
  err.CloseEnd(1);
  BoundedOutput result;
  ReadAll(pid, out, err, Clock::now() + limit, Collected(most_bytes, keep), &result);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = CodeOfStatus(status);
  return result;
}

}  // namespace gprof::cli
