// How long the threads of a process have waited for a processor while they could have run.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "collect/run/open_proc_file.h"

namespace gprof {

class ProcessorWaits {
 public:
  ProcessorWaits(const std::string& proc, pid_t pid) : tasks_(proc + "/" + std::to_string(pid) + "/task") {}

  // Looks which threads there are, which takes longer than reading what they waited. Those that are new count from
  // their begin; those of the first time only `from_begin`.
  void List(bool from_begin);
  // Nanoseconds since the last call, summed over the threads that were listed; what one waited that has ended since is
  // not known.
  int64_t Read();
  bool has_listed() const { return has_listed_; }
  std::size_t threads() const { return threads_.size(); }
  // False where the kernel does not say.
  bool is_known() const { return is_known_; }

 private:
  struct Thread {
    ProcFile schedstat;
    int64_t waited_ns = 0;
    bool is_there = false, counts = false;  // from its begin on, or since it was read first
  };
  std::string tasks_;
  std::map<pid_t, Thread> threads_;
  bool has_listed_ = false, is_known_ = false;
};

}  // namespace gprof
