// The source lines of addresses, by the section .debug_line of DWARF 2 to 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "unwind/elf_image.h"

namespace gprof {

struct SourceLine {
  std::string file;   // as the compiler was given it, below its folder where that is said
  uint32_t line = 0;  // 0: not known
};

// In the order of the addresses. Nothing is known where the file has no such section, or a compressed one. The section
// is gone through once.
std::vector<SourceLine> FindLines(const ElfImage& image, const std::vector<uint64_t>& addresses);
// Of that section. A processor goes through about 100 MB a second.
std::size_t BytesOfLines(const ElfImage& image);

}  // namespace gprof
