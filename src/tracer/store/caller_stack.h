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

// Numbers of modules, frames and stacks are of one sequence, whoever makes them. [any thread]
uint32_t NewStackNumber();

}  // namespace gprof::tracer
