// Which line of its source file an instruction of Python code is of.
#pragma once

#include <cstdint>
#include <string_view>

namespace gprof {

// `table` is co_linetable, before Python 3.10 co_lnotab; `version` 0x030b is 3.11; `offset` counts bytes from the first
// instruction. 0 where the instruction is of no line.
uint32_t LineOfPython(uint32_t version, uint32_t first_line, std::string_view table, uint64_t offset);

}  // namespace gprof
