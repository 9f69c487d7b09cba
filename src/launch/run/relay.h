// Signals and job control while the program runs.
//
// Program and launcher are in one process group, so the terminal's Ctrl-C, Ctrl-\ and Ctrl-Z reach both by themselves.
// The launcher takes signals synchronously, with everything blocked and no handler installed: dispositions stay those
// that were inherited, and so are the program's.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <vector>

#include "launch/run/attendant.h"

namespace gprof {

class SignalRelay {
 public:
  // Blocks what the relay takes, in this process, for good: after the program the launcher finishes the trace, and may
  // run the next program. `capture_signal`, when not 0, is not passed on but told to the attendants.
  explicit SignalRelay(int capture_signal = 0);
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Waits for the end of `child` and returns its wait status. Passes on what only the launcher was sent, stops when the
  // program is stopped and continues it when continued, and sees to the attendants meanwhile.
  int WaitFor(pid_t child, const std::vector<Attendant*>& attendants);

  // SIGINT, SIGQUIT, SIGTERM or SIGHUP that somebody else than the program sent the launcher meanwhile: it got that
  // signal, too, and no other program is to be run. 0: none.
  int stop_signal() const { return stop_signal_; }

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
  int capture_signal_;
  int signals_;  // where the signals come from
  bool saw_stop_request_ = false;
  int stop_signal_ = 0;
};

// Makes mask and dispositions what they were before the first relay: in the child before exec, and in the launcher when
// no other program follows. What is pending then takes effect.
void RestoreInheritedSignals();

// Between two programs: what came meanwhile is for none of them. Stops where Ctrl-Z was pressed. Returns the signal
// that is to end the series, or 0.
int SettleSignals();

// During work between programs, or behind the last: whether SIGINT, SIGQUIT, SIGTERM or SIGHUP has come. It stays
// pending, for SettleSignals(). Stops where Ctrl-Z was pressed.
bool IsAskedToStop();

}  // namespace gprof
