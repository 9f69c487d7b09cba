// Where the threads of a Python program are, by reading its memory from outside some hundred times a second: what there
// is of CPU samples where the kernel does not let us have perf events, and Python's own functions where it does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/host/python_modules.h"
#include "collect/host/python_reader.h"
#include "collect/run/collector.h"
#include "collect/run/open_proc_file.h"
#include "collect/run/own_cost.h"
#include "collect/run/run_processes.h"

namespace gprof {

bool IsPythonSamplingWanted(const CollectorOptions& options);
std::unique_ptr<Collector> MakePythonSamples(const CollectorOptions& options);

class PythonSamples : public Collector {
 public:
  explicit PythonSamples(const CollectorOptions& options) : options_(options.python), own_cost_({}) {}

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  void Close(int64_t now_ns, Journal* journal) override;
  void Reset() override;

 private:
  struct Thread {
    uint64_t state = 0;  // where Python has it
    int64_t sampled_ns = 0;
    ProcFile stat, schedstat;
    std::vector<PythonFrame> frames;  // of the sample before, the innermost first, and what they are in records
    std::vector<uint32_t> nodes;
    ProcessorTimes times;
    double running_share = 1;  // of the time in which it could have run
    bool is_beside = false;    // those that call CUDA or NVTX: of interest while it runs
    bool is_idle = false;      // it hardly ran since the look before
  };
  struct Process {
    std::unique_ptr<PythonReader> reader;  // null: no Python was found yet
    std::string program;
    std::map<pid_t, Thread> threads;
    int64_t try_ns = 0, try_step_ns = 0;  // when Python is looked for again
    uint32_t good = 0, torn = 0;          // readings of stacks
  };
  // The threads of a process that are sampled.
  struct Threads {
    std::set<pid_t> launching;
    bool has_launching = true, has_others = true;
    bool IsLaunching(pid_t tid) const { return launching.count(tid) != 0; }
    bool Has(pid_t tid) const { return IsLaunching(tid) ? has_launching : has_others; }
  };
  using Wanted = std::map<pid_t, Threads>;

  Wanted WantedNow(Journal* journal);
  Wanted WholeTree();
  Wanted WorkersOf(const Wanted& launching);
  void ForgetOthers(Journal* journal);
  Wanted Launching() const;
  void LookForThreads(int64_t now_ns, Journal* journal);
  static void LookHowMuchItRuns(pid_t pid, pid_t tid, Thread* thread);
  void LookForPython(pid_t pid, int64_t now_ns, Process* process, Journal* journal);
  void Sample(pid_t pid, pid_t tid, Process* process, Thread* thread, Journal* journal);
  bool ReadStack(Process* process, const Thread& thread, int64_t* now_ns, bool* is_whole);
  uint32_t StackOf(pid_t pid, const PythonReader& reader, bool is_whole, Thread* thread, Journal* journal);
  void TellRefusal(int64_t now_ns, const std::string& why, Journal* journal);
  void Tell(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal) const;

  PythonSamplingOptions options_;
  RunView run_;
  std::unique_ptr<RunProcesses> tree_;
  std::map<pid_t, std::unique_ptr<RunProcesses>> families_;  // by the process that calls CUDA or NVTX
  bool samples_launching_ = false;                           // threads that call these as well
  int64_t period_ns_ = 0, next_sample_ns_ = 0, next_look_ns_ = 0, thorough_ns_ = 0;
  bool is_thorough_ = true;  // this look asks all threads for what they have started
  bool replaces_perf_ = false, is_told_ = false, is_somebody_launching_ = false;
  std::set<std::string> refusals_told_;
  std::map<pid_t, Process> processes_;
  std::vector<PythonFrame> frames_now_;
  PythonModules python_modules_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> frames_;   // by module and offset
  std::unordered_map<uint64_t, uint32_t> nodes_[2];            // by parent and frame; those that are cut
  uint32_t next_module_ = 1, next_frame_ = 1, next_node_ = 1;  // go on after Reset()
  OwnCost own_cost_;
};

}  // namespace gprof
