// The stack of whoever called, as a number of a `stack` record. Who knows stacks sets the function; who records calls
// asks for one, and neither knows the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// Writes what is new of the stack into the log of the calling thread, so that it comes before the row that names it.
using StackReader = uint32_t (*)(ThreadLog* log);
extern constinit std::atomic<StackReader> stack_reader;

// 0 where no stack is known. Of Python's frames as yet, which lie still while their thread is outside of Python: at the
// begin of a call, and when it has returned. [own thread, before a row is begun]
inline uint32_t CallerStack(ThreadLog* log) {
  const StackReader read = stack_reader.load(std::memory_order_relaxed);
  return __builtin_expect(read == nullptr, 1) ? 0 : read(log);
}

// Where a caller goes on when the call returns.
struct CallerFrame {
  uintptr_t pc, stack_pointer, frame_pointer;
};
struct StackLimits {
  uint32_t frames, bytes;  // the innermost ones, and of the stack
};

// The stack of functions that a caller is in, joined to the one of Python's frames (0: there are none). Walking takes
// about a microsecond, so this is for calls that took long.
//
// kPythonBehindWalk: Python's frames are read once the walk has come to the outermost frame or the interpreter. A
// handler of a signal may have interrupted Python where they cannot be read; a walk ends at its frame.
inline constexpr uint32_t kPythonBehindWalk = ~0u;
using NativeStackReader = uint32_t (*)(ThreadLog* log, const CallerFrame& caller, const StackLimits& limits,
                                       uint32_t python);
extern constinit std::atomic<NativeStackReader> native_stack_reader;

inline uint32_t PythonWithoutWalk(uint32_t python) { return python == kPythonBehindWalk ? 0 : python; }
// Answers `python` where no stacks are read. [own thread, before a row is begun]
inline uint32_t NativeStack(ThreadLog* log, const CallerFrame& caller, const StackLimits& limits, uint32_t python) {
  const NativeStackReader read = native_stack_reader.load(std::memory_order_acquire);
  return read == nullptr ? PythonWithoutWalk(python) : read(log, caller, limits, python);
}

// Numbers of modules, frames and stacks are of one sequence, whoever makes them. [any thread]
uint32_t NewStackNumber();

}  // namespace gprof::tracer
