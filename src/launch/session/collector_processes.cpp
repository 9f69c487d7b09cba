#include "launch/session/collector_processes.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "collect/run/helper.h"

namespace gprof {
namespace {

// They have a few kilobytes to write. A disk that hangs must not hang the end of every run.
constexpr int64_t kEndPatienceNs = 2'000'000'000, kEndPollNs = 200'000;

}  // namespace

CollectorProcesses::CollectorProcesses(RunFolder* folder, CollectorOptions options,
                                       std::function<void(const std::string&)> warn)
    : folder_(folder), options_(options), warn_(std::move(warn)) {}

CollectorProcesses::~CollectorProcesses() {
  for (const Process& process : processes_) {
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
  }
}

void CollectorProcesses::Start(const RunView& run) {
  for (const CollectorKind& kind : Collectors()) {
    if (!kind.is_wanted(options_)) continue;
    const pid_t pid = StartHelper(kind, options_, run);
    if (pid > 0) {
      processes_.push_back({&kind, pid});
    } else {
      warn_(std::string("the ") + kind.title + " is not recorded: cannot start its process: " + strerror(errno));
    }
  }
}

int64_t CollectorProcesses::Attend(int64_t /*now_ns*/) {
  // SIGCHLD wakes the launcher.
  Reap(false);
  return kNoDeadline;
}

void CollectorProcesses::Reap(bool is_over) {
  std::erase_if(processes_, [&](const Process& process) {
    int status = 0;
    const pid_t ended = waitpid(process.pid, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
    if (ended > 0) TellEnd(process, status, is_over);
    return true;
  });
}

void CollectorProcesses::TellEnd(const Process& process, int status, bool is_over) const {
  const std::string title = process.kind->title;
  if (WIFSIGNALED(status)) {
    warn_("the process recording the " + title + " " + EndingText(0, WTERMSIG(status)) +
          "; the trace shows where the data ends");
    return;
  }
  const int code = WEXITSTATUS(status);
  if ((code == 0 && is_over) || code == kNothingToCollect) return;
  const std::string reason = code == kCannotCollect ? TakeReason(folder_->path(), *process.kind) : "";
  const std::string why = code == kNoJournal       ? "no shared memory available"
                          : !reason.empty()        ? reason
                          : code == kCannotCollect ? "out of memory"
                          : code == 0              ? "its process has exited"
                                                   : strerror(code);
  warn_("the " + title + " is missing or incomplete: " + why);
}

void CollectorProcesses::Finish(int exit_code, int signal) {
  if (processes_.empty()) return;
  folder_->EndRun(exit_code, signal);
  const int64_t deadline_ns = MonotonicNs() + kEndPatienceNs;
  for (Reap(true); !processes_.empty() && MonotonicNs() < deadline_ns; Reap(true)) {
    const timespec pause = {0, kEndPollNs};
    nanosleep(&pause, nullptr);
  }
  for (const Process& process : processes_) kill(process.pid, SIGKILL);
  for (const Process& process : processes_) {
    int status = 0;
    if (waitpid(process.pid, &status, 0) > 0) TellEnd(process, status, true);
  }
  processes_.clear();
}

}  // namespace gprof
