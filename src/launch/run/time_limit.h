// Ends a program that runs longer than it may.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "launch/run/attendant.h"

namespace gprof {

class TimeLimit : public Attendant {
 public:
  // From now on; 0: there is no limit.
  TimeLimit(int64_t limit_ns, pid_t program)
      : program_(program), deadline_ns_(limit_ns == 0 ? kNoDeadline : MonotonicNs() + limit_ns) {}

  int64_t Attend(int64_t now_ns) override {
    if (now_ns < deadline_ns_) return deadline_ns_;
    kill(program_, is_over_ ? SIGKILL : SIGTERM);
    is_over_ = true;
    deadline_ns_ = now_ns + kGraceNs;
    return deadline_ns_;
  }

  // The program was told to end.
  bool is_over() const { return is_over_; }

 private:
  static constexpr int64_t kGraceNs = 2'000'000'000;

  pid_t program_;
  int64_t deadline_ns_;
  bool is_over_ = false;
};

}  // namespace gprof
