// Has the tracer library write what dead processes left in a run folder into the trace. That reads memory which its
// owner may have been writing when it died, so each piece of work is done in a process of its own that may crash or
// hang.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

#include "launch/run/attendant.h"
#include "launch/salvage/arena_files.h"
#include "launch/salvage/run_traces.h"

namespace gprof {

struct SalvageOptions {
  std::string tracer;                 // path of libgprof-tracer.so
  int64_t limit_ns = 10'000'000'000;  // for one process
  std::function<void(const std::string&)> report_loss = [](const std::string&) {};
  const RunTraces* traces = nullptr;  // of the run
};

// What neither a trace nor its loss records have.
struct UntoldLosses {
  uint64_t records = 0;
  int error = 0;  // errno of the last
};

class Salvager : public Attendant {
 public:
  Salvager(std::string folder, SalvageOptions options);
  // Lets go of what is being done, which goes on in its own process.
  ~Salvager() override;
  Salvager(const Salvager&) = delete;
  Salvager& operator=(const Salvager&) = delete;

  // Looks for processes that died, and starts on what they left. `knows_when`: they died just now.
  void Sweep(bool knows_when);
  // Takes notice of work that is done or took too long. True while there is some, running or waiting.
  bool Poll();
  // Both, until nothing is left to do. Blocks.
  void Finish(bool knows_when);

  // Sweeps about once a second, so that what dead grandchildren left is in the trace early.
  int64_t Attend(int64_t now_ns) override;

  // The capture of now was cancelled by order `epoch`: of the processes there are, those that die before they have
  // carried it out leave nothing that anybody wants.
  void DropUnlessDone(uint32_t epoch);
  // Processes whose leavings were written into the trace.
  std::size_t recovered() const { return recovered_; }
  const UntoldLosses& losses() const { return losses_; }

 private:
  struct Job {
    ArenaClaim claim;
    pid_t pid;
    int64_t deadline_ns;
  };
  bool WasCancelled(const Arena& arena) const;
  void TakeChunksOf(const Arena& arena, bool is_living);
  void NoteLosses(uint64_t records, int error);
  void Begin(ArenaClaim claim, uint64_t died_ns);
  void End(const Job& job, int status, bool is_late);

  std::string folder_;
  RunTraces no_traces_;
  SalvageOptions options_;
  std::list<Job> jobs_;
  int64_t next_sweep_ns_ = 0;
  bool has_more_ = false;
  bool knows_when_ = false;
  std::map<std::string, uint32_t> dropped_;  // path of an arena, and the order that it must have carried out
  bool has_outbox_ = false;                  // of the living
  UntoldLosses losses_;
  std::size_t recovered_ = 0;
};

// Brings what earlier runs left, whose launcher and processes are all dead, into their traces, and removes their
// folders. `say` is told in one line for each run what was recovered. Runs of the living are left alone.
void RecoverDeadRuns(const std::vector<std::string>& bases, const SalvageOptions& options,
                     const std::function<void(const std::string&)>& say);

}  // namespace gprof
