#include "collect/host/threads/thread_states.h"

#include <dirent.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

#include "collect/run/open_proc_file.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

struct NamedCall {
  long number;
  const char* name;
};

// Those in which threads wait.
constexpr NamedCall kCalls[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_pread64, "pread64"},
    {SYS_ioctl, "ioctl"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect6"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_futex, "futex"},
    {SYS_connect, "connect"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept4"},
    {SYS_recvfrom, "recvfrom"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "sendto"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
    {SYS_fsync, "fsync"},
    {SYS_semop, "semop"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_io_getevents, "io_getevents"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_rt_sigsuspend, "rt_sigsuspend"},
    {SYS_sched_yield, "sched_yield"},
    {SYS_restart_syscall, "restart_syscall"},
#ifdef __x86_64__
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

// The thread that has the lock of a thread which waits in that call; 0 where none is known. Whoever waits for a mutex
// of glibc has set its first word to 2, and its third has the owner.
uint32_t HolderOf(pid_t pid, const ThreadInKernel& where) {
  constexpr uint32_t kContended = 2, kOwnerOffset = 8;
  const auto operation = where.arguments[1] & FUTEX_CMD_MASK;
  const bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
  if (where.system_call != SYS_futex || !waits || where.arguments[2] != kContended) return 0;
  uint32_t words[kOwnerOffset / 4 + 1] = {};
  iovec here = {words, sizeof words}, there = {reinterpret_cast<void*>(where.arguments[0]), sizeof words};
  if (process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof words || words[0] != kContended) return 0;
  const uint32_t owner = words[kOwnerOffset / 4];
  return access(TaskFile(pid, static_cast<pid_t>(owner), "stat").c_str(), F_OK) == 0 ? owner : 0;
}

// From the stack pointer on, as much as there is.
std::vector<unsigned char> ReadStack(pid_t pid, uint64_t begin) {
  constexpr std::size_t kPages = 64, kPageBytes = 4096;
  std::vector<unsigned char> bytes(kPages * kPageBytes);
  std::vector<iovec> pieces;
  const std::size_t first = kPageBytes - begin % kPageBytes;
  for (std::size_t at = 0; at < bytes.size() - kPageBytes; at += pieces.back().iov_len) {
    pieces.push_back({reinterpret_cast<void*>(begin + at), at == 0 ? first : kPageBytes});
  }
  iovec here = {bytes.data(), bytes.size()};
  const ssize_t read = process_vm_readv(pid, &here, 1, pieces.data(), pieces.size(), 0);
  bytes.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return bytes;
}

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads;
  DIR* const folder = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    const auto tid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (tid > 0) threads.push_back(tid);
  }
  closedir(folder);
  return threads;
}

}  // namespace

std::unique_ptr<Collector> MakeThreadStates(const CollectorOptions& /*options*/) {
  return std::make_unique<ThreadStates>();
}

std::string SystemCallName(int64_t number) {
  const auto* const found = std::ranges::find(kCalls, number, &NamedCall::number);
  return found == std::end(kCalls) ? "system call " + std::to_string(number) : found->name;
}

std::optional<ThreadInKernel> ReadThreadInKernel(std::string_view text) {
  uint64_t numbers[8] = {};
  ThreadInKernel where;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(at, end, where.system_call);
  if (error != std::errc()) return std::nullopt;
  at = stop;
  std::size_t count = 0;
  for (; count < std::size(numbers) && end - at > 3 && std::string_view(at, 3) == " 0x"; ++count) {
    const auto [after, bad] = std::from_chars(at + 3, end, numbers[count], 16);
    if (bad != std::errc()) return std::nullopt;
    at = after;
  }
  if (count != 2 && count != std::size(numbers)) return std::nullopt;  // outside of a call it has no arguments
  std::copy_n(numbers, count - 2, where.arguments);
  where.stack_pointer = numbers[count - 2];
  where.pc = numbers[count - 1];
  return where;
}

bool ThreadStates::Start(const RunView& run, std::string* /*why*/) {
  processes_ =
      std::make_unique<RunProcesses>(RunProcesses::Options{"/proc", run.folder, run.program, run.follows_children});
  return true;
}

void ThreadStates::Look(uint32_t number, int64_t now_ns, Journal* journal) {
  for (const auto& [pid, process] : processes_->Look(true)) {
    stacks_.ForgetAddresses(pid);
    python_.HasPython(pid, now_ns);
    for (const pid_t tid : ThreadsOf(pid)) TakeThread(number, pid, tid, journal);
  }
  stacks_.TellSymbols(SIZE_MAX, false, journal);
}

void ThreadStates::TakeThread(uint32_t look, pid_t pid, pid_t tid, Journal* journal) {
  const ProcFile name(TaskFile(pid, tid, "comm")), stat(TaskFile(pid, tid, "stat")),
      call(TaskFile(pid, tid, "syscall"));
  if (name.Read().starts_with("gprof-")) return;  // a thread of the tracer
  trace::InProgressRecord record;
  record.look = look;
  record.time_ns = static_cast<uint64_t>(MonotonicNs());
  record.pid = static_cast<uint32_t>(pid);
  record.tid = static_cast<uint32_t>(tid);
  record.progress_kind = static_cast<uint8_t>(trace::ProgressKind::kThread);
  record.thread_name = journal->Name(std::string(name.Read().substr(0, name.Read().find('\n'))));
  record.is_running = BehindName(stat.Read()).starts_with('R');
  if (const std::optional<ThreadInKernel> where = ReadThreadInKernel(call.Read())) {
    if (where->system_call >= 0) record.name = journal->Name(SystemCallName(where->system_call));
    record.other_tid = HolderOf(pid, *where);
    record.stack = StackOf(pid, tid, *where, journal);
  }
  journal->Add(record);
}

uint32_t ThreadStates::StackOf(pid_t pid, pid_t tid, const ThreadInKernel& where, Journal* journal) {
  const std::vector<unsigned char> bytes = ReadStack(pid, where.stack_pointer);
  PerfSample sample;
  sample.pid = pid;
  sample.tid = tid;
  sample.time_ns = MonotonicNs();
  sample.is_waiting = true;
  sample.registers.pc = where.pc;
  sample.registers.Set(kStackPointer, where.stack_pointer);
  sample.stack = {where.stack_pointer, bytes};
  return stacks_.StackOf(sample, python_.Of(pid, tid, sample.time_ns), journal);
}

}  // namespace gprof
