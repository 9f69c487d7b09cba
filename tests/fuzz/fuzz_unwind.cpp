// ELF files and unwind tables that nobody vouches for: whatever they say, questions about them come to an end. A corpus
// is libraries of the system, cut down: `objcopy -O elf64-x86-64 --only-section=.eh_frame* …`.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "unwind/cfi.h"
#include "unwind/debug_lines.h"
#include "unwind/elf_image.h"
#include "unwind/expression.h"
#include "unwind/symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace gprof;
  Registers registers;
  for (uint32_t i = 0; i < kRegisters; ++i) registers.Set(i, i * 64);
  (void)Evaluate({data, size}, registers, {0, {data, size}}, 8);

  const auto image = ElfImage::OfBytes({reinterpret_cast<const char*>(data), size});
  if (image == nullptr) return 0;
  std::vector<uint64_t> addresses;
  image->ForEachFunction([&](const FunctionSymbol& symbol) {
    if (addresses.size() < 64) addresses.push_back(symbol.address);
  });
  for (std::size_t at = 0; at + sizeof(uint64_t) <= std::min<std::size_t>(size, 256); at += sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, data + at, sizeof address);
    addresses.push_back(address);
  }
  UnwindRow row;
  for (const uint64_t address : addresses) (void)FindUnwindRow(*image, address, &row);
  (void)FindSymbols(*image, addresses);
  (void)FindLines(*image, addresses);
  (void)DebugFilesOf(*image, "/usr/lib/x");
  return 0;
}
