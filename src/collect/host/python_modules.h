// Functions of Python as records: each is told of once, before the frames that lie in it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <tuple>

#include "collect/host/python_reader.h"
#include "collect/run/journal.h"

namespace gprof {

// What the interpreter has in the place of a function between two calls of its loop. The frames of it lie on the native
// stack, so that one may be found that is not marked as such any more.
inline constexpr uint32_t kInterpretersOwn = UINT32_MAX;

class PythonModules {
 public:
  // The number of its module record, of which the next free one is `*next`; kInterpretersOwn, or 0: it cannot be read.
  uint32_t NumberOf(pid_t pid, const PythonReader& reader, const PythonFrame& frame, int64_t now_ns, uint32_t* next,
                    Journal* journal);
  // What was told is not known any more.
  void Reset() { numbers_.clear(); }

 private:
  std::map<std::tuple<pid_t, uint64_t, uint64_t>, uint32_t> numbers_;  // by process, code and its key
};

}  // namespace gprof
