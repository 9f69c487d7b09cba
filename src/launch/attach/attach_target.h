// Whether a process can be attached to, and where in it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gprof {

struct AttachTarget {
  pid_t pid = 0;
  std::string name;          // "python3"
  bool has_tracer = false;   // of a run of ours: that is used again
  std::string armed_folder;  // where it looks for a request (armed_process.h); empty: it does not
};

// Throws Error that says why it cannot be, and what to do: it is gone, somebody else's, stopped, traced by a debugger,
// has no CUDA yet, is in another container, or ptrace is not permitted.
AttachTarget FindAttachTarget(pid_t pid);

// Throws Error where there is no such process.
void CheckProcess(pid_t pid);
// Whether it has loaded the CUDA driver, as far as may be seen.
bool UsesCuda(pid_t pid);

// "cannot attach to WHO: WHY". The process is as it was.
[[noreturn]] void RefuseToAttach(const std::string& who, const std::string& why, const std::string& hint);

// The processes whose name is or whose command line has that text, but for those of gprof-cli.
std::vector<pid_t> FindProcesses(const std::string& text);

}  // namespace gprof
