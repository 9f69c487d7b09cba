// Has a process load a library.
#pragma once

#include <sys/types.h>

#include <string>

namespace gprof {

// A thread of libcuda's that waits does it: no thread of the program is stopped. Throws Error that says why it is not
// done; the process is as it was then. It is done when the library says so, a moment later.
void InjectLibrary(pid_t pid, const std::string& who, const std::string& path);

}  // namespace gprof
