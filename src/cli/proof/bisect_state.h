// What a bisection has found out so far, in a file, so that it can go on after it was interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gprof::cli {

struct BisectRun {
  uint32_t version = 0;
  double value = 0;
  int64_t wall_ns = 0;
  std::string trace;  // file name in the folder of the runs; empty: none
};

struct BisectSkip {
  uint32_t version = 0;
  std::string why;
};

struct BisectBuild {
  uint32_t version = 0;
  int64_t wall_ns = 0;
};

struct BisectState {
  std::string question;  // all that the answer depends on, as text
  std::string figure;    // that runs are judged by; empty until there is a run
  std::vector<BisectRun> runs;
  std::vector<BisectSkip> skipped;
  std::vector<BisectBuild> builds;

  const BisectBuild* BuildOf(uint32_t version) const;
};

// Nothing: there is no such file. Throws Error where it cannot be read.
std::optional<BisectState> ReadBisectState(const std::string& path);
void WriteBisectState(const std::string& path, const BisectState& state);

}  // namespace gprof::cli
