// A process that was prepared for being attached to (gprof-cli env), in which a thread of the tracer waits to be asked.
// It is asked without ptrace: by a file, and by waking that thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace gprof {

// What GPROF_ARMED says in its environment; empty where it is not there.
std::string FolderOfArming(pid_t pid);
// Where it looks for requests now. Empty: it is not armed, has not used CUDA yet, or was asked already.
std::string ArmedFolderOf(pid_t pid);

class ArmedRequest {
 public:
  // Leaves it in that folder. Throws Error where that cannot be done; the process is as it was then.
  ArmedRequest(pid_t pid, const std::string& who, const std::string& folder, const std::string& settings);
  // Takes it back, where it was not taken.
  ~ArmedRequest();
  ArmedRequest(const ArmedRequest&) = delete;
  ArmedRequest& operator=(const ArmedRequest&) = delete;

  // Has the process look. To be done again until it answers, as it may just be about to wait.
  void Wake() const;

 private:
  std::string path_;
  void* bell_;  // a page of the tracer's file, as the process has it
};

}  // namespace gprof
