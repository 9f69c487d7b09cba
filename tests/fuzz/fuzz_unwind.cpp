// A corpus is libraries of the system, cut down: `objcopy -O elf64-x86-64 --only-section=.eh_frame* …`.
#include <cstddef>
#include <cstdint>

#include "unwind_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  gprof::FuzzUnwind({reinterpret_cast<const char*>(data), size});
  return 0;
}
