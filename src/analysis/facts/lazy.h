// A value that is computed when it is first asked for, by whichever thread asks; the others wait for it.
//
// Not by std::call_once: an exception on its way through pthread_once() meets the clean-up of libc, whose unwinder is
// that of libgcc_s, and ends a program that has libgcc linked into it, as ours has. What `make` throws may be thrown:
// too little memory.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

namespace gprof {

template <class T>
class Lazy {
 public:
  // T(arguments...), which must be the same for every caller.
  template <class... Arguments>
  const T& Get(Arguments&&... arguments) const {
    return Make([&] { return T(std::forward<Arguments>(arguments)...); });
  }

  // What `make` returns, likewise.
  template <class F>
  const T& Make(F&& make) const {
    if (!is_there_.load(std::memory_order_acquire)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!is_there_.load(std::memory_order_relaxed)) {
        value_.emplace(std::forward<F>(make)());
        is_there_.store(true, std::memory_order_release);
      }
    }
    return *value_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_there_{false};
  mutable std::optional<T> value_;
};

}  // namespace gprof
