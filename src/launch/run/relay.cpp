#include "launch/run/relay.h"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "base/machine/descriptor.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr int kStopping[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
constexpr int kTaken[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
                          SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGPIPE};

struct Inherited {
  sigset_t mask;
  struct sigaction child_action;
};

// What was there before the first relay changed it.
const Inherited& InheritedSignals() {
  static const Inherited inherited = [] {
    Inherited now = {};
    sigprocmask(SIG_BLOCK, nullptr, &now.mask);
    sigaction(SIGCHLD, nullptr, &now.child_action);
    return now;
  }();
  return inherited;
}

bool IsStopping(int signal) {
  return std::find(std::begin(kStopping), std::end(kStopping), signal) != std::end(kStopping);
}

// The terminal's signals come from the kernel and went to the program as well.
bool WasSentToUsAlone(int code, pid_t sender, pid_t child) {
  const bool is_from_a_process = code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
  return is_from_a_process && sender != child;
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

// Until somebody continues us.
void SleepStopped() {
  kill(getpid(), SIGSTOP);
  // What woke us is still pending, as it is blocked, and is dealt with here.
  sigset_t woken;
  sigemptyset(&woken);
  sigaddset(&woken, SIGCONT);
  const timespec now = {0, 0};
  sigtimedwait(&woken, nullptr, &now);
}

}  // namespace

SignalRelay::SignalRelay(int capture_signal) : capture_signal_(capture_signal) {
  sigemptyset(&taken_);
  for (const int signal : kTaken) sigaddset(&taken_, signal);
  if (capture_signal_ != 0) sigaddset(&taken_, capture_signal_);
  signals_ = MoveHigh(signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (signals_ < 0) {
    throw Error(ExitCode::kLaunchFailed, std::string("cannot wait for signals: ") + std::strerror(errno));
  }
  InheritedSignals();
  sigprocmask(SIG_BLOCK, &taken_, nullptr);
  // Inherited as ignored, SIGCHLD would have the kernel throw the exit status away.
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &by_default, nullptr);
}

SignalRelay::~SignalRelay() { close(signals_); }

int SignalRelay::WaitFor(pid_t child, const std::vector<Attendant*>& attendants) {
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
    if (changed == child && !WIFSTOPPED(status)) return status;
    if (changed == child) {
      StopToo(WSTOPSIG(status), child);
      continue;
    }
    int64_t until_ns = kNoDeadline;
    for (Attendant* attendant : attendants) until_ns = std::min(until_ns, attendant->Attend(MonotonicNs()));
    Signal signal;
    if (WaitForSignal(until_ns, attendants, &signal)) Handle(signal, child, attendants);
  }
}

bool SignalRelay::WaitForSignal(int64_t until_ns, const std::vector<Attendant*>& attendants, Signal* signal) const {
  std::vector<pollfd> descriptors = {{signals_, POLLIN, 0}};
  for (const Attendant* attendant : attendants) attendant->AddDescriptors(&descriptors);
  const int64_t left_ns = std::max<int64_t>(0, until_ns == kNoDeadline ? 0 : until_ns - MonotonicNs());
  const timespec timeout = {left_ns / 1'000'000'000, left_ns % 1'000'000'000};
  ppoll(descriptors.data(), descriptors.size(), until_ns == kNoDeadline ? nullptr : &timeout, nullptr);
  signalfd_siginfo info;
  if (read(signals_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return false;
  *signal = {static_cast<int>(info.ssi_signo), info.ssi_code, static_cast<pid_t>(info.ssi_pid)};
  return true;
}

void SignalRelay::Handle(const Signal& signal, pid_t child, const std::vector<Attendant*>& attendants) {
  if (signal.number == capture_signal_) {
    for (Attendant* attendant : attendants) attendant->OnCaptureSignal();
    return;
  }
  switch (signal.number) {
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
  if (IsStopping(signal.number) && signal.sender != child) stop_signal_ = signal.number;
  if (WasSentToUsAlone(signal.code, signal.sender, child)) kill(child, signal.number);
}

void SignalRelay::StopToo(int stop_signal, pid_t child) {
  // Somebody who stops the program alone with SIGSTOP (a debugger, cpulimit) will continue it alone, too: stopping with
  // it we would sleep for ever. After Ctrl-Z a program may well stop itself that way.
  if (stop_signal == SIGSTOP && !saw_stop_request_) return;
  saw_stop_request_ = false;
  SleepStopped();
  Continue(child);
}

void RestoreInheritedSignals() {
  sigaction(SIGCHLD, &InheritedSignals().child_action, nullptr);
  sigprocmask(SIG_SETMASK, &InheritedSignals().mask, nullptr);
}

bool IsAskedToStop() {
  sigset_t stop_key, pending;
  sigemptyset(&stop_key);
  sigaddset(&stop_key, SIGTSTP);
  sigpending(&pending);
  const timespec now = {0, 0};
  if (sigismember(&pending, SIGTSTP) == 1 && sigtimedwait(&stop_key, nullptr, &now) == SIGTSTP) SleepStopped();
  sigpending(&pending);
  return std::any_of(std::begin(kStopping), std::end(kStopping),
                     [&pending](int signal) { return sigismember(&pending, signal) == 1; });
}

int SettleSignals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : kTaken) sigaddset(&taken, signal);
  int stop_signal = 0;
  const timespec now = {0, 0};
  for (int signal = 0; (signal = sigtimedwait(&taken, nullptr, &now)) > 0;) {
    if (IsStopping(signal)) stop_signal = signal;
    if (signal == SIGTSTP) SleepStopped();
  }
  return stop_signal;
}

}  // namespace gprof
