// What a signal does meanwhile.
#pragma once

#include <signal.h>

namespace gprof {

class SignalAction {
 public:
  // SIG_IGN or SIG_DFL.
  SignalAction(int number, void (*handler)(int)) : number_(number) {
    struct sigaction meanwhile = {};
    meanwhile.sa_handler = handler;
    sigaction(number, &meanwhile, &before_);
  }
  ~SignalAction() { sigaction(number_, &before_, nullptr); }
  SignalAction(const SignalAction&) = delete;
  SignalAction& operator=(const SignalAction&) = delete;

 private:
  int number_;
  struct sigaction before_;
};

}  // namespace gprof
