#include "analysis/facts/operations/transfers.h"

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace gprof {
namespace {

constexpr double kNsPerSecond = 1e9;

// Payload of one lane in bytes per nanosecond, after line coding.
double LaneBytesPerNs(uint32_t generation) {
  constexpr double kLane[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};
  return generation < std::size(kLane) ? kLane[generation] : 0;
}

// Of GPUs whose trace does not tell: what those of the same compute capability have. 0 for those without PCIe, and
// where the capability is not known.
constexpr uint32_t kUsualLanes = 16;
uint32_t UsualGeneration(const trace::DeviceRecord& properties) {
  const uint32_t capability = 10 * properties.compute_major + properties.compute_minor;
  const bool is_integrated = capability == 53 || capability == 62 || capability == 72 || capability == 87;
  if (is_integrated || properties.compute_major < 3) return 0;
  return properties.compute_major >= 9 ? 5 : properties.compute_major == 8 ? 4 : 3;
}

bool IsPinned(const GpuOp& op) {
  return !op.IsPageable() &&
         (op.source_memory == trace::MemoryKind::kPinned || op.destination_memory == trace::MemoryKind::kPinned);
}

void OfferPinned(const GpuOp& op, Reachable* best) {
  if (op.size_bytes <= kSmallCopyBytes || op.DurationNs() <= 0) return;
  best->bytes_per_ns =
      std::max(best->bytes_per_ns, static_cast<double>(op.size_bytes) / static_cast<double>(op.DurationNs()));
}

void OfferLink(const Trace& trace, const GpuOp& op, Reachable* best) {
  const trace::DeviceRecord& properties = trace.devices[op.device].properties;
  const bool is_known = LinkBytesPerNs(properties) > 0;
  const uint32_t generation = is_known ? properties.pcie_generation : UsualGeneration(properties);
  const uint32_t lanes = is_known ? properties.pcie_lanes : kUsualLanes;
  const double link = LaneBytesPerNs(generation) * lanes, reachable = link * kReachablePercent / 100;
  if (reachable <= best->bytes_per_ns) return;
  *best = {reachable, std::to_string(kReachablePercent) + "% of PCIe Gen" + std::to_string(generation) + " x" +
                          std::to_string(lanes) + ", " + FormatBytesPerSecond(link * kNsPerSecond) +
                          (is_known ? "; no pinned copy in this trace to compare with"
                                    : "; typical of this GPU, link speed not recorded")};
}

// Longer than any trace; a damaged one may ask for more than an integer can hold.
constexpr double kLongestNs = 1e18;

}  // namespace

double LinkBytesPerNs(const trace::DeviceRecord& properties) {
  return LaneBytesPerNs(properties.pcie_generation) * properties.pcie_lanes;
}

int64_t Reachable::TimeNs(uint64_t bytes) const {
  return static_cast<int64_t>(std::min(static_cast<double>(bytes) / bytes_per_ns, kLongestNs));
}

PackedOps TransfersOf(const Trace& trace, const OpFacts& facts) {
  const PackedOps& ops = trace.ops;
  PackedOps transfers;
  std::vector<uint32_t> places(ops.TraitsCount(), kNone);  // of traits, among those of the transfers
  transfers.items().reserve(facts.transfers().size());
  for (const uint32_t i : facts.transfers()) {
    uint32_t& place = places[ops.TraitsIndex(i)];
    if (place == kNone) place = transfers.Intern(ops.TraitsAt(ops.TraitsIndex(i)));
    transfers.AddFrom(ops, i, place);
  }
  return transfers;
}

ReachableBandwidth::ReachableBandwidth(const Trace& trace, const PackedOps& transfers) {
  std::array<Reachable, kDirectionCount> pinned, link;
  std::vector<Reachable*> pinned_of;  // by the traits of those that may be the best
  pinned_of.resize(transfers.TraitsCount(), nullptr);
  std::vector<uint8_t> are_seen(transfers.TraitsCount(), 0);
  for (size_t i = 0; i < transfers.size(); ++i) {
    const uint32_t traits = transfers.TraitsIndex(i);
    if (are_seen[traits] == 0) {
      are_seen[traits] = 1;
      const GpuOp op = transfers[i];
      if (op.kind != OpKind::kMemcpy) continue;
      const auto direction = static_cast<size_t>(DirectionOf(op));
      OfferLink(trace, op, &link[direction]);
      if (IsPinned(op)) pinned_of[traits] = &pinned[direction];
    }
    if (pinned_of[traits] != nullptr) OfferPinned(transfers[i], pinned_of[traits]);
  }
  for (Direction direction : {Direction::kH2d, Direction::kD2h}) {
    const auto i = static_cast<size_t>(direction);
    if (pinned[i].IsKnown()) {
      pinned[i].basis = "the best pinned " + std::string(ShortDirectionName(direction)) + " copy of this trace, " +
                        FormatBytesPerSecond(pinned[i].bytes_per_ns * kNsPerSecond);
    }
    reachable_[i] = pinned[i].IsKnown() ? pinned[i] : link[i];
  }
}

double BytesPerSecond(uint64_t bytes, int64_t duration_ns) {
  return duration_ns <= 0 ? 0 : static_cast<double>(bytes) * kNsPerSecond / static_cast<double>(duration_ns);
}

}  // namespace gprof
