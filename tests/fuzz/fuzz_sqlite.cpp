#include <cstddef>
#include <cstdint>

#include "sqlite_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  gprof::FuzzSqlite({reinterpret_cast<const char*>(data), size});
  return 0;
}
