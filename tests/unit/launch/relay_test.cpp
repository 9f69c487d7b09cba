#include "launch/run/relay.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gprof {
namespace {

bool IsBlocked(int signal) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

bool IsPending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

// Relays change the process for good, so each test is a process of its own. True: `body` returned true in it.
template <typename Body>
bool InProcess(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Relay, SecondRelayKnowsWhatTheFirstInherited) {
  EXPECT_TRUE(InProcess([] {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGTERM);
    sigprocmask(SIG_BLOCK, &own, nullptr);
    signal(SIGCHLD, SIG_IGN);
    for (int capture_signal : {SIGRTMIN, 0}) {
      const SignalRelay relay(capture_signal);
      if (!IsBlocked(SIGINT) || !IsBlocked(SIGTERM) || !IsBlocked(SIGRTMIN)) return false;
    }
    RestoreInheritedSignals();
    struct sigaction action;
    sigaction(SIGCHLD, nullptr, &action);
    return !IsBlocked(SIGINT) && IsBlocked(SIGTERM) && !IsBlocked(SIGRTMIN) && action.sa_handler == SIG_IGN;
  }));
}

TEST(Relay, WhatComesBetweenProgramsIsForNone) {
  EXPECT_TRUE(InProcess([] {
    const SignalRelay relay;
    for (const int signal : {SIGUSR1, SIGCONT, SIGCHLD}) kill(getpid(), signal);
    return SettleSignals() == 0 && !IsPending(SIGUSR1) && !IsPending(SIGCONT);
  }));
}

TEST(Relay, SignalsThatEndTheSeries) {
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    EXPECT_TRUE(InProcess([signal] {
      const SignalRelay relay;
      kill(getpid(), signal);
      return SettleSignals() == signal && !IsPending(signal) && SettleSignals() == 0;
    })) << signal;
  }
}

TEST(Relay, WorkBehindAProgramSeesWhoAsksItToStop) {
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    EXPECT_TRUE(InProcess([signal] {
      const SignalRelay relay;
      kill(getpid(), SIGUSR1);
      if (IsAskedToStop()) return false;
      kill(getpid(), signal);
      return IsAskedToStop() && IsAskedToStop() && SettleSignals() == signal && !IsAskedToStop();
    })) << signal;
  }
}

TEST(Relay, StopKeyBetweenProgramsStops) {
  const pid_t child = fork();
  if (child == 0) {
    const SignalRelay relay;
    kill(getpid(), SIGTSTP);
    _exit(SettleSignals() == 0 && !IsPending(SIGTSTP) && !IsPending(SIGCONT) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  kill(child, SIGCONT);
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace gprof
