// A process beside the recorder that goes on with its work when it is killed (record --supervise): its parent, to which
// the program falls then.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "launch/salvage/salvage.h"
#include "recorder/recorder.h"

namespace gprof {

struct RecorderEnd {
  pid_t pid = 0;
  int exit_code = 0;  // as a shell has it
  bool was_killed = false;
};

// Forks. Nothing in the child, which is to be the recorder. In the parent: how that ended, once it has; signals that
// only the parent was sent were passed on.
std::optional<RecorderEnd> WatchRecorder();

struct GoingOn {
  RecorderSettings settings;
  SalvageOptions salvage;
  int signal = 0;  // that asks for a snapshot; 0: none
};

// Records the program of a recorder that was killed to its end, and returns its exit code. Nothing where that recorder
// left nothing to go on with.
std::optional<int> GoOnWithRecorder(pid_t recorder, GoingOn how);

}  // namespace gprof
