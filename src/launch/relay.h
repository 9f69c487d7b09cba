// Signals and job control while the program runs.
//
// Program and launcher are in one process group, so the terminal's Ctrl-C, Ctrl-\ and Ctrl-Z reach both by themselves.
// The launcher takes signals synchronously, with everything blocked and no handler installed: dispositions stay those
// that were inherited, and so are the program's.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace gprof {

class SignalRelay {
 public:
  // Blocks what the relay takes, in this process, for good: after the program the launcher only writes a line and
  // exits.
  SignalRelay();

  // In the child, before exec: makes everything as it was inherited.
  void RestoreInherited() const;

  // Waits for the end of `child` and returns its wait status. Passes on what only the launcher was sent, stops when the
  // program is stopped and continues it when continued.
  int WaitFor(pid_t child);

 private:
  void Handle(const siginfo_t& info, pid_t child);
  void StopToo(int stop_signal, pid_t child);

  sigset_t taken_;
  sigset_t inherited_mask_;
  struct sigaction inherited_child_action_;
  bool saw_stop_request_ = false;
};

}  // namespace gprof
