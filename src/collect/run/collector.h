// A source of records that looks at the program from outside of it, in a process of its own that the launcher forks
// (helper.h). A crash there costs its own records only, and not even those that are in the journal.
//
// To add one: its file in the folder of its topic, and its line in collector_list.cpp.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "collect/run/collector_options.h"
#include "collect/run/journal.h"

namespace gprof {

// What collectors are told of the run.
struct RunView {
  std::string folder;  // gprof/trace/run_folder.h
  pid_t program = -1;  // which is running
  std::string program_name, command_line;
  bool follows_children = true;   // what it starts belongs to the run as well
  bool follows_captures = false;  // the program decides when it is recorded, not the launcher
  bool wants_untraced = false;    // also where nobody calls CUDA or NVTX
  int64_t flush_ns = 0;           // longest time that a record waits before it is in the file; 0: as is good
};

// All of it is called from one thread. Times are CLOCK_MONOTONIC.
class Collector {
 public:
  virtual ~Collector() = default;
  // Once, before anything else. False: it cannot work here, which `why` tells the user; an empty one: there is nothing
  // to collect here, and nobody needs to be told.
  virtual bool Start(const RunView& run, std::string* why) = 0;
  // Recording goes off: adds what it has taken and not told yet.
  virtual void Close(int64_t /*now_ns*/, Journal* /*journal*/) {}
  // Recording went on or off.
  virtual void Switch(bool is_on, int64_t now_ns) = 0;
  // Takes what there is to take, while recording is on. Returns when it wants to be called again.
  virtual int64_t Drain(int64_t now_ns, Journal* journal) = 0;
  // The program makes no progress: adds what it is in the midst of, under that number.
  virtual void Look(uint32_t /*number*/, int64_t /*now_ns*/, Journal* /*journal*/) {}
  // A descriptor that can be polled for reading when something is there that should be taken at once. -1: none.
  virtual int Descriptor() const { return -1; }
  // What was told before is not known any more, as there is another file, or chunks were lost: what records name must
  // be told again before they are.
  virtual void Reset() = 0;
  // What the user is told at the end: why records are missing. Empty: nothing.
  virtual std::string Failure() const { return {}; }
  // When the process was killed, in another one: adds what is not in the journal yet. Most keep nothing elsewhere.
  virtual void Salvage(Journal* /*journal*/) {}
};

}  // namespace gprof
