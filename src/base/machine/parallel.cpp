#include "base/machine/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gprof {
namespace {

constinit thread_local std::size_t most_cores = SIZE_MAX;

// A call of ForEachSideBySide. What helpers change is changed with the lock of all of them.
struct Loop {
  Loop(std::size_t loop_count, const std::function<void(std::size_t)>& loop_work)
      : count(loop_count), work(loop_work), failures(loop_count) {}

  void Take() {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  }

  const std::size_t count;
  const std::function<void(std::size_t)>& work;
  const std::size_t cores = most_cores;  // a loop within it has no more on a helper than on the thread that began it
  std::vector<std::exception_ptr> failures;
  std::atomic<std::size_t> next{0};
  std::size_t wanted = 0, active = 0;  // helpers that may come, and those that did
  Loop* around = nullptr;              // the next one that wants helpers
  std::condition_variable is_left;     // by all of these
};

// Threads that wait for loops to help with. They stay for good: a report has some hundred loops, and making a thread
// for each core and loop took it longer than some of them did. Whoever has a loop does not wait for a helper to come,
// so that nothing depends on how many there are.
class Helpers {
 public:
  static Helpers& Get() { return *of_process; }

  void Run(Loop& loop, std::size_t helpers) {
    {
      const std::lock_guard lock(mutex_);
      loop.wanted = helpers;
      loop.around = std::exchange(newest_, &loop);
      // Those that are not idle may wait for what this loop makes: there have to be others.
      const std::size_t coming = idle_ + to_start_;
      if (coming < helpers) to_start_ += std::min(helpers - coming, kMost - std::min(kMost, started_ + to_start_));
    }
    helpers == 1 ? wake_.notify_one() : wake_.notify_all();
    StartOne();
    loop.Take();
    std::unique_lock lock(mutex_);
    for (Loop** at = &newest_; *at != nullptr; at = &(*at)->around) {
      if (*at != &loop) continue;
      *at = loop.around;
      break;
    }
    loop.is_left.wait(lock, [&] { return loop.active == 0; });
  }

 private:
  static constexpr std::size_t kMost = 256;

  // Made when the program starts: made by a thread, it would be half made for ever in a child that another thread forks
  // meanwhile. Never destroyed: its threads wait in it when the process ends.
  static Helpers* const of_process;

  static Helpers* Make() {
    // A child has none of the threads, and begins anew.
    pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); }, [] { new (Storage()) Helpers; });
    return new (Storage()) Helpers;
  }

  static void* Storage() {
    alignas(std::max_align_t) static unsigned char storage[sizeof(Helpers)];
    return storage;
  }

  // Each one that is new starts the next, so that nobody waits for all of them to be started.
  void StartOne() {
    {
      const std::lock_guard lock(mutex_);
      if (to_start_ == 0) return;
      --to_start_, ++started_;
    }
    sigset_t all, before;  // signals are for the threads that were there
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { Help(); }).detach();
    } catch (const std::system_error&) {  // a limit of processes: those that did start will do
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void Help() {
    StartOne();
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [&] { return newest_ != nullptr; });
      --idle_;
      Loop& loop = *newest_;  // a loop within another one: the other one waits for it
      ++loop.active;
      if (--loop.wanted == 0) newest_ = loop.around;
      lock.unlock();
      most_cores = loop.cores;
      loop.Take();
      lock.lock();
      if (--loop.active == 0) loop.is_left.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  Loop* newest_ = nullptr;  // of those that want helpers
  std::size_t started_ = 0, to_start_ = 0, idle_ = 0;
};

Helpers* const Helpers::of_process = Make();

}  // namespace

std::size_t UsableCores() {
  cpu_set_t set;
  const bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;  // it fails where there are more than 1024 cores
  const std::size_t cores = is_known ? static_cast<std::size_t>(CPU_COUNT(&set)) : std::thread::hardware_concurrency();
  return std::clamp<std::size_t>(cores, 1, most_cores);
}

CoreLimit::CoreLimit(std::size_t most)
    : before_(std::exchange(most_cores, std::clamp<std::size_t>(most, 1, most_cores))) {}

CoreLimit::~CoreLimit() { most_cores = before_; }

void ForEachSideBySide(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  Loop loop(count, work);
  const std::size_t helpers = std::min(threads, count);
  if (helpers > 1) {
    Helpers::Get().Run(loop, helpers - 1);
  } else {
    loop.Take();
  }
  for (const std::exception_ptr& failure : loop.failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace gprof
