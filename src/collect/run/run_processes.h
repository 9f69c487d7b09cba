// Which processes belong to the run that a collector looks at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collect/run/open_proc_file.h"

namespace gprof {

// Whether some process of the run records now, as its arena says.
bool IsAnyoneRecorded(const std::string& run_folder);

struct RunProcess {
  ProcFile memory;             // statm
  ProcFile children;           // of its first thread; kernels that cannot list them have no such file
  int64_t resident_pages = 0;  // when it was looked at last
};

// The program, what it started, directly or not, and processes that the tracer is in. One that was found stays, also
// when its parent is gone. A process that lives for less than the time between two looks may not be seen.
class RunProcesses {
 public:
  struct Options {
    std::string proc = "/proc";
    std::string run_folder;
    pid_t program = -1;
    bool follows_children = true;
  };
  explicit RunProcesses(Options options) : options_(std::move(options)) {}

  // Looks who is there now. A thorough look also asks threads that are not the first of their process for children, and
  // for processes that the tracer is in, which takes longer.
  const std::map<pid_t, RunProcess>& Look(bool is_thorough);

 private:
  bool Add(pid_t pid);
  void DropDead();
  void AddTraced();
  void AddChildrenOf(pid_t pid, bool is_thorough, std::vector<pid_t>* found);

  Options options_;
  bool has_looked_ = false;
  std::map<pid_t, RunProcess> living_;
};

}  // namespace gprof
