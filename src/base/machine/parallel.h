// Work on several cores.
#pragma once

#include <cstddef>
#include <functional>

namespace gprof {

// That this process may run on (`taskset`, containers), at least 1; 1 while large blocks go into a file, as what is
// done side by side needs its memory at the same time.
std::size_t UsableCores();

// Calls work(i) for every i below `count`, in that order where `threads` is 1. What the first of them throws is thrown
// once all are done.
void ForEachSideBySide(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

// For one of several threads or processes that share the cores of a machine. While it lives, UsableCores is no more
// than this on the thread that made it and on those that help it: others have the rest. One within another one can take
// less, never more.
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
