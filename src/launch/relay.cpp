#include "launch/relay.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace gprof {
namespace {

constexpr int kTaken[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
                          SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGPIPE};

// The terminal's signals come from the kernel and went to the program as well.
bool WasSentToUsAlone(const siginfo_t& info, pid_t child) {
  const bool is_from_a_process = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;
  return is_from_a_process && info.si_pid != child;
}

// Wakes a program that was stopped alone. One that a shell has continued with the whole group must be left alone: it
// may have been stopped again by now, and what came late would undo that.
void Continue(pid_t child) {
  siginfo_t info = {};
  const bool was_continued =
      waitid(P_PID, static_cast<id_t>(child), &info, WCONTINUED | WNOHANG) == 0 && info.si_pid == child;
  sigset_t pending;
  sigpending(&pending);
  if (!was_continued && sigismember(&pending, SIGTSTP) == 0) kill(child, SIGCONT);
}

}  // namespace

SignalRelay::SignalRelay() {
  sigemptyset(&taken_);
  for (const int signal : kTaken) sigaddset(&taken_, signal);
  sigprocmask(SIG_BLOCK, &taken_, &inherited_mask_);
  // Inherited as ignored, SIGCHLD would have the kernel throw the exit status away.
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &by_default, &inherited_child_action_);
}

void SignalRelay::RestoreInherited() const {
  sigaction(SIGCHLD, &inherited_child_action_, nullptr);
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

int SignalRelay::WaitFor(pid_t child) {
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
    if (changed == child && !WIFSTOPPED(status)) return status;
    if (changed == child) {
      StopToo(WSTOPSIG(status), child);
      continue;
    }
    siginfo_t info;
    if (sigwaitinfo(&taken_, &info) > 0) Handle(info, child);
  }
}

void SignalRelay::Handle(const siginfo_t& info, pid_t child) {
  switch (info.si_signo) {
    case SIGCHLD:
    case SIGPIPE:
    case SIGTTIN:
    case SIGTTOU:
      return;
    case SIGTSTP:
      saw_stop_request_ = true;
      break;
    case SIGCONT:
      Continue(child);
      return;
    default:
      break;
  }
  if (WasSentToUsAlone(info, child)) kill(child, info.si_signo);
}

void SignalRelay::StopToo(int stop_signal, pid_t child) {
  // Somebody who stops the program alone with SIGSTOP (a debugger, cpulimit) will continue it alone, too: stopping with
  // it we would sleep for ever. After Ctrl-Z a program may well stop itself that way.
  if (stop_signal == SIGSTOP && !saw_stop_request_) return;
  saw_stop_request_ = false;
  kill(getpid(), SIGSTOP);
  // What woke us is still pending, as it is blocked, and is dealt with here.
  sigset_t woken;
  sigemptyset(&woken);
  sigaddset(&woken, SIGCONT);
  const timespec now = {0, 0};
  sigtimedwait(&woken, nullptr, &now);
  Continue(child);
}

}  // namespace gprof
