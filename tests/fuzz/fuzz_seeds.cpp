// Writes seeds for the fuzzers, which the record kinds themselves give: fuzz_seeds TRACE_FOLDER TEXT_FOLDER.
#include <fstream>
#include <string>

#include "linked_trace.h"
#include "random_trace.h"
#include "trace/text/assemble.h"
#include "trace/text/dump.h"

namespace {

void Write(const std::string& folder, uint64_t seed, std::string_view bytes) {
  std::ofstream(folder + "/seed" + std::to_string(seed), std::ios::binary) << bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr uint64_t kSeeds = 60;
  Write(argv[1], kSeeds, gprof::AssembleTrace(gprof::kLinkedTrace));
  Write(argv[2], kSeeds, gprof::kLinkedTrace);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string bytes = gprof::RandomTrace(seed);
    std::string text;
    gprof::DumpRecords(bytes, {}, [&](std::string_view line) { text.append(line).append("\n"); });
    Write(argv[1], seed, bytes);
    Write(argv[2], seed, text);
  }
  return 0;
}
