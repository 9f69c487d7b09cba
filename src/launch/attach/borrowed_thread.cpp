#include "launch/attach/borrowed_thread.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace gprof {

#ifdef __x86_64__
namespace {

constexpr uint64_t kRedZoneBytes = 128;
constexpr uint64_t kSyscallBytes = 2;  // of the instruction
// uc_flags: the frame has a stack segment, which is restored as it is.
constexpr uint64_t kHasStackSegment = 2, kRestoresStackSegment = 4;

// As the kernel lays it out for a handler (struct rt_sigframe), without what it does not read on the return.
struct SignalFrame {
  uint64_t return_address;
  // struct ucontext of the kernel, which is that of libc up to the mask.
  uint64_t flags, link;
  stack_t stack;
  struct {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, cr2, floats;
    std::array<uint64_t, 8> reserved;
  } registers;
  uint64_t blocked_signals;
};

// What lies in the memory of the process below the stack of the thread. The called function has what is below that.
struct Layout {
  uint64_t padding;  // so that the frame, and with it the stack, is 8 beyond a multiple of 16
  SignalFrame frame;
  alignas(16) user_fpregs_struct floats;
  std::array<char, 4096> text;
};
static_assert(offsetof(Layout, frame) % 16 == 8 && offsetof(Layout, floats) % 16 == 0);

class Stopped {
 public:
  explicit Stopped(pid_t tid) : tid_(tid) {}
  ~Stopped() {
    if (is_seized_) ptrace(PTRACE_DETACH, tid_, nullptr, nullptr);
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  // Empty: it is.
  std::string Stop() {
    if (ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr) != 0) return std::string("ptrace: ") + std::strerror(errno);
    is_seized_ = true;
    if (ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) return std::string("ptrace: ") + std::strerror(errno);
    int status = 0;
    if (waitpid(tid_, &status, __WALL) != tid_ || !WIFSTOPPED(status)) {
      is_seized_ = false;
      return "it has just ended";
    }
    // A signal that came at the same time is its own.
    const bool is_ours = status >> 16 == PTRACE_EVENT_STOP;
    if (is_ours) return {};
    ptrace(PTRACE_DETACH, tid_, nullptr, WSTOPSIG(status));
    is_seized_ = false;
    return "it was about to handle a signal";
  }

  bool Get(int kind, void* to, std::size_t size) const {
    iovec part = {to, size};
    return ptrace(PTRACE_GETREGSET, tid_, kind, &part) == 0;
  }
  bool Set(int kind, void* from, std::size_t size) const {
    iovec part = {from, size};
    return ptrace(PTRACE_SETREGSET, tid_, kind, &part) == 0;
  }

 private:
  pid_t tid_;
  bool is_seized_ = false;
};

bool IsInPoll(const user_regs_struct& r) {
  // What the kernel has for a call that it will begin again or end with EINTR.
  constexpr int64_t kRestart = -512, kRestartBlock = -516;
  const auto result = static_cast<int64_t>(r.rax);
  const bool is_poll = r.orig_rax == SYS_poll || r.orig_rax == SYS_ppoll || r.orig_rax == SYS_restart_syscall;
  return is_poll && (result == -EINTR || (result <= kRestart && result >= kRestartBlock));
}

// Signals that the thread has blocked, and whether the processor watches its returns (a shadow stack).
bool ReadStatus(pid_t pid, pid_t tid, uint64_t* blocked, bool* has_shadow_stack) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  bool is_found = false;
  *has_shadow_stack = false;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) {
      *blocked = std::strtoull(line.c_str() + 7, nullptr, 16);
      is_found = true;
    }
    *has_shadow_stack =
        *has_shadow_stack || (line.starts_with("x86_Thread_features:") && line.find("shstk") != std::string::npos);
  }
  return is_found;
}

// The thread as it was, about to enter its poll() once more.
void SaveRegisters(const user_regs_struct& r, uint64_t floats, SignalFrame* frame) {
  auto& s = frame->registers;
  s.r8 = r.r8, s.r9 = r.r9, s.r10 = r.r10, s.r11 = r.r11, s.r12 = r.r12, s.r13 = r.r13, s.r14 = r.r14, s.r15 = r.r15;
  s.di = r.rdi, s.si = r.rsi, s.bp = r.rbp, s.bx = r.rbx, s.dx = r.rdx, s.cx = r.rcx, s.sp = r.rsp, s.eflags = r.eflags;
  // What the kernel would have gone on with is forgotten on the way back, and the arguments are still there.
  s.ax = r.orig_rax == SYS_restart_syscall ? uint64_t{SYS_poll} : r.orig_rax;
  s.ip = r.rip - kSyscallBytes;
  s.cs = static_cast<uint16_t>(r.cs), s.ss = static_cast<uint16_t>(r.ss);
  s.floats = floats;
  frame->flags = kHasStackSegment | kRestoresStackSegment;
}

}  // namespace

bool CanBorrowThreads() { return true; }

std::string CallInThread(pid_t pid, pid_t tid, const BorrowedCall& call) {
  Layout layout = {};
  uint64_t blocked = 0;
  bool has_shadow_stack = false;
  if (call.text.size() >= layout.text.size()) return "the path of the tracer is too long";
  if (!ReadStatus(pid, tid, &blocked, &has_shadow_stack)) return "it has just ended";
  if (has_shadow_stack) return "its returns are watched by a shadow stack";
  Stopped thread(tid);
  if (std::string why = thread.Stop(); !why.empty()) return why;
  user_regs_struct registers = {};
  if (!thread.Get(NT_PRSTATUS, &registers, sizeof registers)) return "its registers cannot be read";
  if (!IsInPoll(registers)) return "it does not wait in poll() any more";
  if (!thread.Get(NT_PRFPREG, &layout.floats, sizeof layout.floats)) return "its registers cannot be read";

  const uint64_t at = (registers.rsp - kRedZoneBytes - sizeof layout) / 64 * 64;
  call.text.copy(layout.text.data(), call.text.size());
  // Without the mark of more there, the kernel takes the first registers from it and leaves the others as they begin.
  layout.floats.padding[12] = layout.floats.padding[13] = 0;
  layout.frame.return_address = call.signal_return;
  layout.frame.blocked_signals = blocked;
  SaveRegisters(registers, at + offsetof(Layout, floats), &layout.frame);
  iovec from = {&layout, sizeof layout}, to = {reinterpret_cast<void*>(at), sizeof layout};
  if (process_vm_writev(pid, &from, 1, &to, 1, 0) != static_cast<ssize_t>(sizeof layout)) {
    return std::string("its stack cannot be written: ") + std::strerror(errno);
  }
  user_regs_struct calling = registers;
  calling.rsp = at + offsetof(Layout, frame);
  calling.rip = call.function;
  calling.rdi = at + offsetof(Layout, text);
  calling.rsi = call.argument;
  calling.rax = 0;
  calling.orig_rax = ~0ull;  // no system call that would be begun again
  return thread.Set(NT_PRSTATUS, &calling, sizeof calling) ? "" : "its registers cannot be written";
}

#else

bool CanBorrowThreads() { return false; }
std::string CallInThread(pid_t, pid_t, const BorrowedCall&) { return "this processor is not supported"; }

#endif

}  // namespace gprof
