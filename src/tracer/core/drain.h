// Rows, names, notices, losses and GPU buffers → records. All of it runs on the writer thread.
#pragma once

#include <cstdint>

#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"

namespace gprof::tracer {

class Drain {
 public:
  // A new process: everything known about it is written. `may_move`: the output may change.
  void Start(const trace::ProcessRecord& process, const trace::ProcessKey& key, bool may_move);
  // A new output: everything known is written again, as if the process had begun.
  void StartOutput();
  // Takes what application threads have written. Answers the number of rows.
  uint64_t TakeRows();
  // Everything: rows, GPU work, names, notices, losses; then writes it. Answers whether CUPTI handed over anything.
  bool TakeAll(bool is_last);
  // The first reading, before any row: the slope of the clock begins here. [starting thread]
  void AddFirstAnchor() { clock_.Start(ReadAnchor()); }
  // Reads the clocks before rows are converted; `is_record` writes the reading too.
  void AddAnchor(bool is_record);
  // Tells what came up too late for TakeAll, a disk that filled up during the last write for example.
  void TakeNotices();
  // When the process ends, after TakeAll: rows that came meanwhile, and the calls that threads are in.
  void TakeLast();

  void ResetAfterFork();
  // GPU work that ended later may be missing; 0: none is.
  uint64_t GpuCompleteUntilNs() const {
    return gpu_is_complete_ ? 0 : process_.start_ns > LastGpuNs() ? process_.start_ns : LastGpuNs();
  }

  // [salvage] Takes over from a drain that was interrupted anywhere, and takes everything there is.
  void Salvage(uint64_t died_ns);

 private:
  uint64_t TakeLog(class ThreadLog* log);
  void TakeOpenCalls();
  void TellThread(class ThreadLog* log);
  void TakeNames();
  void TakeLayouts();
  void TakeLosses();
  void TellProcess();
  ClockMap clock_;
  trace::ProcessRecord process_;
  trace::ProcessKey key_;
  uint64_t cupti_told_ns_ = 0;
  uint64_t last_ns_ = 0;  // latest moment that is known of the process
  uint32_t names_done_ = 0, layouts_done_ = 0, notices_done_ = 0;
  uint32_t notices_said_ = 0;  // on stderr
  static uint64_t LastGpuNs();
  bool gpu_is_complete_ = true;  // as far as CUPTI's last flushes tell
  bool process_told_ = false, process_has_cupti_ = false, may_move_ = false;
};

Drain& OwnDrain();

}  // namespace gprof::tracer
