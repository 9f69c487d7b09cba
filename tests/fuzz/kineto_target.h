// Hostile Trace Event JSON. Anything but gprof::Error is a bug.
#pragma once

#include <string_view>

#include "gprof/error.h"
#include "import/kineto/kineto.h"

namespace gprof {

inline void FuzzKineto(std::string_view bytes) {
  try {
    ReadKineto(bytes, "fuzz");
  } catch (const Error&) {
    // not a trace: fine
  }
}

}  // namespace gprof
