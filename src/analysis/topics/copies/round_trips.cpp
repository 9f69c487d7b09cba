#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "analysis/facts/operations/stream_use.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/topics/copies/pageable.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

// Smaller copies may be the pieces in which a large array is worked on. Not so where several arrays go and come
// together.
constexpr uint64_t kLeastBytes = 64 << 20, kLeastBytesOfSeveral = 1 << 20;
constexpr int64_t kTripsOfAPattern = 3;
constexpr double kPercentOfBytes = 80;  // of what is copied between host and GPU goes there and back

struct RoundTrips {
  int64_t count = 0;            // copies to the device of what had just come back
  SaturatingSum time_ns;        // of both copies of each
  SaturatingSum idle_ns;        // before them: the GPU waits while the host has the data, and makes room for it
  uint64_t bytes = 0;           // that came back, and went there again
  uint64_t all_bytes = 0;       // copied between host and device, by anything
  int64_t turns = 0;            // times that such copies followed copies to the host
  bool are_of_several = false;  // arrays that come and go together
  bool begins_back = false, ends_there = false;  // with data that no copy had brought, or that none fetches
  std::vector<int64_t> pauses_ns;                // from the end of a copy back to the start of the copy there
};

// Copies to the host in a row, and those to the device that follow them.
class TripFinder {
 public:
  explicit TripFinder(const AnalysisInput& input) : input_(input), trace_(input.trace()) {}

  RoundTrips Run() {
    for (const uint32_t op : input_.shared().ops().transfers()) See(op);
    return streams_.size() == 1 ? trips_ : RoundTrips{};
  }

 private:
  struct Copy {
    uint64_t bytes;
    int64_t time_ns, idle_ns;
  };

  void See(uint32_t index) {
    const GpuOp& op = trace_.ops[index];
    const Direction direction = op.IsCopy() ? DirectionOf(op) : Direction::kOther;
    if (direction != Direction::kH2d && direction != Direction::kD2h) return;
    trips_.all_bytes += op.size_bytes;
    if (op.size_bytes < kLeastBytesOfSeveral) return;
    const int64_t idle_ns = op.device == kNone ? 0 : input_.shared().gaps(op.device).GapBefore(index);
    const Copy copy{op.size_bytes, op.DurationNs(), idle_ns};
    if (last_end_ns_ == INT64_MIN) trips_.begins_back = direction == Direction::kD2h;
    trips_.ends_there = direction == Direction::kH2d;
    // Who copies in several streams works on pieces.
    streams_.insert(op.stream);
    if (direction == Direction::kD2h) {
      if (goes_again_) back_.clear();
      goes_again_ = false;
      has_turned_ = false;
      back_.push_back(copy);
      came_ = back_.size();
    } else {
      if (!goes_again_ && last_end_ns_ != INT64_MIN) trips_.pauses_ns.push_back(op.start_ns - last_end_ns_);
      goes_again_ = true;
      AddIfCameBack(copy);
    }
    last_end_ns_ = op.end_ns;
  }

  void AddIfCameBack(const Copy& there) {
    const bool is_large = there.bytes >= kLeastBytes || came_ > 1;
    const auto back = std::ranges::find_if(back_, [&](const Copy& c) { return c.bytes == there.bytes; });
    if (!is_large || back == back_.end()) return;
    trips_.are_of_several |= came_ > 1;
    trips_.turns += !has_turned_;
    has_turned_ = true;
    ++trips_.count;
    trips_.time_ns += back->time_ns + there.time_ns;
    trips_.idle_ns += back->idle_ns + there.idle_ns;
    trips_.bytes += 2 * there.bytes;
    back_.erase(back);
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  RoundTrips trips_;
  std::set<uint32_t> streams_;
  std::vector<Copy> back_;  // that have come back, and not gone again
  size_t came_ = 0;         // in a row
  bool goes_again_ = false, has_turned_ = false;
  int64_t last_end_ns_ = INT64_MIN;
};

// Pieces of a stream of data, each of which goes there, is worked on and comes back, look the same, but for this: what
// the GPU made itself comes back before any went there, or goes there and is not fetched again; and whoever takes
// another piece has something to do before it goes.
bool MayBePieces(RoundTrips trips) {
  constexpr int64_t kStraightBackNs = 50'000;
  if (trips.are_of_several || trips.begins_back || trips.ends_there || trips.pauses_ns.empty()) return false;
  const auto median = trips.pauses_ns.begin() + static_cast<ptrdiff_t>(trips.pauses_ns.size() / 2);
  std::nth_element(trips.pauses_ns.begin(), median, trips.pauses_ns.end());
  return *median > kStraightBackNs;
}

// Seldom, beside kernels that take longer: a model is saved and loaded again, and meanwhile the GPU keeps it anyway.
bool AreSeldom(const AnalysisInput& input, const RoundTrips& trips) {
  constexpr int64_t kFewTurns = 10, kKernelsOfATurn = 100;
  const SharedFacts& shared = input.shared();
  return trips.turns < kFewTurns && shared.ops().Count(OpKind::kKernel) >= kKernelsOfATurn * trips.turns &&
         trips.time_ns < shared.kernel_busy_ns();
}

// The program made some streams, which is how pieces of an array are worked on side by side. Frameworks make dozens.
bool AsksForStreams(const Trace& trace) {
  const auto made = std::ranges::count_if(trace.streams, [](const Stream& s) { return s.is_created; });
  return made > 1 && made < kFewestOfAPool;
}

}  // namespace

void AddRoundTrips(const AnalysisInput& input, std::vector<Finding>* findings) {
  if (AsksForStreams(input.trace())) return;
  const RoundTrips trips = TripFinder(input).Run();
  if (trips.count < kTripsOfAPattern || MayBePieces(trips) || AreSeldom(input, trips)) return;
  // The first copy to the device and the last one back are no part of a trip that is repeated.
  const double bytes =
      static_cast<double>(trips.bytes) * static_cast<double>(trips.count + 1) / static_cast<double>(trips.count);
  if (100 * bytes < kPercentOfBytes * static_cast<double>(trips.all_bytes)) return;
  Finding finding = NewFinding("memcpy.round_trip", PercentOf(trips.time_ns, input.shared().window_ns()));
  finding.message = CountOf(trips.count, "round trip") +
                    " copied the same number of bytes to the host and back to the GPU: " + FormatBytes(trips.bytes) +
                    " in " + FormatNs(trips.time_ns);
  SaturatingSum gain_ns = trips.time_ns;
  gain_ns += trips.idle_ns;
  finding.gain_ns = gain_ns;
  finding.basis = "time of these copies, and " + FormatNs(trips.idle_ns) + " idle before them";
  findings->push_back(std::move(finding));
}

}  // namespace gprof
