// How fast copies can be: what an estimate of pinning or batching rests on.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "analysis/facts/operations/op_facts.h"
#include "analysis/result/display_names.h"
#include "gprof/trace.h"

namespace gprof {

// Places for each kind of memory, and that of one; kinds that are not known are the first.
inline constexpr size_t kMemoryKinds = 8;
inline size_t IndexOf(trace::MemoryKind memory) {
  const auto index = static_cast<size_t>(memory);
  return index < kMemoryKinds ? index : 0;
}

// The copies and fills among the operations, in their order. They are copied because many passes look at nothing else,
// and among kernels each of them is a cache line to wait for.
PackedOps TransfersOf(const Trace& trace, const OpFacts& facts);

// Up to this size a copy takes about as long as an empty one: latency counts, not bandwidth.
inline constexpr uint64_t kSmallCopyBytes = 64 * 1024;

inline bool IsSmallTransfer(const GpuOp& op) {
  const Direction direction = op.IsCopy() ? DirectionOf(op) : Direction::kOther;
  return (direction == Direction::kH2d || direction == Direction::kD2h) && op.size_bytes <= kSmallCopyBytes;
}

// A bandwidth that copies between host and device could have.
struct Reachable {
  double bytes_per_ns = 0;  // 0: not known
  std::string basis;
  bool IsKnown() const { return bytes_per_ns > 0; }
  // Time that `bytes` take at this bandwidth.
  int64_t TimeNs(uint64_t bytes) const;
};

// What the PCIe link of a GPU can carry after line coding, in bytes for each nanosecond; 0 where it is not known.
double LinkBytesPerNs(const trace::DeviceRecord& properties);

// Share of a link that pinned copies reach: headers of packets and requests take the rest.
inline constexpr int kReachablePercent = 85;

// By direction: the best pinned copy of the trace, else that share of the PCIe link of the device that copied, or of
// the link that such devices have as a rule, else not known.
class ReachableBandwidth {
 public:
  ReachableBandwidth(const Trace& trace, const PackedOps& transfers);
  const Reachable& InDirection(Direction direction) const { return reachable_[static_cast<size_t>(direction)]; }

 private:
  std::array<Reachable, kDirectionCount> reachable_;
};

// Of an operation: bytes for each second, 0 where it took no time.
double BytesPerSecond(uint64_t bytes, int64_t duration_ns);

}  // namespace gprof
