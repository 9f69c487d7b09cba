// What gates and comparisons judge: the figures of one run, small enough to be checked in. They come from a trace, or
// from a document written earlier (a baseline, a report in JSON).
#pragma once

#include <string>
#include <vector>

#include "gate/breakdown.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Where and with what a run was made. Times of two runs can be compared only where these agree.
struct Fingerprint {
  std::vector<std::string> gpus;  // "NVIDIA H200", in the order of the devices
  std::string driver_version;     // CUDA version of the driver, "13.0"
  std::string cuda_version;       // of the runtime
  std::string cupti_version;
  std::string tool_version;       // of the tracer that recorded
  std::string clocks;             // of GPU and memory, as the device records say: "1980 MHz, memory 3201 MHz"
  std::string capture_mode;       // what was recorded, and when
  std::string host;
  std::string program;            // command line
  std::string commit;             // of the program, where somebody said it (--commit, or the CI's environment)
};

struct Measurement {
  std::string source;             // the file, for messages
  Fingerprint fingerprint;
  std::vector<Metric> metrics;    // of the whole trace and of its scopes
  Breakdown breakdown;
  bool is_complete = true;        // nothing is known to be missing
  std::vector<std::string> missing;  // what is, in words
  bool is_warm_up = false;        // a run that does not count
};

// Runs all analyses that give metrics.
Measurement Measure(const Trace& trace, const AnalysisOptions& options = {});

// nullptr: the run has no such figure, which is not the same as 0.
const Metric* FindIn(const Measurement& measurement, std::string_view id, std::string_view scope = {});

// Runs of the same thing, in the order in which they were made; warm-up runs are not among them.
struct RunSet {
  std::string name;               // for messages and tables: "base", a path, a baseline's name
  std::vector<Measurement> runs;
  std::vector<std::string> notes; // what the reader must know: runs left out and why
};

}  // namespace gprof
