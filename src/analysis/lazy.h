// A value that is computed when it is first asked for, by whichever thread asks; the others wait for it.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace gprof {

template <class T>
class Lazy {
 public:
  // `make` returns a T and must be the same for every caller.
  template <class F>
  const T& Get(F&& make) const {
    std::call_once(once_, [&] { value_.emplace(std::forward<F>(make)()); });
    return *value_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::optional<T> value_;
};

}  // namespace gprof
