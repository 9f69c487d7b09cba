// Where the threads of a program are when it makes no progress: the system call, the stack and the lock that each waits
// for. Read from /proc and from the memory of the process; nothing is stopped and nothing of the process is changed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collect/host/python_moments.h"
#include "collect/host/sampled_stacks.h"
#include "collect/run/collector.h"
#include "collect/run/run_processes.h"

namespace gprof {

std::unique_ptr<Collector> MakeThreadStates(const CollectorOptions& options);

// /proc/PID/task/TID/syscall of a thread that has no processor.
struct ThreadInKernel {
  int64_t system_call = -1;  // -1: in none
  uint64_t arguments[6] = {};
  uint64_t stack_pointer = 0, pc = 0;
};
// None: the thread runs.
std::optional<ThreadInKernel> ReadThreadInKernel(std::string_view text);
// "futex", or its number where it is none of those that threads wait in.
std::string SystemCallName(int64_t number);

class ThreadStates : public Collector {
 public:
  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool /*is_on*/, int64_t /*now_ns*/) override {}
  int64_t Drain(int64_t /*now_ns*/, Journal* /*journal*/) override { return INT64_MAX; }
  void Look(uint32_t number, int64_t now_ns, Journal* journal) override;
  void Reset() override { stacks_.Reset(); }

 private:
  void TakeThread(uint32_t look, pid_t pid, pid_t tid, Journal* journal);
  uint32_t StackOf(pid_t pid, pid_t tid, const ThreadInKernel& where, Journal* journal);

  std::unique_ptr<RunProcesses> processes_;
  SampledStacks stacks_;
  PythonMoments python_;
};

}  // namespace gprof
