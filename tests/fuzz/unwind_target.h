// ELF files and unwind tables that nobody vouches for: whatever they say, questions about them come to an end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "unwind/cfi.h"
#include "unwind/debug_lines.h"
#include "unwind/elf_image.h"
#include "unwind/expression.h"
#include "unwind/symbols.h"

namespace gprof {

inline std::vector<uint64_t> AddressesToAsk(const ElfImage& image, std::string_view bytes) {
  std::vector<uint64_t> addresses;
  image.ForEachFunction([&](const FunctionSymbol& symbol) {
    if (addresses.size() < 64) addresses.push_back(symbol.address);
  });
  for (std::size_t at = 0; at + sizeof(uint64_t) <= std::min<std::size_t>(bytes.size(), 256); at += sizeof(uint64_t)) {
    uint64_t address;
    std::memcpy(&address, bytes.data() + at, sizeof address);
    addresses.push_back(address);
  }
  return addresses;
}

inline void FuzzUnwind(std::string_view bytes) {
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  Registers registers;
  for (uint32_t i = 0; i < kRegisters; ++i) registers.Set(i, i * 64);
  (void)Evaluate({begin, bytes.size()}, registers, {0, {begin, bytes.size()}}, 8);

  const auto image = ElfImage::OfBytes(std::string(bytes));
  if (image == nullptr) return;
  const std::vector<uint64_t> addresses = AddressesToAsk(*image, bytes);
  UnwindRow row;
  for (const uint64_t address : addresses) (void)FindUnwindRow(image->unwind_tables(), address, &row);
  (void)FindSymbols(*image, addresses);
  (void)FindLines(*image, addresses);
  (void)DebugFilesOf(*image, "/usr/lib/x");
}

}  // namespace gprof
