// The load of the machine and of the processes of a run, from /proc:
//
//   of the machine    CPU in % of all its processors, threads that run or could
//   of a process      CPU and time that its threads waited for a processor, in % of one processor; resident memory
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "collect/host/processor_waits.h"
#include "collect/host/seen_processes.h"
#include "collect/run/collector.h"
#include "collect/run/own_cost.h"
#include "collect/run/run_processes.h"

namespace gprof {

std::unique_ptr<Collector> MakeHostLoad(const CollectorOptions& options);

struct HostLoadOptions {
  int64_t period_ns = 100'000'000;
  std::string proc = "/proc";
  // CPU time of a process, all threads, those that ended too. None: as /proc/PID/stat has it, to 10 ms.
  std::function<std::optional<int64_t>(pid_t)> cpu_clock;
  // CPU time that looking takes, of this process.
  std::function<int64_t()> own_cpu_clock;
};

class HostLoad : public Collector {
 public:
  explicit HostLoad(HostLoadOptions options);

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  void Close(int64_t now_ns, Journal* journal) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  void Reset() override;

  int64_t period_ns() const { return period_ns_; }

 private:
  enum class Metric : uint8_t { kCpu, kWait, kMemory, kRunnable };
  static constexpr std::size_t kMetrics = 4;
  // Where a number comes from, by what it is of.
  struct Sources {
    uint32_t ids[kMetrics] = {};
    bool is_told[kMetrics] = {};
  };
  struct Load {
    explicit Load(const std::string& proc, pid_t pid) : waits(proc, pid) {}
    Sources sources;
    int64_t cpu_ns = 0;
    ProcessorWaits waits;
    int64_t waits_read_ns = 0;
    int64_t threads_listed_ns = 0;
    bool is_new = true;
    bool was_seen_to_begin = false;
  };
  struct Machine {
    int64_t busy_ticks = 0, all_ticks = 0;
  };

  std::optional<Machine> ReadMachine() const;
  std::optional<int64_t> CpuOf(pid_t pid) const;
  void TakeMachine(int64_t now_ns, Journal* journal);
  void TakeProcess(pid_t pid, Load* load, int64_t now_ns, Journal* journal);
  void TakeWaits(int64_t now_ns, Journal* journal);
  void TakeMemory(const std::map<pid_t, RunProcess>& living, int64_t now_ns, Journal* journal);
  bool BeganSince(pid_t pid, int64_t since_ns, int64_t now_ns) const;
  void TakeRunnable(int64_t now_ns, Journal* journal);
  // `pid` 0: the machine.
  void AddSample(pid_t pid, Sources* sources, Metric metric, int64_t start_ns, int64_t duration_ns, int64_t value,
                 Journal* journal);

  HostLoadOptions options_;
  int64_t period_ns_;
  RunView run_;
  std::unique_ptr<RunProcesses> processes_;
  SeenProcesses seen_;
  ProcFile machine_file_, load_file_;
  Sources machine_sources_;
  std::optional<Machine> machine_;
  int64_t machine_read_ns_ = 0, machine_step_ns_ = 0;
  std::map<pid_t, Load> loads_;
  pid_t next_waits_ = 0;     // whose threads are looked at next
  int64_t first_ns_ = 0;     // since recording went on
  int64_t last_ns_ = 0;      // 0: none since then
  int64_t thorough_ns_ = 0;  // when to look thoroughly again
  OwnCost own_cost_;
  uint32_t next_source_ = 1;
};

}  // namespace gprof
