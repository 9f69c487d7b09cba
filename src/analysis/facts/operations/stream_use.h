// What each stream did, and what the legacy default stream did to the others.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/facts/operations/op_facts.h"
#include "base/saturate.h"
#include "gprof/trace.h"

namespace gprof {

// Frameworks make a pool of so many streams when one is asked for (PyTorch: 32 of each priority).
inline constexpr int64_t kFewestOfAPool = 32;

struct StreamUse {
  int64_t busy_ns = 0;
  int64_t operations = 0, kernels = 0, copies = 0;
  // What could run side by side in other streams: kernels, and copies that neither stage nor hold up the host.
  SaturatingSum kernel_ns, to_device_ns, to_host_ns;
  int64_t rounds = 0;          // kernels that came after such a copy
  bool has_graph = false;      // operations of a graph: a graph may run them side by side already
  bool is_negligible = false;  // one of those of its process that together have next to none of its work

  bool IsUsed() const { return operations > 0; }
  bool DoesWork() const { return IsUsed() && !is_negligible; }
  // At best the longest of kernels and the copies of each direction is what remains.
  int64_t OverlapGainNs() const;
};

// One for each stream. `busy_ns`: ConcurrencySweep::busy_ns() of all devices.
std::vector<StreamUse> UseOfStreams(const Trace& trace, const OpFacts& ops, const StreamOps& of_streams,
                                    const std::vector<int64_t>& busy_ns);

// Runs of operations in the legacy default stream with work of blocking streams of the same context before and after:
// that work and the run cannot overlap, whatever the program meant.
struct DefaultSplits {
  int64_t runs = 0, operations = 0;
  SaturatingSum time_ns;
  // The shorter of the runs and the work of those streams, summed over the contexts; and of neighbours among the work
  // of different streams that runs keep apart, the shorter one, where it leaves room for the other.
  SaturatingSum gain_ns;
};

DefaultSplits DefaultSplitsOf(const Trace& trace, const std::vector<StreamUse>& uses);

}  // namespace gprof
