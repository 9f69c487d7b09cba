// Every call that made the host wait for a GPU, by what it waited for and where it was made.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/causes/gaps/host_walk.h"
#include "analysis/facts/operations/op_facts.h"
#include "base/saturate.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// What the host waits for. The last two are implied: nothing in the name of the call says that it waits.
enum class WaitKind : uint8_t { kDevice, kStream, kEvent, kOther, kCopy, kFill, kFree, kMemory };
inline constexpr size_t kWaitKindCount = 8;

std::string_view WaitName(WaitKind kind);
inline bool IsExplicit(WaitKind kind) { return kind <= WaitKind::kOther; }
inline bool IsCopyOrFill(WaitKind kind) { return kind == WaitKind::kCopy || kind == WaitKind::kFill; }
inline bool IsImplied(WaitKind kind) { return kind >= WaitKind::kFree; }

// The calls of one function by one thread in one NVTX range, for one thing.
struct WaitSite {
  WaitKind kind = WaitKind::kOther;
  NameId function;  // empty where only the record of CUPTI is there
  uint32_t thread = kNone;
  NameId path;  // innermost NVTX range, may be empty
  int64_t count = 0, longest_ns = 0;
  SaturatingSum blocked_ns;
  int64_t idle_ns = 0;  // GPU idle time with one of these calls as its cause
};

struct HostWaits {
  std::vector<WaitSite> sites;                      // in order of their first call
  std::vector<std::pair<uint32_t, int64_t>> waits;  // site and time of each wait
  bool has_queries = false;                         // calls that ask for something are in the trace
  int64_t window_ns = 0;                            // of all GPUs, less pauses between captures
};

// A call that frees or allocates memory waited when GPU work of its process ran as it began, none as it returned, and
// that work took 5 us or more and at least half of it. Calls whose name says Async do not count.
HostWaits HostWaitsOf(const AnalysisInput& input);

// implied_waits.cpp: calls that wait for the GPU although their names do not say so: frees, and some allocations.

// Those of the outermost calls about memory that waited (host_waits.h says what counts).
std::vector<uint32_t> ImpliedWaits(const Trace& trace, const OpFacts& ops, std::span<const uint32_t> memory_calls);

// polling.cpp: loops that ask a stream or an event again and again whether it is done.

// So many queries by one function in a row are a loop: no other CUDA call of the thread in between but those that ask
// for an error, a device or an attribute.
inline constexpr int64_t kPollsOfALoop = 10;

struct PollingSite {
  NameId function;
  uint32_t thread = kNone;
  int64_t loops = 0, calls = 0;
  int64_t time_ns = 0;  // from the first query of each loop to the end of its last
};

// In order of the threads; empty where queries are not recorded, or nobody polls.
std::vector<PollingSite> PollingOf(const Trace& trace);

}  // namespace gprof
