// The document that makes several traces one set (gprof.runs/1): which runs of a program belong together, in what order
// they were made, how each ended and how long it took. docs/schema/runs.schema.json
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gprof {

inline constexpr std::string_view kRunFileSchema = "gprof.runs/1";

enum class RunOutcome : uint8_t {
  kGood,
  kFailed,       // it ended with a code that is not 0, or by a signal, and not because the capture was to end it
  kInterrupted,  // somebody stopped the series while it ran, or took its trace file
};

struct RecordedRun {
  std::string trace;  // path, usable as it is; empty: not kept
  bool is_warm_up = false;
  uint32_t number = 0;  // from 1 on among the warm-up runs or among the others; runs of a comparison that have the
                        // same number were made one right after the other
  uint32_t order = 0;   // from 1 on among all runs of the series, those of the other program too
  RunOutcome outcome = RunOutcome::kGood;
  int exit_code = 0;  // as `gprof-cli profile` returns it: 128 + N when signal N killed it
  int signal = 0;     // that killed it, or 0
  int64_t start_unix_ns = 0;
  int64_t wall_ns = 0;  // from its start to its end, by the launcher's clock

  bool Counts() const { return !is_warm_up && outcome == RunOutcome::kGood; }
};

struct RunFile {
  std::string path;         // where it is
  std::string label;        // "base" or "new" in a comparison, else empty
  std::string counterpart;  // path of the run file of the other program of a comparison, or empty
  std::vector<std::string> command;
  uint32_t planned_runs = 0, planned_warm_ups = 0;  // more than there are: the series was stopped
  std::vector<RecordedRun> runs;                    // in the order in which they were made
};

// Throws Error: there is no such file, it is no run file, it is newer than this program, something in it makes no
// sense.
RunFile ReadRunFile(const std::string& path);
RunFile ParseRunFile(std::string_view text, const std::string& path);

// Paths become relative to the folder of `file.path`, so that the folder can be moved.
std::string RunFileText(const RunFile& file);

}  // namespace gprof
