#include "analysis/topics/copies/pageable.h"

#include <algorithm>

#include "analysis/facts/operations/operations.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/statistics.h"
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
  const CopyCallTime time = call == kNone ? CopyCallTime{} : calls->TimeOf(op);
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
    CopySite place{direction, 0, 0};
    if (call != kNone) {
      const uint32_t range = trace.api_calls[call].range;
      place = {direction, trace.api_calls[call].function.value, range == kNone ? 0 : trace.ranges[range].path.value};
    }
    sites_[place].Add(OneCopy(trace, op, reachable.InDirection(direction), judged_from_ns, calls));
  }
}

PageableCopies PageableSummary::Sum() const {
  PageableCopies sum;
  for (const auto& [place, copies] : sites_) sum.Add(copies);
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
               {"blocked_ns", "Host blocked", Unit::kNs, false,
                "time in calls that lasted at least half as long as their copy, minus the wait for earlier GPU work"},
               {"waited_ns", "Waited for GPU", Unit::kNs, true},
               {"saved_ns", "Saved if pinned", Unit::kNs, true},
               {"place", "Call site", Unit::kText, false}},
              {},
              "",
              RowsOfRanks::kAddUp};
  for (const auto& [place, copies] : sites_) {
    table.rows.push_back({std::string(DirectionName(std::get<0>(place))), copies.time_ns, copies.count,
                          static_cast<int64_t>(copies.bytes), BytesPerSecond(copies.bytes, copies.time_ns),
                          copies.blocked_count, copies.blocked_ns, copies.waited_ns, copies.saved_ns, SiteName(place)});
  }
  SortAndCut(&table, 1, table.columns.size() - 1, max_rows);
  return table;
}

std::string PageableSummary::SiteName(const CopySite& place) const {
  const auto& [direction, function, path] = place;
  const std::string name = function == 0 ? "(unknown call)" : trace_.strings[function];
  return path == 0 ? name : name + " in " + trace_.strings[path];
}

namespace {

std::string SizeAndTime(const PageableCopies& copies) {
  if (copies.bytes == 0) return FormatNs(copies.time_ns);  // of a capture without sizes
  return FormatBytes(copies.bytes) + " in " + FormatNs(copies.time_ns) + ", " +
         FormatBytesPerSecond(BytesPerSecond(copies.bytes, copies.time_ns));
}

// "4 pageable copies (H2D): 67.11 MB in 7.60 ms, 8.83 GB/s"; of several directions each by itself.
std::string Copied(const std::map<Direction, PageableCopies>& sums, const PageableCopies& all) {
  std::string text = CountOf(all.count, "pageable copy", "pageable copies");
  if (sums.size() == 1) {
    return text + " (" + std::string(ShortDirectionName(sums.begin()->first)) + "): " + SizeAndTime(all);
  }
  const char* before = ": ";
  for (const auto& [direction, sum] : sums) {
    text += before + std::string(ShortDirectionName(direction)) + " " + SizeAndTime(sum);
    before = "; ";
  }
  return text;
}

std::string Blocked(const PageableCopies& all) {
  return all.blocked_count > 0 ? ", host blocked for " + FormatNs(all.blocked_ns) : ", host not blocked";
}

}  // namespace

std::string PageableSummary::BasisOf(const std::map<Direction, PageableCopies>& sums) const {
  std::string assumed, unknown;
  for (const auto& [direction, sum] : sums) {
    const Reachable& reachable = reachable_.InDirection(direction);
    const std::string name = sums.size() == 1 ? "" : std::string(ShortDirectionName(direction)) + " ";
    if (!reachable.IsKnown()) {
      unknown +=
          (unknown.empty() ? "" : "; ") + name + "not estimated: no pinned copy in this trace, link speed unknown";
    } else if (assumed.find(reachable.basis) == std::string::npos) {
      assumed += (assumed.empty() ? "assumes " : " and ") + reachable.basis;
    }
  }
  if (!assumed.empty()) assumed += "; copies of up to 64 KiB excluded";
  return assumed + (assumed.empty() || unknown.empty() ? "" : "; ") + unknown;
}

Finding PageableSummary::MakeFinding(const std::map<Direction, PageableCopies>& sums, int64_t window_ns) const {
  PageableCopies all;
  int64_t longest_ns = 0;  // of one direction: the link carries both at once
  for (const auto& [direction, sum] : sums) {
    all.Add(sum);
    longest_ns = std::max<int64_t>({longest_ns, sum.time_ns, sum.blocked_ns});
  }
  const CopySite* main = nullptr;
  int64_t main_ns = -1;
  std::map<std::string, int64_t> of_names;  // copies of several directions may have one place
  for (const auto& [place, copies] : sites_) {
    if (!sums.contains(std::get<0>(place))) continue;
    int64_t& name_ns = of_names[SiteName(place)];
    name_ns += copies.time_ns;
    if (name_ns > main_ns) main = &place, main_ns = name_ns;
  }
  Finding finding = NewFinding("memcpy.pageable", PercentOf(longest_ns, window_ns));
  if (sums.size() == 1) finding.subject.direction = DirectionName(sums.begin()->first);
  finding.message = Copied(sums, all) + Blocked(all);
  // Said where somebody who looks at the calls would wonder.
  if (all.waited_ns > all.blocked_ns) {
    finding.evidence.push_back("The host first waited " + FormatNs(all.waited_ns) + " for earlier GPU work");
  }
  if (main != nullptr) {
    AddPlace((all.time_ns == main_ns ? "in " : "mostly in ") + SiteName(*main), &finding);
    finding.subject.function = trace_.strings[std::get<1>(*main)];
    finding.subject.range = trace_.strings[std::get<2>(*main)];
  }
  finding.gain_ns = all.judged_saved_ns;
  finding.basis = BasisOf(sums);
  // Pinned ones would be no faster.
  const bool is_known = finding.basis.find("not estimated") == std::string::npos;
  if (is_known && all.judged_saved_ns == 0) finding.severity = Severity::kInfo;
  return finding;
}

// Copies to the device and back from it are one mistake, which is mended by the same change. Those within the memory of
// the host use no link.
std::vector<Finding> PageableSummary::Findings(int64_t window_ns) const {
  std::map<Direction, PageableCopies> on_link, on_host;
  for (const auto& [place, copies] : sites_) {
    const Direction direction = std::get<0>(place);
    (direction == Direction::kH2h ? on_host : on_link)[direction].Add(copies);
  }
  std::vector<Finding> findings;
  if (!on_link.empty()) findings.push_back(MakeFinding(on_link, window_ns));
  if (on_host.empty()) return findings;
  findings.push_back(MakeFinding(on_host, window_ns));
  findings.back().severity = Severity::kInfo;
  findings.back().basis = "none: copies within the memory of the host use no link";
  return findings;
}

}  // namespace gprof
