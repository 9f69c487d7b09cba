// Rows, names, notices, losses and GPU buffers → records. All of it runs on the writer thread.
#pragma once

#include <cstdint>

#include "clock.h"
#include "writer.h"

namespace gprof::tracer {

class Drain {
 public:
  // A new process: everything known about it is written again.
  void Start(ChunkWriter* writer, const trace::ProcessRecord& process);
  // Takes what application threads have written. Answers the number of rows.
  uint64_t TakeRows();
  // Everything: rows, GPU work, names, notices, losses; then writes it.
  void TakeAll(bool is_last);
  // The first reading, before any row: the slope of the clock begins here. [starting thread]
  void AddFirstAnchor() { clock_.Start(ReadAnchor()); }
  // Reads the clocks before rows are converted; `is_record` writes the reading too.
  void AddAnchor(bool is_record);
  // Tells what came up too late for TakeAll, a disk that filled up during the last write for example.
  void TakeNotices();
  // The calls that threads are in now: the process ends within them.
  void TakeOpenCalls();

 private:
  uint64_t TakeLog(class ThreadLog* log);
  void TellThread(class ThreadLog* log);
  void TakeNames();
  void TakeLosses();
  void TellProcess();
  ChunkWriter* writer_ = nullptr;
  ClockMap clock_;
  trace::ProcessRecord process_;
  uint64_t cupti_told_ns_ = 0;
  uint32_t names_done_ = 0, notices_done_ = 0;
  bool process_told_ = false, process_has_cupti_ = false;
};

}  // namespace gprof::tracer
