// What is tried on hostile input, with libFuzzer and in fuzz_smoke alike. Anything but gprof::Error is a bug.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// Loads and dumps the bytes as they are, and once more with the checksums made right: else hardly any mutation would
// get past them.
void FuzzTrace(std::string_view bytes);

// Assembles the text; what comes of it must load, and dump to a fixpoint.
void FuzzText(std::string_view text);

// Makes the checksums of every chunk fit, and its length where that is too large.
std::string WithGoodChecksums(std::string_view bytes);

}  // namespace gprof
