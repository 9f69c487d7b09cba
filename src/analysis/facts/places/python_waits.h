// What threads of Python wait in, by Python's own words: that a call was sem_wait says nothing to who wrote
// queue.get().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gprof/trace.h"

namespace gprof {

inline constexpr std::string_view kEventLoop = "asyncio's event loop";

class PythonWaits {
 public:
  explicit PythonWaits(const Trace& trace) : trace_(trace) {}

  // "queue.Queue.get", "threading.Event.wait", "asyncio's event loop", "a Python lock" for threading.Lock and what is
  // made of it in C; empty where the call was not made by a function of Python's library that waits.
  const std::string& WordFor(const OsCall& call);

 private:
  std::string WordOf(uint32_t stack) const;
  std::string WordOfModule(uint32_t stack) const;

  const Trace& trace_;
  std::unordered_map<uint32_t, std::string> words_;  // by stack
};

// "serve.py:91 (main)": the coroutine on the stack that an event loop of asyncio goes on with, at the line that it is
// at; empty where there is none.
std::string CoroutineOf(const Trace& trace, uint32_t stack);

}  // namespace gprof
