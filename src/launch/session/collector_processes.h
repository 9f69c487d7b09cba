// The processes that look at the program from outside (src/collect), as the launcher sees them: it starts them, tells
// them when the run is over, and never depends on them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collect/run/collector_list.h"
#include "launch/run/attendant.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {

class CollectorProcesses : public Attendant {
 public:
  CollectorProcesses(RunFolder* folder, CollectorOptions options, std::function<void(const std::string&)> warn);
  // Kills those that there are still.
  ~CollectorProcesses() override;
  CollectorProcesses(const CollectorProcesses&) = delete;
  CollectorProcesses& operator=(const CollectorProcesses&) = delete;

  void Start(const RunView& run);
  // Says so when one has ended before its time, which does not matter to anything else.
  int64_t Attend(int64_t now_ns) override;
  // The run is over, and the program ended in this way: waits until they have written what they have. Those that hang
  // are killed, and leave it to salvage.
  void Finish(int exit_code, int signal);

 private:
  struct Process {
    const CollectorKind* kind;
    pid_t pid;
  };
  // Takes those out of the list that have ended.
  void Reap(bool is_over);
  void TellEnd(const Process& process, int status, bool is_over) const;

  RunFolder* folder_;
  CollectorOptions options_;
  std::function<void(const std::string&)> warn_;
  std::vector<Process> processes_;
};

}  // namespace gprof
