// For one of several threads or processes that share the cores of a machine.
#pragma once

#include <cstddef>

namespace gprof {

// While it lives, UsableCores (parallel.h) is no more than this on the thread that made it and on those that help it:
// others have the rest. One within another one can take less, never more.
class CoreLimit {
 public:
  explicit CoreLimit(std::size_t most);
  ~CoreLimit();
  CoreLimit(const CoreLimit&) = delete;
  CoreLimit& operator=(const CoreLimit&) = delete;

 private:
  const std::size_t before_;
};

}  // namespace gprof
