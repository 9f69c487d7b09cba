#include "launch/relay.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace gprof {
namespace {

constexpr int kTaken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP,
                          SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGPIPE};

// The terminal's signals come from the kernel and went to the program as well.
bool WasSentToUsAlone(const siginfo_t& info, pid_t child) {
  const bool is_from_a_process = info.si_code == SI_USER || info.si_code == SI_QUEUE || info.si_code == SI_TKILL;
  return is_from_a_process && info.si_pid != child;
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
      // Harmless twice, and a program that was stopped alone must wake up with us.
      kill(child, SIGCONT);
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
  kill(child, SIGCONT);
}

}  // namespace gprof
