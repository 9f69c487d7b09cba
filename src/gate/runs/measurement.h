// What gates and comparisons judge: the figures of one run, small enough to be checked in. They come from a trace, or
// from a document written earlier (a baseline, a report in JSON).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/registry/results.h"
#include "analysis/topics/breakdown/breakdown.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Where and with what a run was made. Times of two runs can be compared only where these agree: see fingerprint.h.
struct Fingerprint {
  std::vector<std::string> gpus;  // "NVIDIA H200", those with work, in the order of the devices
  std::string driver_version;     // CUDA version of the driver, "13.0"
  std::string cuda_version;       // of the runtime
  std::string cupti_version;
  std::string tool_version;  // of the tracer that recorded
  std::string clocks;        // of GPU and memory, as the device records say: "1980 MHz, memory 3201 MHz"
  std::string capture_mode;  // what was recorded, and when
  std::string host;
  std::string program;  // command line
  std::string commit;   // of the program, where somebody said it (--commit, or the CI's environment)
};

// A figure that is not in the run, and why: nothing is known of it, which is not the same as 0.
struct NotRecorded {
  std::string prefix;  // its id; documents of versions up to 0.2 have what several begin with
  std::string why;     // "the trace has no GPU operations"
};

struct Measurement {
  std::string source;                 // the file, for messages
  std::vector<std::string> traces{};  // that it was measured from; none for documents
  std::string selected;               // the part of the trace that was measured, in words; empty for all of it
  Fingerprint fingerprint;
  std::vector<Metric> metrics;  // of the whole trace and of its scopes, without those that were not recorded
  std::vector<NotRecorded> not_recorded;
  Breakdown breakdown;
  bool is_complete = true;           // nothing is known to be missing
  bool is_host_complete = true;      // nothing but GPU work may be missing
  std::vector<std::string> missing;  // what is, in words
  bool is_exact = true;              // counters do not depend on the moments at which the recording began and ended
  bool is_warm_up = false;           // a run that does not count
};

// Runs all analyses that give metrics.
Measurement Measure(const Trace& trace, const AnalysisOptions& options = {});
Measurement Measure(const Results& results, const AnalysisOptions& options = {});

// nullptr: the run has no such figure, which is not the same as 0.
const Metric* FindIn(const Measurement& measurement, std::string_view id, std::string_view scope = {});

// Why nothing is known of the figure, in words; empty when it would be there if there were any.
std::string WhyNotRecorded(const Measurement& measurement, std::string_view id);

// Takes out of `metrics` what needs one of these facts, and notes it as not recorded.
void SetUnknown(FactSet unknown, const std::function<std::string(Fact)>& why, Measurement* measurement);

// Runs of the same thing, in the order in which they were made; warm-up runs are not among them.
struct RunSet {
  std::string name;  // for messages and tables: "base", a path, a baseline's name
  std::vector<Measurement> runs;
  std::vector<std::string> notes;  // what the reader must know: runs left out and why
};

}  // namespace gprof
