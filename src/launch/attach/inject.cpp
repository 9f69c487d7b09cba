#include "launch/attach/inject.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "base/machine/descriptor.h"
#include "launch/attach/attach_target.h"
#include "launch/attach/borrowed_thread.h"
#include "unwind/address_space.h"

namespace gprof {
namespace {

std::string TaskPath(pid_t pid, pid_t tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

// Threads that libcuda starts in every process that uses it, to wait for the driver.
bool IsOfDriver(const std::string& name) { return name == "cuda-EvtHandlr" || name.starts_with("cuda0000"); }

// A thread that was stopped in poll() goes on with it as restart_syscall, for as long as it waits: after SIGSTOP, a
// debugger, or an attachment that was killed. Of the calls that this stands for, poll() alone waits in a function with
// that name.
bool WaitsInPoll(pid_t pid, pid_t tid) {
  std::ifstream file(TaskPath(pid, tid, "syscall"));
  long number = -1;
  if (!(file >> number)) return false;
  if (number == SYS_restart_syscall) {
    std::string where;
    std::getline(std::ifstream(TaskPath(pid, tid, "wchan")) >> std::ws, where);
    return where.find("poll") != std::string::npos;
  }
#ifdef SYS_poll
  if (number == SYS_poll) return true;
#endif
  return number == SYS_ppoll;
}

std::vector<pid_t> WaitingThreadsOfDriver(pid_t pid) {
  std::vector<pid_t> threads;
  for (const pid_t tid : NumbersIn("/proc/" + std::to_string(pid) + "/task")) {
    if (tid == pid) continue;
    std::string name;
    std::getline(std::ifstream(TaskPath(pid, tid, "comm")) >> std::ws, name);
    if (IsOfDriver(name) && WaitsInPoll(pid, tid)) threads.push_back(tid);
  }
  return threads;
}

bool IsLibc(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("libc-2") || name.starts_with("libdl.so") ||
         name.starts_with("libdl-2");
}

// dlopen, or what old C libraries call it where a program has no libdl.
uint64_t FindLoader(const AddressSpace& space) {
  for (const char* const name : {"dlopen", "__libc_dlopen_mode"}) {
    for (const CodeMapping& mapping : space.mappings()) {
      if (!mapping.file || !IsLibc(mapping.file->name()) || mapping.file->Image() == nullptr) continue;
      const std::optional<uint64_t> address = mapping.file->Image()->AddressOf(name);
      if (address) return *address + mapping.Bias();
    }
  }
  return 0;
}

// Every C library has it: what signal handlers return to.
uint64_t FindSignalReturn(pid_t pid, const AddressSpace& space) {
  constexpr std::string_view kCode("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);  // mov $15, %rax; syscall
  for (const CodeMapping& mapping : space.mappings()) {
    if (!mapping.file || !IsLibc(mapping.file->name())) continue;
    std::string code(mapping.end - mapping.begin, '\0');
    iovec to = {code.data(), code.size()}, from = {reinterpret_cast<void*>(mapping.begin), code.size()};
    if (process_vm_readv(pid, &to, 1, &from, 1, 0) != static_cast<ssize_t>(code.size())) continue;
    const std::size_t at = code.find(kCode);
    if (at != std::string::npos) return mapping.begin + at;
  }
  return 0;
}

}  // namespace

void InjectLibrary(pid_t pid, const std::string& who, const std::string& path) {
  if (!CanBorrowThreads())
    RefuseToAttach(who, "attaching works on x86-64 only", "start it with gprof-cli profile or record");
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(pid, &files);
  if (!space) RefuseToAttach(who, "it has just ended", "");
  const BorrowedCall call = {FindLoader(*space), path, RTLD_NOW | RTLD_NODELETE, FindSignalReturn(pid, *space)};
  if (call.function == 0 || call.signal_return == 0) {
    RefuseToAttach(who, "its C library has no dlopen that could be found", "start it with gprof-cli profile or record");
  }
  std::string why = "no thread of the CUDA driver waits in poll()";
  for (const pid_t tid : WaitingThreadsOfDriver(pid)) {
    why = CallInThread(pid, tid, call);
    if (why.empty()) return;
    why = "thread " + std::to_string(tid) + " of the CUDA driver: " + why;
  }
  const bool is_forbidden = why.find("not permitted") != std::string::npos;
  RefuseToAttach(who, why,
                 is_forbidden
                     ? "run gprof-cli as root, or with CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE), or permit it: "
                       "sysctl kernel.yama.ptrace_scope=0"
                     : "try again; a program that has called cuInit has such threads");
}

}  // namespace gprof
