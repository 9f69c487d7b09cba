#include "collect/host/processor_waits.h"

#include <algorithm>
#include <string_view>

namespace gprof {

void ProcessorWaits::List(bool from_begin) {
  for (auto& [tid, thread] : threads_) thread.is_there = false;
  ForEachEntry(tasks_, [&](std::string_view name) {
    const pid_t tid = static_cast<pid_t>(NumberAt(name, 0).value_or(0));
    const auto [at, is_new] = threads_.try_emplace(tid);
    Thread& thread = at->second;
    thread.is_there = true;
    if (!is_new) return;
    thread.schedstat = ProcFile(tasks_ + "/" + std::to_string(tid) + "/schedstat");
    thread.counts = has_listed_ || from_begin;
  });
  std::erase_if(threads_, [](const auto& entry) { return !entry.second.is_there; });
  has_listed_ = true;
}

int64_t ProcessorWaits::Read() {
  int64_t sum_ns = 0;
  for (auto& [tid, thread] : threads_) {
    const std::optional<ProcessorTimes> times = ReadProcessorTimes(thread.schedstat);
    if (!times) continue;
    is_known_ = true;
    if (thread.counts) sum_ns += std::max<int64_t>(times->waited_ns - thread.waited_ns, 0);
    thread.waited_ns = times->waited_ns;
    thread.counts = true;
  }
  return sum_ns;
}

}  // namespace gprof
