#include "analysis/copies/pageable.h"

#include <algorithm>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/statistics.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

// What any copy takes from the call to its start. Longer, and the host prepares the data: it gathers rows, for example.
constexpr int64_t kCallNs = 20'000;

// The host was held up when the call lasted for at least half of the copy. (A call that only queues the copy may still
// overlap with its beginning, and one that fills the last staging buffer returns a little before the end.)
bool IsBlocked(const GpuOp& op, const ApiCall& call) { return 2 * OverlapNs(op, call) >= op.DurationNs(); }

PageableCopies OneCopy(const Trace& trace, const GpuOp& op, const Reachable& reachable, int64_t judged_from_ns,
                       CopyCalls* calls) {
  PageableCopies copy;
  copy.count = 1;
  copy.time_ns = op.DurationNs();
  copy.bytes = op.size_bytes;
  const uint32_t call = OutermostCall(trace, op.api);
  const CopyCallTime time = call == kNone ? CopyCallTime{} : calls->Of(op);
  const int64_t staging_ns = std::max<int64_t>(0, time.staging_ns - kCallNs);
  if (call != kNone && (IsBlocked(op, trace.api_calls[call]) || 2 * staging_ns >= op.DurationNs())) {
    copy.blocked_count = 1;
    copy.blocked_ns = time.OwnNs();
    copy.waited_ns = time.waiting_ns;
  }
  if (reachable.IsKnown() && op.size_bytes > kSmallCopyBytes) {
    copy.saved_ns = staging_ns + std::max<int64_t>(0, op.DurationNs() - reachable.TimeNs(op.size_bytes));
    if (op.start_ns >= judged_from_ns) copy.judged_saved_ns = copy.saved_ns;
  }
  return copy;
}

}  // namespace

void PageableCopies::Add(const PageableCopies& other) {
  count += other.count;
  time_ns += other.time_ns;
  bytes += other.bytes;
  blocked_count += other.blocked_count;
  blocked_ns += other.blocked_ns;
  waited_ns += other.waited_ns;
  saved_ns += other.saved_ns;
  judged_saved_ns += other.judged_saved_ns;
}

PageableSummary::PageableSummary(const AnalysisInput& input, const PackedOps& transfers,
                                 const ReachableBandwidth& reachable, int64_t judged_from_ns, CopyCalls* calls)
    : trace_(input.trace()), reachable_(reachable) {
  const Trace& trace = trace_;
  for (const GpuOp& op : transfers) {
    if (!op.IsPageable()) continue;
    const Direction direction = DirectionOf(op);
    const uint32_t call = OutermostCall(trace, op.api);
    Place place{direction, 0, 0};
    if (call != kNone) {
      const uint32_t range = trace.api_calls[call].range;
      place = {direction, trace.api_calls[call].function.value, range == kNone ? 0 : trace.ranges[range].path.value};
    }
    places_[place].Add(OneCopy(trace, op, reachable.Of(direction), judged_from_ns, calls));
  }
}

PageableCopies PageableSummary::Sum() const {
  PageableCopies sum;
  for (const auto& [place, copies] : places_) sum.Add(copies);
  return sum;
}

Table PageableSummary::MakeTable(uint32_t max_rows) const {
  Table table{"pageable",
              "Pageable copies",
              {{"direction", "Direction", Unit::kText, false},
               {"time_ns", "Time", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false},
               {"blocked_count", "Blocking", Unit::kCount, true},
               {"blocked_ns", "Host blocked", Unit::kNs, false},
               {"waited_ns", "Waited for GPU", Unit::kNs, true},
               {"saved_ns", "Saved if pinned", Unit::kNs, true},
               {"place", "Call site", Unit::kText, false}},
              {},
              "Host blocked: time in calls that lasted at least half as long as their copy, minus the wait for earlier "
              "GPU work."};
  for (const auto& [place, copies] : places_) {
    table.rows.push_back({std::string(DirectionName(std::get<0>(place))), copies.time_ns, copies.count,
                          static_cast<int64_t>(copies.bytes), BytesPerSecond(copies.bytes, copies.time_ns),
                          copies.blocked_count, copies.blocked_ns, copies.waited_ns, copies.saved_ns,
                          PlaceName(place)});
  }
  SortAndCut(&table, 1, table.columns.size() - 1, max_rows);
  return table;
}

std::string PageableSummary::PlaceName(const Place& place) const {
  const auto& [direction, function, path] = place;
  const std::string name = function == 0 ? "(unknown call)" : trace_.strings[function];
  return path == 0 ? name : name + " in " + trace_.strings[path];
}

Finding PageableSummary::MakeFinding(Direction direction, const PageableCopies& sum, int64_t window_ns) const {
  const Reachable& reachable = reachable_.Of(direction);
  const double percent = PercentOf(std::max(sum.time_ns, sum.blocked_ns), window_ns);
  const Place* main = nullptr;
  int64_t main_ns = -1;
  for (const auto& [place, copies] : places_) {
    if (std::get<0>(place) == direction && copies.time_ns > main_ns) main = &place, main_ns = copies.time_ns;
  }
  Finding finding = NewFinding("memcpy.pageable", percent);
  finding.subject.direction = DirectionName(direction);
  std::string blocked = ", host not blocked";
  if (sum.blocked_count > 0) blocked = ", host blocked for " + FormatNs(sum.blocked_ns);
  // Said where somebody who looks at the calls would wonder.
  if (sum.waited_ns > sum.blocked_ns) {
    blocked += ", after waiting " + FormatNs(sum.waited_ns) + " for earlier GPU work";
  }
  finding.message = CountOf(sum.count, "pageable copy", "pageable copies") + " (" +
                    std::string(ShortDirectionName(direction)) + "): " + FormatBytes(sum.bytes) + " in " +
                    FormatNs(sum.time_ns) + ", " + FormatBytesPerSecond(BytesPerSecond(sum.bytes, sum.time_ns)) +
                    blocked;
  if (main != nullptr) {
    finding.message += (sum.time_ns == main_ns ? "; in " : "; mostly in ") + PlaceName(*main);
    finding.subject.function = trace_.strings[std::get<1>(*main)];
    finding.subject.range = trace_.strings[std::get<2>(*main)];
  }
  finding.gain_ns = sum.judged_saved_ns;
  if (reachable.IsKnown()) {
    // Pinned ones would be no faster.
    if (sum.judged_saved_ns == 0) finding.severity = Severity::kInfo;
    finding.basis = "assumes " + reachable.basis + "; copies of up to 64 KiB excluded";
  } else if (direction == Direction::kH2h) {
    finding.severity = Severity::kInfo;
    finding.basis = "none: copies within the memory of the host use no link";
  } else {
    finding.basis = "not estimated: no pinned copy in this trace, link speed unknown";
  }
  return finding;
}

std::vector<Finding> PageableSummary::Findings(int64_t window_ns) const {
  std::map<Direction, PageableCopies> sums;
  for (const auto& [place, copies] : places_) sums[std::get<0>(place)].Add(copies);
  std::vector<Finding> findings;
  for (const auto& [direction, sum] : sums) findings.push_back(MakeFinding(direction, sum, window_ns));
  return findings;
}

}  // namespace gprof
