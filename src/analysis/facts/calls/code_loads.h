// When a program handed code to the driver.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class CallFacts;

class CodeLoads {
 public:
  CodeLoads(const Trace& trace, const CallFacts& calls);
  // Whether kernels may have been compiled in that time: their code would have been loaded in it. A capture without
  // such calls does not tell.
  bool MayBeIn(const Interval& time) const;
  // Code was loaded in that time, and something else took most of it. In a program that no interpreter runs, the
  // runtime loads code by itself when a kernel is launched for the first time: what took much longer before that has
  // another reason.
  bool AreAside(const Interval& time) const;
  // When the process was done with importing modules of Python in that time; the start of the time where it read none.
  int64_t ImportedNs(uint32_t process, const Interval& time) const;

 private:
  struct Import {
    int64_t end_ns;
    uint32_t process;
  };
  struct Load {
    Interval time;
    bool is_by_itself;  // by the runtime
  };
  // Of the loads, those that reach into the time.
  std::span<const Load> Around(const Interval& time) const;

  std::vector<Load> loads_;             // calls of programs that load code, in order of their start
  std::vector<int64_t> latest_end_ns_;  // of each of them and those before it
  std::vector<Import> imports_;         // reads of modules, as they ended
};

// When a compiler that tells NVTX of its work compiled for a program.

// XLA opens a range while it compiles a program, on the thread that asked for it and on those that help.
class CompilerRanges {
 public:
  explicit CompilerRanges(const Trace& trace);
  // When the compiler was done for the process in that time, where it worked for at least half of what came until then;
  // else the start of the time.
  int64_t DoneNs(uint32_t process, const Interval& time) const;

 private:
  struct Compile {
    uint32_t process;
    Interval time;
  };
  std::vector<Compile> compiles_;  // by process and time, without overlap
};

// Programs that an interpreter runs, such as Python's.

// Of the process, as its command says; true where nobody knows.
bool IsInterpreted(const Trace& trace, uint32_t process);
// Of any process.
bool IsAnyInterpreted(const Trace& trace);

}  // namespace gprof
