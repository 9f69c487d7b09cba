#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/spill.h"

namespace gprof {

std::size_t UsableCores() {
  if (IsSpilling()) return 1;
  cpu_set_t set;
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;  // it fails where there are more than 1024 cores
  return std::max<std::size_t>(1, is_known ? static_cast<std::size_t>(CPU_COUNT(&set)) : std::thread::hardware_concurrency());
}

void ForEachSideBySide(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(count);
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(take);
    } catch (const std::system_error&) {  // a limit of processes: those that did start will do
    }
    take();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace gprof
