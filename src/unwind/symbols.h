// The functions at addresses of a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unwind/elf_image.h"

namespace gprof {

struct FoundSymbol {
  uint64_t function = 0;  // address of its first byte
  std::string name;       // mangled; empty: the file does not say
};

// In the order of the addresses. The tables of a file are gone through once, which takes milliseconds for large
// libraries and no memory.
std::vector<FoundSymbol> FindSymbols(const ElfImage& image, const std::vector<uint64_t>& addresses);

// The same for code that was generated at run time, as the text of a /tmp/perf-PID.map says: lines of an address, a
// size and a name. Of several, the last counts: code may take the place of other code.
std::vector<FoundSymbol> FindInPerfMap(std::string_view map, const std::vector<uint64_t>& addresses);

// Where a folder such as /usr/lib/debug has the symbols of the file with that build id, of at least three digits.
std::string DebugFileIn(const std::string& folder, const std::string& build_id);
// Where the symbols of a stripped file may be on this machine, the best first.
std::vector<std::string> DebugFilesOf(const ElfImage& image, const std::string& path);

}  // namespace gprof
