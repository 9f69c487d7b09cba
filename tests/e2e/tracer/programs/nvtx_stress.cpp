// NVTX where it hurts. usage: nvtx_stress signals|churn|close|killed N
//   signals  marks in a signal handler that interrupts marks of the same thread
//   churn    thousands of threads that live for one range, with one more mark when their thread_local objects go
//   killed   N ranges as fast as they go, then the program kills itself
//   close    the program closes every descriptor but 0, 1 and 2 between its marks, as daemons do
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "facts.h"

namespace {

constexpr int kMarks = 20000, kThreads = 1000;
std::atomic<int> handled{0};

void OnAlarm(int) {
  nvtxMarkA("in handler");
  ++handled;
}

void Signals() {
  // NVTX itself starts at the first call and would wait for ever for a start that it interrupted.
  nvtxMarkA("first");
  struct sigaction action = {};
  action.sa_handler = OnAlarm;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often = {{0, 200}, {0, 200}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  int marks = 0;
  // Until the handler has run often enough to have hit the middle of a mark, however slow the machine is.
  for (; marks < kMarks || handled < 30; ++marks) nvtxMarkA("in main");
  setitimer(ITIMER_REAL, &never, nullptr);
  facts::Say(R"({"fact":"signals","marks":%d,"handled":%d})", marks, handled.load());
}

struct Last {
  ~Last() { nvtxMarkA("thread ends"); }
};

void Churn() {
  for (int i = 0; i < kThreads; i += 8) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([] {
        thread_local Last last;
        static_cast<void>(&last);
        nvtxRangePushA("short life");
        nvtxRangePop();
      });
    }
    for (std::thread& t : threads) t.join();
  }
  facts::Say(R"({"fact":"churn","threads":%d})", kThreads);
}

void CloseAll() {
  for (int i = 0; i < 50; ++i) nvtxMarkA("before");
  // Once while the tracer may be starting, once when it has been at work.
  for (int round = 0; round < 2; ++round) {
    syscall(SYS_close_range, 3u, ~0u, 0u);
    for (int i = 0; i < 50; ++i) nvtxMarkA("after");
    usleep(100000);
  }
}

void Killed(int ranges) {
  for (int i = 0; i < ranges; ++i) {
    nvtxRangePushA("until the end");
    nvtxRangePop();
  }
  raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "signals")
    Signals();
  else if (how == "churn")
    Churn();
  else if (how == "close")
    CloseAll();
  else if (how == "killed" && argc > 2)
    Killed(std::atoi(argv[2]));
  else
    return 2;
  return 0;
}
