// The first call of NVTX in a shared object has the tracer loaded and its entry point called, while other threads that
// call NVTX wait. In a child that is forked meanwhile they would wait for ever, as nobody goes on with it there: so
// forks wait until NVTX is through.
#pragma once

namespace gprof::tracer {

// The thread is within the entry point. [any thread]
class ForkHold {
 public:
  ForkHold();
  ~ForkHold();
  ForkHold(const ForkHold&) = delete;
  ForkHold& operator=(const ForkHold&) = delete;
};

// The library was just loaded: its entry point is called next. [its constructor]
void HoldForksWhileLoading();
// [thread that is about to fork] Returns when no other thread is within the start of NVTX, after a second at the
// latest.
void WaitForStartOfNvtx();
// [child of a fork, at once]
void ForgetForkHold();

}  // namespace gprof::tracer
