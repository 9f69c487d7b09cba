// The Python of threads that are sampled: their stacks, read as soon as the kernel tells of a sample.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "collect/host/merged_stack.h"
#include "collect/host/python_reader.h"

namespace gprof {

// What Python a thread ran, and of its process who read it and the code that was seen so far.
struct SampledPython {
  const PythonMoment& moment;
  KnownCode& codes;
  const PythonReader& reader;
};

class PythonMoments {
 public:
  // Whether it runs a Python that can be read. That is looked for now and then.
  bool HasPython(pid_t pid, int64_t now_ns);
  // What a thread ran as close to the sample as is known. None: no Python.
  std::optional<SampledPython> Of(pid_t pid, pid_t tid, int64_t sampled_ns);
  // Whether some process does.
  bool IsThereSome() const { return is_there_some_; }

 private:
  struct Thread {
    uint64_t state = 0;  // where Python has it
    int64_t read_ns = 0;
    bool is_read = false;
    PythonMoment moment;
  };
  struct Process {
    std::unique_ptr<PythonReader> reader;  // null: no Python was found yet
    int64_t try_ns = 0, try_step_ns = 0;   // when Python is looked for again
    int64_t look_ns = 0;                   // when its threads are
    uint32_t torn = 0;                     // readings since the last good one
    KnownCode codes;
    std::map<pid_t, Thread> threads;
  };
  Thread* ThreadOf(Process* process, pid_t tid, int64_t now_ns);
  static bool Read(Process* process, Thread* thread);

  std::map<pid_t, Process> processes_;
  bool is_there_some_ = false;
};

}  // namespace gprof
