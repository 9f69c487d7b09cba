// What the threads of the program run, and when they are off the processor, by the events of the kernel.
//
// By default those of threads that called CUDA or NVTX, which the tracer tells in its arena; with their processes, all
// threads, and all of them as well as long as nobody has called these. A sample comes with a copy of the upper end of
// the stack, which is unwound here, soon after.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collect/host/perf_ring.h"
#include "collect/host/python_moments.h"
#include "collect/host/sampled_stacks.h"
#include "collect/host/samples/sample_rings.h"
#include "collect/run/collector.h"
#include "collect/run/own_cost.h"
#include "collect/run/run_processes.h"

namespace gprof {

std::unique_ptr<Collector> MakeCpuSamples(const CollectorOptions& options);

class CpuSamples : public Collector {
 public:
  // With Python, its functions are on the stacks in place of the interpreter's.
  CpuSamples(SamplingOptions options, bool with_python);
  ~CpuSamples() override;

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  int Descriptor() const override;
  void Close(int64_t now_ns, Journal* journal) override;
  void Reset() override;

 private:
  // A thread that left the processor and is not back.
  struct Off {
    int64_t since_ns = 0;
    pid_t pid = 0;
    uint32_t cpu = 0;
    bool is_preempted = false;
  };

  CpuScope Now(CpuScope scope) const;
  bool WantsTree() const;
  void CloseAll();
  void LookForLaunching(Journal* journal);
  bool HasOthers() const;
  void ForgetOthers(Journal* journal);
  PerfWish WishOf(CpuScope scope) const;
  void LookForChanges(int64_t now_ns, Journal* journal);
  void LookForSignalSamples(int64_t now_ns, Journal* journal);
  int64_t NextSignalLook(int64_t now_ns) const;
  void TellSymbols(int64_t now_ns, Journal* journal);
  void OpenLaunching(int64_t now_ns);
  void OpenTree();
  void OpenOf(pid_t tid, const PerfWish& wish);
  void OpenOnProcessors(pid_t tid, const PerfWish& wish);
  bool AddRing(int event, const PerfWish& wish);  // false: refused_ says why
  std::vector<const PerfRing*> EndedRings() const;
  void DrainRings(int64_t now_ns, Journal* journal);
  bool IsOfTracer(pid_t pid, pid_t tid);
  void TakeSample(const PerfSample& sample, Journal* journal);
  void TakeSwitches(int64_t until_ns, Journal* journal);
  void TakeSwitch(const PerfSwitch& change, Journal* journal);
  void TellLosses(int64_t now_ns, PerfVisitor* visitor, Journal* journal);
  void TellRefusal(int64_t now_ns, Journal* journal);
  void WatchOwnCost(int64_t now_ns, Journal* journal);
  void Tell(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal) const;

  SamplingOptions options_;
  bool with_python_;
  RunView run_;
  std::unique_ptr<RunProcesses> processes_;
  int64_t period_ns_ = 0, step_ns_ = 0;
  bool of_kernel_ = true;
  int refused_ = 0;  // errno value; 0: not
  bool is_refusal_told_ = false;
  std::size_t ring_bytes_ = 0;

  std::set<pid_t> threads_;  // that were found, whether or not they could be looked at
  std::vector<std::unique_ptr<PerfRing>> rings_;
  std::map<std::pair<int, bool>, std::size_t> rings_of_processors_;  // by processor, and whether it has samples
  std::vector<int> redirected_;                                      // events that write into the ring of another
  std::vector<PerfSwitch> switches_;                                 // not in order yet
  std::map<pid_t, Off> off_;
  std::map<pid_t, bool> of_tracer_;  // by thread
  SampledStacks stacks_;
  PythonMoments python_;
  bool has_news_ = true;    // the last wake-up was for a sample
  int samples_there_ = -1;  // an epoll instance of the rings that wake
  int64_t look_ns_ = 0;
  std::map<pid_t, uint32_t> since_backtrace_;
  std::unique_ptr<SampleRings> signals_;  // in place of perf events
  int64_t newest_signal_ns_ = 0;          // of a sample
  int64_t maps_ns_ = 0;                   // when what is mapped is looked at again
  bool is_somebody_launching_ = false;
  int64_t symbols_ns_ = 0, symbols_step_ns_ = 0;
  OwnCost own_cost_;
  bool is_throttling_told_ = false;
};

}  // namespace gprof
