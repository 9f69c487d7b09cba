// What happened on threads between their calls, thread by thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace gprof {

struct ThreadOfProcess {
  uint32_t process, thread;  // kNone where one is not known
  auto operator<=>(const ThreadOfProcess&) const = default;
};

// Indices into `events`, in their order.
template <class Event>
std::map<ThreadOfProcess, std::vector<uint32_t>> ByThread(const std::vector<Event>& events) {
  std::map<ThreadOfProcess, std::vector<uint32_t>> by_thread;
  for (uint32_t i = 0; i < events.size(); ++i) by_thread[{events[i].process, events[i].thread}].push_back(i);
  return by_thread;
}

}  // namespace gprof
