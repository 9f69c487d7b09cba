// How much of a processor the threads that call CUDA or NVTX have, and how long they wait for one, as /proc counts it:
// what there is of context switches where the kernel does not let us have them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "collect/run/collector.h"
#include "collect/run/open_proc_file.h"
#include "collect/run/own_cost.h"

namespace gprof {

bool IsThreadLoadWanted(const CollectorOptions& options);
std::unique_ptr<Collector> MakeThreadLoad(const CollectorOptions& options);

class ThreadLoad : public Collector {
 public:
  ThreadLoad() : own_cost_({}) {}

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  void Reset() override;

 private:
  struct Thread {
    ProcFile schedstat;
    int64_t read_ns = 0;
    ProcessorTimes times;
    uint32_t cpu_source = 0, wait_source = 0;  // 0: not told yet
  };

  void LookForThreads();
  // False when it has ended.
  bool Take(pid_t pid, pid_t tid, Thread* thread, int64_t now_ns, Journal* journal);
  uint32_t TellSource(pid_t pid, pid_t tid, const char* name, Journal* journal);

  RunView run_;
  std::map<std::pair<pid_t, pid_t>, Thread> threads_;
  int64_t period_ns_ = 0, next_look_ns_ = 0;
  uint32_t next_source_ = 1;  // goes on after Reset()
  bool is_told_ = false;
  OwnCost own_cost_;
};

}  // namespace gprof
