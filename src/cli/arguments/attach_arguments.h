// What attach, detach and record --attach are told of a process that runs already.
#pragma once

#include <sys/types.h>

#include <string>

#include "launch/run/launch.h"

namespace gprof::cli {

// Throws Error where the text is no PID.
pid_t ReadPid(const std::string& text);
// The process with that PID, or with that name; exactly one of both is given. Throws Error where it is not clear.
pid_t ChooseProcess(const std::string& command, const std::string& pid, const std::string& name);

// Throws Error where what is asked for cannot be recorded of a program that runs already.
void PrepareForAttach(bool is_experimental, LaunchOptions* trace);

}  // namespace gprof::cli
