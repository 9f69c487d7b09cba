// Who collects. A collector is one source of records within the process, and one line of the table in collectors.cpp;
// the rest of core knows nothing of it but these verbs. The table is gone through when recording starts, when captures
// begin and end, when the writer thread drains and after a fork. Callbacks and handlers never come here.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

struct RowHeader;  // store/log_rows.h
struct RowSource;

// How much of what there is a round takes.
enum class Depth : uint8_t {
  kReady,  // what lies there; nobody is asked for more, and nothing is waited for
  kAll,    // everything up to now
  kLast,   // the same with more patience: the driver is about to go away, or the process
  kEnd     // what threads are in the midst of when the process ends; no row is taken after it
};

// One round of the writer thread (or of salvage), handed from collector to collector.
struct DrainRound {
  Depth depth = Depth::kReady;
  uint64_t rows = 0;           // of threads, taken so far
  uint32_t look = 0;           // not 0: what threads and GPUs are in the midst of is told, under this number
  bool has_delivered = false;  // somebody handed over work that was done earlier, so more may be under way
  // What the end record says, as far as it is known. In salvage the time and the reason are there from the begin.
  trace::EndRecord end;
};

enum class StopReason : uint8_t {
  kDriverGoes,  // [writer thread] the CUDA driver is about to tear itself down
  kForked,      // [child of a fork, at once] only stores are allowed, and none into shared memory
  kThreadsEnd   // [writer thread] the process lives on by the tracer's own threads alone: they end, too
};

// Verbs that a collector has no use for are left out.
struct Collector {
  // Recording begins, in this process or anew in the child of a fork. [starting thread, before the first row]
  void (*start)() = nullptr;
  // What takes its time, and what no row needs. After `start` and before the trace begins; before the program goes on
  // where its next call may be one that is wrapped. [writer thread, or the starting thread]
  void (*prepare)() = nullptr;
  // The trace begins, or goes on in another file: what is said once has to be said again. [writer thread]
  void (*retell)() = nullptr;
  // A capture begins or ends, or the base level does. What is on from the begin is not told: `start` sees it
  // (IsCapturing). [one thread at a time]
  void (*switch_capture)(bool on) = nullptr;
  // It takes its time to be switched on. So it is on before a capture begins and in the warm-up of steps, and what it
  // tells of before is left out (IsOfCapture). The others are switched on when the capture has begun.
  bool has_warm_up = false;
  // What it records is part of the base level: it stays on between windows as long as that is on (capture.h).
  bool is_of_base = false;
  // Adds what there is to the output. [writer thread, or whoever writes the end]
  void (*drain)(DrainRound* round) = nullptr;
  // The same for a process that died at any instruction, from what it left in the arena. [salvage]
  void (*salvage)(DrainRound* round) = nullptr;
  // Nothing of what it stands on is called again.
  void (*stop)(StopReason why) = nullptr;
  // Forgets what the parent had. [child of a fork, before `start`; the arena is the child's own by then]
  void (*reset)() = nullptr;
  // The rows that its code writes into the logs of threads (SetOf), and what makes records of them.
  uint32_t row_types = 0;
  void (*convert)(const RowHeader* row, const RowSource& source) = nullptr;
};

void StartCollectors();
void PrepareCollectors();  // those that are not yet
void RetellEverything();
void SwitchCollectors(bool on);        // those without a warm-up
void SwitchWarmUpCollectors(bool on);  // those with one
void SwitchBaseCollectors(bool on);    // outside of captures: those of the base level, and CUPTI, which is in part
void DrainCollectors(DrainRound* round);
void SalvageCollectors(DrainRound* round);
void StopCollectors(StopReason why);
void ResetCollectorsAfterFork();
// By the collector whose row it is.
void ConvertRow(const RowHeader* row, const RowSource& source);

}  // namespace gprof::tracer
