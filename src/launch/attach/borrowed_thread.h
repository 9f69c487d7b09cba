// A thread of another process that waits in poll(), which makes one call for us and then goes on with its poll() as if
// nothing had been.
//
// It is stopped (ptrace) for as long as it takes to write a frame below its stack and to change its registers. The
// frame is what the kernel leaves for a signal handler: when the called function returns, it returns into libc's own
// end of signal handlers (rt_sigreturn), which restores all registers. So nobody has to be there when it does, and it
// does not matter if the borrower dies meanwhile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace gprof {

struct BorrowedCall {
  uint64_t function = 0;       // address in the process
  std::string text;            // its first argument is the address of a copy of this
  uint64_t argument = 0;       // its second
  uint64_t signal_return = 0;  // address of "mov $15, %rax; syscall" in the process
};

// Empty: the thread makes that call. Else why it does not; then it is as it was.
std::string CallInThread(pid_t pid, pid_t tid, const BorrowedCall& call);

// Whether this machine is one on which that is possible.
bool CanBorrowThreads();

}  // namespace gprof
