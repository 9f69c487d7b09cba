// Signals and job control while the program runs.
//
// Program and launcher are in one process group, so the terminal's Ctrl-C, Ctrl-\ and Ctrl-Z reach both by themselves.
// The launcher takes signals synchronously, with everything blocked and no handler installed: dispositions stay those
// that were inherited, and so are the program's.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <vector>

#include "launch/attendant.h"

namespace gprof {

class SignalRelay {
 public:
  // Blocks what the relay takes, in this process, for good: after the program the launcher only finishes the trace,
  // writes a line and exits. `capture_signal`, when not 0, is not passed on but told to the attendants.
  explicit SignalRelay(int capture_signal = 0);
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // In the child, before exec: makes everything as it was inherited.
  void RestoreInherited() const;

  // Waits for the end of `child` and returns its wait status. Passes on what only the launcher was sent, stops when the
  // program is stopped and continues it when continued, and sees to the attendants meanwhile.
  int WaitFor(pid_t child, const std::vector<Attendant*>& attendants);

 private:
  struct Signal {
    int number, code;
    pid_t sender;
  };
  // Until something happens, `until_ns` at the latest. True: a signal.
  bool WaitForSignal(int64_t until_ns, const std::vector<Attendant*>& attendants, Signal* signal) const;
  void Handle(const Signal& signal, pid_t child, const std::vector<Attendant*>& attendants);
  void StopToo(int stop_signal, pid_t child);

  sigset_t taken_;
  sigset_t inherited_mask_;
  struct sigaction inherited_child_action_;
  int capture_signal_;
  int signals_;  // where the signals come from
  bool saw_stop_request_ = false;
};

}  // namespace gprof
