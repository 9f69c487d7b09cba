// The traces of a run that `partial` and `ranks` are told of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gprof::cli {

// A folder stands for the traces and partials in it, a .txt file for the paths in its lines. Sorted, each once.
std::vector<std::string> FleetInputs(const std::vector<std::string>& words);

// One of `count` parts: every count-th path, beginning with number `index`.
struct Shard {
  uint32_t index = 0, count = 1;
};
Shard ReadShard(const std::string& text);  // "0/4"
std::vector<std::string> PathsOf(const Shard& shard, const std::vector<std::string>& paths);

// What mpirun and srun tell their processes, and who they are of.
struct MpiPlace {
  Shard shard;
  std::string job;  // in letters and digits; "job" where nothing tells
};
MpiPlace FindMpiPlace();

}  // namespace gprof::cli
