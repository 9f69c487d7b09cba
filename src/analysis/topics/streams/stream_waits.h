// Streams that waited for events of others: for which work, for how long, and what that cost.
#pragma once

#include <cstdint>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// The waits of one stream, made in one NVTX range, for one sort of operation in another stream.
struct StreamWaitSite {
  uint32_t stream = kNone;        // that waited
  uint32_t event_stream = kNone;  // that the event was recorded in; kNone: not known
  uint32_t op = kNone;            // one of the operations waited for; kNone: nothing was left, or not known
  bool is_known = false;          // the event record is in the trace
  NameId path, record_path;       // where the stream was told to wait, and where the event was recorded
  int64_t waits = 0, held = 0;    // held: those that held up work
  int64_t held_ns = 0;            // work was launched, its stream was free, and the event was not complete
  int64_t idle_ns = 0;            // GPU idle time with the cause `dependency`
};

struct StreamWaits {
  std::vector<StreamWaitSite> sites;  // in order of stream and time
  int64_t waits = 0, held = 0, held_ns = 0, idle_ns = 0;
  const StreamWaitSite* Worst() const;  // that held work up for longest; null where none did
};

StreamWaits StreamWaitsOf(const AnalysisInput& input);

Table StreamWaitTable(const Trace& trace, const StreamWaits& waits, int64_t window_ns, uint32_t max_rows);
void AddStreamWaitMetrics(const StreamWaits& waits, AnalysisResult* result);
void AddStreamWaitFinding(const Trace& trace, const StreamWaits& waits, int64_t window_ns,
                          std::vector<Finding>* findings);

// "stream 14 waiting for gemm in stream 13"
std::string DescribeWait(const Trace& trace, const StreamWaitSite& site);

}  // namespace gprof
