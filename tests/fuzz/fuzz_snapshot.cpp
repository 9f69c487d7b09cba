#include <cstddef>
#include <cstdint>

#include "reader_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  gprof::FuzzSnapshot({reinterpret_cast<const char*>(data), size});
  return 0;
}
