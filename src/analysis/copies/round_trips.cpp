#include "analysis/copies/round_trips.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/copies/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/statistics.h"
#include "analysis/result/display_names.h"
#include "analysis/result/finding_catalogue.h"
#include "analysis/streams/stream_use.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Smaller copies may be the pieces in which a large array is worked on.
constexpr uint64_t kLeastBytes = 64 << 20;
constexpr int64_t kTripsOfAPattern = 3;
constexpr double kPercentOfBytes = 80;  // of what is copied between host and GPU goes there and back

struct RoundTrips {
  int64_t count = 0;       // copies to the device of what had just come back
  SaturatingSum time_ns;   // of both copies of each
  uint64_t bytes = 0;      // that came back, and went there again
  uint64_t all_bytes = 0;  // copied between host and device, by anything
};

RoundTrips FindRoundTrips(const PackedOps& transfers) {
  RoundTrips trips;
  std::set<uint32_t> streams;
  // By stream and size, copies that have come back. Who copies in several streams works on pieces.
  std::map<std::pair<uint32_t, uint64_t>, int64_t> back_ns;
  for (const GpuOp& op : transfers) {
    const Direction direction = op.IsCopy() ? DirectionOf(op) : Direction::kOther;
    if (direction != Direction::kH2d && direction != Direction::kD2h) continue;
    trips.all_bytes += op.size_bytes;
    if (op.size_bytes < kLeastBytes) continue;
    const std::pair key{op.stream, op.size_bytes};
    streams.insert(op.stream);
    if (direction == Direction::kD2h) {
      back_ns[key] = op.DurationNs();
    } else if (const auto back = back_ns.find(key); back != back_ns.end()) {
      ++trips.count;
      trips.time_ns += back->second + op.DurationNs();
      trips.bytes += 2 * op.size_bytes;
      back_ns.erase(back);
    }
  }
  return streams.size() == 1 ? trips : RoundTrips{};
}

// The program made some streams, which is how pieces of an array are worked on side by side. Frameworks make dozens.
bool AsksForStreams(const Trace& trace) {
  const auto made =
      std::count_if(trace.streams.begin(), trace.streams.end(), [](const Stream& s) { return s.is_created; });
  return made > 1 && made < kFewestOfAPool;
}

}  // namespace

void AddRoundTrips(const AnalysisInput& input, const PackedOps& transfers, std::vector<Finding>* findings) {
  if (AsksForStreams(input.trace())) return;
  const RoundTrips trips = FindRoundTrips(transfers);
  if (trips.count < kTripsOfAPattern) return;
  // The first copy to the device and the last one back are no part of a trip that is repeated.
  const double bytes =
      static_cast<double>(trips.bytes) * static_cast<double>(trips.count + 1) / static_cast<double>(trips.count);
  if (100 * bytes < kPercentOfBytes * static_cast<double>(trips.all_bytes)) return;
  Finding finding = NewFinding("memcpy.round_trip", PercentOf(trips.time_ns, input.shared().window_ns()));
  finding.message =
      CountOf(trips.count, "round trip") + " copied the same number of bytes to the host and back to the GPU: " +
      FormatBytes(static_cast<double>(trips.bytes)) + " in " + FormatNs(static_cast<double>(trips.time_ns));
  finding.gain_ns = trips.time_ns;
  finding.basis = "time of these copies";
  findings->push_back(std::move(finding));
}

}  // namespace gprof
