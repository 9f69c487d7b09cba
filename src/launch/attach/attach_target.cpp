#include "launch/attach/attach_target.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/machine/descriptor.h"
#include "base/machine/read_proc.h"
#include "gprof/error.h"
#include "launch/attach/armed_process.h"

namespace gprof {
namespace {

std::string ProcPath(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::string FirstLine(std::string text) { return text.substr(0, text.find('\n')); }

// The value of a line "Name:\tvalue" of /proc/PID/status.
std::string StatusField(const std::string& status, std::string_view name) {
  const std::size_t at = status.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  const std::size_t begin = status.find_first_not_of(" \t", at + name.size() + 2);
  return begin == std::string::npos ? std::string() : status.substr(begin, status.find('\n', begin) - begin);
}

std::string NamespaceOf(const std::string& path) {
  char text[64] = {};
  const ssize_t size = readlink(path.c_str(), text, sizeof text - 1);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

void RefuseForeigners(pid_t pid, const std::string& who, const std::string& status) {
  struct stat folder;
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &folder) != 0) RefuseToAttach(who, "it has just ended", "");
  if (geteuid() != 0 && folder.st_uid != geteuid()) {
    RefuseToAttach(who, "it belongs to another user, or has other rights (setuid)",
                   "run gprof-cli as that user, or as root");
  }
  const std::string tracer = StatusField(status, "TracerPid");
  if (tracer != "0" && !tracer.empty())
    RefuseToAttach(who, "a debugger (pid " + tracer + ") is attached to it", "detach it first");
  const std::string state = StatusField(status, "State");
  if (state.starts_with("T") || state.starts_with("t"))
    RefuseToAttach(who, "it is stopped", "continue it: kill -CONT " + std::to_string(pid));
  if (state.starts_with("Z")) RefuseToAttach(who, "it has ended", "");
}

bool IsSameFolder(const std::string& a, const std::string& b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// An armed process and we need no more than PIDs and the folder of requests in common, as the containers of a pod have
// them.
void RefuseOtherContainers(pid_t pid, const std::string& who, const std::string& folder) {
  if (NamespaceOf(ProcPath(pid, "ns/mnt")) == NamespaceOf("/proc/self/ns/mnt")) return;
  if (!folder.empty()) {
    const bool has_pids = NamespaceOf(ProcPath(pid, "ns/pid")) == NamespaceOf("/proc/self/ns/pid");
    if (has_pids && IsSameFolder(folder, ProcPath(pid, "root") + folder)) return;
    RefuseToAttach(who, "it is in a container that has no PIDs or no '" + folder + "' in common with this one",
                   "share both (docs/production.md), or run gprof-cli attach in that container");
  }
  RefuseToAttach(who, "it is in a container with other files",
                 "run gprof-cli attach in that container: docker exec, kubectl exec");
}

bool HasDriver(const std::string& maps) { return maps.find("/libcuda.so") != std::string::npos; }

void RefuseWithoutCuda(const std::string& who, const std::string& maps) {
  if (HasDriver(maps)) return;
  if (maps.find("libc.so") == std::string::npos && maps.find("libc-2") == std::string::npos) {
    RefuseToAttach(who, "it is statically linked", "run it with gprof-cli profile, which says what can be recorded");
  }
  RefuseToAttach(who, "it has not loaded the CUDA driver (libcuda.so)",
                 "attach when it uses CUDA, or start it with gprof-cli profile or record");
}

}  // namespace

bool UsesCuda(pid_t pid) { return HasDriver(ReadProcFile(ProcPath(pid, "maps"))); }

void RefuseToAttach(const std::string& who, const std::string& why, const std::string& hint) {
  throw Error(ExitCode::kLaunchFailed, "cannot attach to " + who + ": " + why, hint);
}

void CheckProcess(pid_t pid) {
  if (!ReadProcFile(ProcPath(pid, "comm")).empty()) return;
  throw Error(ExitCode::kUsage, "there is no process " + std::to_string(pid),
              "gprof-cli attach needs the PID of a process, or --name");
}

AttachTarget FindAttachTarget(pid_t pid) {
  CheckProcess(pid);
  AttachTarget target;
  target.pid = pid;
  target.name = FirstLine(ReadProcFile(ProcPath(pid, "comm")));
  const std::string who = "'" + target.name + "' (" + std::to_string(pid) + ")";
  RefuseForeigners(pid, who, "\n" + ReadProcFile(ProcPath(pid, "status")));
  target.armed_folder = ArmedFolderOf(pid);
  RefuseOtherContainers(pid, who, target.armed_folder);
  const std::string maps = ReadProcFile(ProcPath(pid, "maps"));
  if (maps.empty()) {
    RefuseToAttach(who, "its memory may not be read",
                   "run gprof-cli as root, or with CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)");
  }
  RefuseWithoutCuda(who, maps);
  target.has_tracer = maps.find("libgprof-tracer.so") != std::string::npos;
  return target;
}

std::vector<pid_t> FindProcesses(const std::string& text) {
  std::vector<pid_t> found;
  for (const pid_t pid : NumbersIn("/proc")) {
    if (pid == getpid()) continue;
    const std::string comm = FirstLine(ReadProcFile(ProcPath(pid, "comm")));
    std::string line = ReadProcFile(ProcPath(pid, "cmdline"));
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (comm.starts_with("gprof-")) continue;
    if (comm == text || line.find(text) != std::string::npos) found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gprof
