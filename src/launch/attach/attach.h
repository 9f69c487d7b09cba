// Records programs that run already.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "launch/run/launch.h"
#include "launch/run/trace_output.h"

namespace gprof {

struct AttachOptions {
  pid_t pid = 0;
  bool with_children = false;  // all that it has started or will start and that use CUDA; it need not itself
  LaunchOptions trace;         // what to record; it has no command. With a recorder: into that
  int64_t duration_ns = 0;     // 0: until the program ends, or a signal
};

struct AttachResult {
  bool has_program_ended = false;
  int stop_signal = 0;          // that ended it
  std::size_t processes = 0;    // that were recorded
  int64_t first_record_ns = 0;  // from the command to the begin of the recording
};

// Into `output`. Throws Error where nothing is recorded; the program is as it was then.
AttachResult RunAttached(const AttachOptions& options, const OutputFile& output);

// Keeps its last seconds until it ends, or a signal comes.
AttachResult RunRecorderAttached(const AttachOptions& options);

// Ends the recording of a process that was attached to, whoever made it. False: there is none.
bool Detach(pid_t pid);

}  // namespace gprof
