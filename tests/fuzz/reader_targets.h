// Hostile captures of other tools. Anything but gprof::Error is a bug.
#pragma once

#include <string_view>

#include "gprof/error.h"
#include "import/kineto/kineto.h"
#include "import/ncu/ncu_csv.h"
#include "import/snapshot/snapshot.h"

namespace gprof {

template <class Read>
void TryReading(Read&& read) {
  try {
    read();
  } catch (const Error&) {
    // not such a file: fine
  }
}

inline void FuzzKineto(std::string_view bytes) {
  TryReading([&] { ReadKineto(bytes, "fuzz"); });
}
inline void FuzzNcu(std::string_view bytes) {
  TryReading([&] {
    if (IsNcuCsv(bytes)) ReadNcuCsv(bytes, "fuzz");
  });
}
inline void FuzzSnapshot(std::string_view bytes) {
  TryReading([&] { ReadSnapshot(bytes, "fuzz"); });
}

}  // namespace gprof
