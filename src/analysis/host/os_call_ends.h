// How a call of the operating system ended.
#pragma once

#include <cstdint>

#include "gprof/host_activity.h"

namespace gprof {

// Its time was over before anybody ended the wait: no failure, it was asked for.
inline bool HasRunOut(const OsCall& call) {
  constexpr uint32_t kTimedOut = 110;  // ETIMEDOUT of Linux
  return call.error == kTimedOut;
}

inline bool HasFailed(const OsCall& call) { return call.error != 0 && !HasRunOut(call); }

}  // namespace gprof
