// Two pieces of work side by side.
#pragma once

#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "base/parallel.h"

namespace gprof {

// Runs `other` on a thread of its own and `here` on this one, and returns when both are done. One after the other where
// that is not worth a thread, there is no other core or none can be had. They must not touch the same data.
template <class F, class G>
void RunBeside(bool is_worth_a_thread, F&& other, G&& here) {
  std::exception_ptr failure;
  std::thread thread;
  if (is_worth_a_thread && UsableCores() > 1) {
    try {
      thread = std::thread([&] {
        try {
          other();
        } catch (...) {
          failure = std::current_exception();
        }
      });
    } catch (const std::system_error&) {  // a limit of processes
    }
  }
  if (!thread.joinable()) other();
  try {
    here();
  } catch (...) {
    if (thread.joinable()) thread.join();
    throw;
  }
  if (thread.joinable()) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace gprof
