// Copies and fills: how much, how fast, between what kinds of memory, and those that are pageable or small.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/judged_time.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/copies/copy_calls.h"
#include "analysis/topics/copies/copy_overlap.h"
#include "analysis/topics/copies/pageable.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int64_t kLatencyNs = 50'000;     // between two copies
constexpr int64_t kManySmallCopies = 100;  // fewer are no pattern

// A group for each direction and pair of memory kinds; fills come after the directions.
constexpr size_t kFill = kDirectionCount;
constexpr size_t kGroupCount = (kDirectionCount + 1) * kMemoryKinds * kMemoryKinds;

size_t GroupOf(const GpuOp& op) {
  const size_t direction = op.kind == OpKind::kMemset ? kFill : static_cast<size_t>(DirectionOf(op));
  return (direction * kMemoryKinds + IndexOf(op.source_memory)) * kMemoryKinds + IndexOf(op.destination_memory);
}

struct Traffic {
  int64_t count = 0;
  SaturatingSum time_ns;
  uint64_t bytes = 0;
  void Add(const GpuOp& op) { Add(op, 1, op.DurationNs()); }
  // Some as large as that one.
  void Add(const GpuOp& op, int64_t copies, int64_t copies_ns) {
    count += copies;
    time_ns += copies_ns;
    bytes += op.size_bytes * static_cast<uint64_t>(copies);
  }
  void Add(const Traffic& other) {
    count += other.count;
    time_ns += other.time_ns;
    bytes += other.bytes;
  }
};

using TrafficByGroup = std::array<Traffic, kGroupCount>;

// Calls f(op, sum) for the copies and fills by what they have in common, `op` being one of them.
template <class F>
void ForEachAlike(const AnalysisInput& input, F&& f) {
  const PackedOps& ops = input.trace().ops;
  for (const OpFacts::Sum& sum : input.shared().ops().sums()) {
    if (sum.count == 0) continue;
    const GpuOp op = ops[sum.first];
    if (op.IsCopy() || op.kind == OpKind::kMemset) f(op, sum);
  }
}

Traffic SumOfDirection(const TrafficByGroup& traffic, size_t direction) {
  constexpr size_t kPairs = kMemoryKinds * kMemoryKinds;
  Traffic sum;
  for (size_t i = 0; i < kPairs; ++i) sum.Add(traffic[direction * kPairs + i]);
  return sum;
}

std::string MemoryOf(size_t group) {
  const auto source = static_cast<trace::MemoryKind>(group / kMemoryKinds % kMemoryKinds);
  const auto destination = static_cast<trace::MemoryKind>(group % kMemoryKinds);
  const std::string to(MemoryName(destination));
  return group / kMemoryKinds / kMemoryKinds == kFill ? to : std::string(MemoryName(source)) + " to " + to;
}

std::string NameOf(size_t group) {
  const size_t direction = group / kMemoryKinds / kMemoryKinds;
  return direction == kFill ? "memset" : std::string(DirectionName(static_cast<Direction>(direction)));
}

Table MakeTable(const AnalysisInput& input, const TrafficByGroup& traffic, const AnalysisOptions& options) {
  Groups sizes(kGroupCount);
  for (size_t i = 0; i < kGroupCount; ++i) sizes.Count(i, static_cast<size_t>(traffic[i].count));
  sizes.Seal();
  ForEachAlike(input, [&](const GpuOp& op, const OpFacts::Sum& sum) {
    const size_t group = GroupOf(op);
    for (int64_t i = 0; i < sum.count; ++i) sizes.Add(group, static_cast<int64_t>(op.size_bytes));
  });
  Table table{"memcpy",
              "Copies and memsets",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Count", Unit::kCount, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"bytes_per_second", "Bandwidth", Unit::kBytesPerSecond, false},
               {"mean_bytes", "Mean size", Unit::kBytes, true, ColumnRole::kMean},
               {"median_bytes", "Median size", Unit::kBytes, true, ColumnRole::kMedian},
               {"min_bytes", "Min size", Unit::kBytes, true, ColumnRole::kLeast},
               {"max_bytes", "Max size", Unit::kBytes, true, ColumnRole::kMost},
               {"direction", "Direction", Unit::kText, false},
               {"memory", "Memory", Unit::kText, false}},
              {},
              "Percent of the time of all copies and memsets.",
              RowsOfRanks::kAddUp};
  AddHistogramColumn(options, "median_bytes", &table);
  SaturatingSum total_ns;
  for (const Traffic& group : traffic) total_ns += group.time_ns;
  for (size_t i = 0; i < kGroupCount; ++i) {
    const Traffic& group = traffic[i];
    if (group.count == 0) continue;
    const Statistics size = sizes.Of(i).Summary(options.has_histograms ? Spread::kHistogram : Spread::kNotAsked);
    table.rows.push_back({PercentOf(group.time_ns, total_ns), group.time_ns, group.count,
                          static_cast<int64_t>(group.bytes), BytesPerSecond(group.bytes, group.time_ns), size.mean,
                          size.median, size.min, size.max, NameOf(i), MemoryOf(i)});
    AddHistogramCell(options, size, &table.rows.back());
  }
  SortAndCut(&table, 1, 9, options.max_rows);
  return table;
}

void AddTraffic(AnalysisResult* result, const std::string& prefix, const std::string& time_suffix,
                const Traffic& traffic) {
  AddMetric(result, prefix + "count", traffic.count);
  AddMetric(result, prefix + "bytes", traffic.bytes);
  AddMetric(result, prefix + time_suffix, traffic.time_ns);
}

void AddMetrics(AnalysisResult* result, const TrafficByGroup& traffic) {
  constexpr std::pair<Direction, const char*> kPrefixes[] = {{Direction::kH2d, "memcpy.h2d_"},
                                                             {Direction::kD2h, "memcpy.d2h_"},
                                                             {Direction::kD2d, "memcpy.d2d_"},
                                                             {Direction::kP2p, "memcpy.p2p_"}};
  Traffic all;
  for (size_t direction = 0; direction < kDirectionCount; ++direction) all.Add(SumOfDirection(traffic, direction));
  AddTraffic(result, "memcpy.", "total_ns", all);
  for (const auto& [direction, prefix] : kPrefixes) {
    AddTraffic(result, prefix, "ns", SumOfDirection(traffic, static_cast<size_t>(direction)));
  }
  AddTraffic(result, "memset.", "total_ns", SumOfDirection(traffic, kFill));
}

// Small copies right after another one in the same direction, with nothing between them on the GPU: only these could
// have been one. (A result that is read in every step cannot.)
struct SmallCopies {
  Traffic small;
  SaturatingSum idle_ns;  // of the GPU between them, where that is no longer than latency
  SaturatingSum call_ns;  // in the calls that launched one small copy each, less what they waited for earlier work
};

SmallCopies SmallCopiesOf(const AnalysisInput& input, const PackedOps& transfers, Direction direction,
                          int64_t judged_from_ns, CopyCalls* calls) {
  const Trace& trace = input.trace();
  const std::vector<uint32_t>& places = input.shared().ops().transfers();  // of each transfer among all operations
  SmallCopies result;
  uint32_t last = kNone;
  for (size_t i = 0; i < transfers.size(); ++i) {
    const GpuOp op = transfers[i];
    if (!op.IsCopy() || DirectionOf(op) != direction || !IsSmallTransfer(op)) continue;
    const bool is_next = last != kNone && places[i] == last + 1;
    last = places[i];
    if (!is_next || op.start_ns < judged_from_ns) continue;
    result.small.Add(op);
    const int64_t idle_ns = input.shared().gaps(op.device).GapBefore(places[i]);
    if (idle_ns <= kLatencyNs) result.idle_ns += idle_ns;
    const uint32_t call = OutermostCall(trace, op.api);
    if (call != kNone && trace.api_calls[call].op_count <= 1) result.call_ns += calls->TimeOf(op).OwnNs();
  }
  return result;
}

// The program should have made one copy of what it copied in many pieces.
void AddSmallCopies(const SmallCopies& copies, Direction direction, const Reachable& reachable,
                    std::vector<Finding>* findings) {
  const Traffic& small = copies.small;
  if (small.count < kManySmallCopies) return;
  Finding finding = NewFinding("memcpy.small");
  finding.subject.direction = DirectionName(direction);
  finding.message = FormatCount(small.count) + " small " + std::string(ShortDirectionName(direction)) +
                    " copies back to back, " +
                    FormatBytes(static_cast<double>(small.bytes) / static_cast<double>(small.count)) +
                    " on average: " + FormatBytes(small.bytes) + " in " + FormatNs(small.time_ns) + " on the GPU and " +
                    FormatNs(copies.call_ns) + " in the calls";
  if (reachable.IsKnown()) {
    SaturatingSum gpu_ns = small.time_ns;
    gpu_ns += copies.idle_ns;
    const int64_t now_ns = std::max<int64_t>(gpu_ns, copies.call_ns);
    finding.gain_ns = std::max<int64_t>(0, now_ns - reachable.TimeNs(small.bytes));
    finding.basis = "assumes a single copy at " + reachable.basis;
  } else {
    finding.basis = "not estimated: no larger copy in this trace, link speed unknown";
  }
  findings->push_back(std::move(finding));
}

// Of a capture that does not tell how many bytes were copied.
void ForgetSizes(Table* table) {
  for (size_t i = 0; i < table->columns.size(); ++i) {
    const Unit unit = table->columns[i].unit;
    if (unit != Unit::kBytes && unit != Unit::kBytesPerSecond) continue;
    for (auto& row : table->rows) row[i] = Cell();
  }
}

constexpr double kOverlapWorthAFinding = 5;  // percent of the busy time

// No more time can be won than copies take.
bool MayBeWorthAFinding(const AnalysisInput& input, int64_t busy_ns) {
  SaturatingSum copy_ns;
  ForEachAlike(input, [&](const GpuOp& op, const OpFacts::Sum& sum) { copy_ns += op.IsCopy() ? sum.time_ns : 0; });
  return PercentOf(copy_ns, busy_ns) >= kOverlapWorthAFinding;
}

// The program should have copied while kernels ran.
void AddOverlap(const CopyOverlap& overlap, int64_t busy_ns, std::vector<Finding>* findings) {
  const double percent = PercentOf(overlap.gain_ns, busy_ns);
  if (overlap.copies < 2 || percent < kOverlapWorthAFinding) return;
  Finding finding = NewFinding("memcpy.overlap", percent);
  finding.message = CountOf(overlap.copies, "copy", "copies") + " took " + FormatNs(overlap.copy_only_ns) +
                    " with no kernel running, directly before or after " + FormatNs(overlap.kernel_ns) + " of kernels";
  finding.gain_ns = overlap.gain_ns;
  finding.basis = "for each group of copies, the shorter of its exposed time and the kernels within " +
                  FormatNs(kNextToNs) + " of it";
  findings->push_back(std::move(finding));
}

// The program copies within the memory of a GPU what it could have left where it was, or written elsewhere.
void AddCopiesWithin(const PackedOps& transfers, const JudgedTime& judged, std::vector<Finding>* findings) {
  constexpr int64_t kManyCopies = 10;
  constexpr double kWithinWorthAFinding = 15;  // percent of the time that is judged
  Traffic within;
  for (const GpuOp op : transfers) {
    if (op.IsCopy() && DirectionOf(op) == Direction::kD2d && op.start_ns >= judged.copies_from_ns) within.Add(op);
  }
  const int64_t gain_ns = std::min<int64_t>(within.time_ns, judged.CopyOnlyNs());
  const double percent = PercentOf(gain_ns, judged.devices.window_ns);
  if (within.count < kManyCopies || percent < kWithinWorthAFinding) return;
  Finding finding = NewFinding("memcpy.within", percent);
  finding.subject.direction = DirectionName(Direction::kD2d);
  finding.message = CountOf(within.count, "copy", "copies") +
                    " within GPU memory (D2D): " + (within.bytes == 0 ? "" : FormatBytes(within.bytes) + " in ") +
                    FormatNs(within.time_ns) + ", " + FormatPercent(percent) + " of the time with no kernel running";
  finding.gain_ns = gain_ns;
  finding.basis = "all of these copies, while no kernel runs";
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunMemcpy(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  TrafficByGroup traffic;
  int64_t small_count = 0;
  const PackedOps transfers = TransfersOf(input.trace(), input.shared().ops());
  ForEachAlike(input, [&](const GpuOp& op, const OpFacts::Sum& alike) {
    traffic[GroupOf(op)].Add(op, alike.count, alike.time_ns);
    small_count += IsSmallTransfer(op) ? alike.count : 0;
  });
  const ReachableBandwidth reachable(trace, transfers);
  CopyCalls calls(input);
  // Copies before that come once: nothing is to be won by them in a longer run.
  const JudgedTime judged = JudgedBy(input, options.step);
  const int64_t judged_from_ns = judged.copies_from_ns;
  const PageableSummary pageable(input, transfers, reachable, judged_from_ns, &calls);
  const PageableCopies sum = pageable.Sum();
  AnalysisResult result;
  AddMetrics(&result, traffic);
  AddMetric(&result, "memcpy.pageable_count", sum.count);
  AddMetric(&result, "memcpy.pageable_bytes", sum.bytes);
  AddMetric(&result, "memcpy.pageable_ns", sum.time_ns);
  AddMetric(&result, "memcpy.pageable_blocked_ns", sum.blocked_ns);
  AddMetric(&result, "memcpy.small_count", small_count);
  result.tables.push_back(MakeTable(input, traffic, options));
  result.tables.push_back(pageable.MakeTable(options.max_rows));
  const bool knows_sizes = !trace.lacks.Has(Fact::kCopySizes);
  if (!knows_sizes) std::for_each(result.tables.begin(), result.tables.end(), [](Table& t) { ForgetSizes(&t); });
  if (!options.is_brief && knows_sizes) {  // which are details
    AddCopySpeed(trace, transfers, reachable, &result);
    result.tables.push_back(CopySizeTable(transfers));
  }
  CopyOverlap overlap;
  if (!options.is_brief || MayBeWorthAFinding(input, input.shared().busy_ns())) {
    overlap = CopyOverlapOf(input, transfers);
  }
  AddMetric(&result, "memcpy.overlappable_ns", overlap.gain_ns);
  if (sum.count > 0) result.findings = pageable.Findings(input.shared().window_ns());
  if (small_count >= kManySmallCopies && knows_sizes) {
    for (Direction direction : {Direction::kH2d, Direction::kD2h}) {
      AddSmallCopies(SmallCopiesOf(input, transfers, direction, judged_from_ns, &calls), direction,
                     reachable.InDirection(direction), &result.findings);
    }
  }
  AddRoundTrips(input, &result.findings);
  AddCopiesWithin(transfers, judged, &result.findings);
  if (overlap.gain_ns > 0) AddOverlap(overlap, input.shared().busy_ns(), &result.findings);
  RankFindings(&result.findings);
  return result;
}

}  // namespace gprof
