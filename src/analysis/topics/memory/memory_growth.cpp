#include "analysis/topics/memory/memory_growth.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

using trace::MemoryKind;
using trace::MemoryOp;

constexpr int64_t kFewestIterations = 4;  // that must have kept something
constexpr int64_t kParts = 10;            // of the GPU window, where there is no step
constexpr int64_t kFewestBlocks = 20;     // there: a program that allocates as it goes along is no leak

struct Iterations {
  std::vector<Interval> times;
  bool is_step = false;
  int64_t needed = 0;  // iterations that must have kept something
};

Iterations IterationsOf(const Trace& trace, const StepChoice* step) {
  Iterations iterations;
  if (step != nullptr) {
    iterations.is_step = true;
    for (const uint32_t range : step->ranges) {
      iterations.times.push_back({trace.ranges[range].start_ns, trace.ranges[range].end_ns});
    }
    // Blocks that live for an iteration or two are there at the end only from the last of them.
    iterations.needed = std::max<int64_t>(kFewestIterations, static_cast<int64_t>(iterations.times.size()) / 2);
    return iterations;
  }
  int64_t start_ns = std::numeric_limits<int64_t>::max(), end_ns = std::numeric_limits<int64_t>::min();
  for (const Trace::Slice slice : trace.device_ops) {
    if (slice.first < slice.last) start_ns = std::min(start_ns, trace.ops[slice.first].start_ns);
    for (uint32_t i = slice.first; i < slice.last; ++i) end_ns = std::max(end_ns, trace.ops[i].end_ns);
  }
  if (start_ns >= end_ns) return iterations;
  for (int64_t part = 0; part < kParts; ++part) {
    iterations.times.push_back(
        {start_ns + ShareOf(end_ns - start_ns, part, kParts), start_ns + ShareOf(end_ns - start_ns, part + 1, kParts)});
  }
  iterations.needed = kParts - 2;  // of those after the first, all but one
  return iterations;
}

// Those that may be 0 bytes less than they were: in order of time, so that one pass finds each event's iteration.
class IterationCursor {
 public:
  explicit IterationCursor(const std::vector<Interval>& times) : times_(times) {}
  int64_t At(int64_t time_ns) {
    while (next_ < times_.size() && times_[next_].end_ns <= time_ns) ++next_;
    return next_ < times_.size() && times_[next_].start_ns <= time_ns ? static_cast<int64_t>(next_) : -1;
  }

 private:
  const std::vector<Interval>& times_;
  size_t next_ = 0;
};

std::vector<int64_t> EndsOf(const Trace& trace, const std::vector<uint32_t>& ended) {
  std::vector<int64_t> ends_ns(ended.size(), std::numeric_limits<int64_t>::max());
  for (uint32_t i = 0; i < ended.size(); ++i) {
    if (ended[i] != kNone) ends_ns[ended[i]] = trace.memory_events[i].time_ns;
  }
  return ends_ns;
}

bool IsWholeProcess(const Trace& trace, uint32_t process) {
  const Process& p = trace.processes[process];
  const Trace::Slice captures = trace.process_captures[process];
  return p.has_end && p.end_reason == trace::EndReason::kExit && captures.first == captures.last;
}

}  // namespace

Growth GrowthOf(const Trace& trace, const std::vector<uint32_t>& ended, const StepChoice* step) {
  Growth growth;
  if (trace.memory_events.empty()) return growth;
  const Iterations iterations = IterationsOf(trace, step);
  growth.iterations = std::max<int64_t>(0, static_cast<int64_t>(iterations.times.size()) - 1);
  if (iterations.is_step) growth.step = step->path;
  if (growth.iterations < kFewestIterations) return growth;
  const std::vector<int64_t> ends_ns = EndsOf(trace, ended);
  const int64_t last_ns = iterations.times.back().end_ns;
  using Key = std::tuple<uint32_t, uint32_t, MemoryKind, NameId, NameId>;
  std::map<Key, std::pair<GrowthSite, int64_t>> sites;  // and the last iteration of each
  IterationCursor cursor(iterations.times);
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& event = trace.memory_events[i];
    const int64_t iteration = cursor.At(event.time_ns);
    if (iteration < 1 || event.operation != MemoryOp::kAllocate || IsStatic(event.memory)) continue;
    if (ends_ns[i] < last_ns) continue;
    const uint32_t call = OutermostCall(trace, event.api);
    const NameId function = call == kNone ? NameId{} : trace.api_calls[call].function;
    const NameId path = PathOfCall(trace, call);
    auto& [site, last] =
        sites
            .try_emplace({event.process, event.device, event.memory, function, path},
                         GrowthSite{function, path, event.memory, event.process, event.device, 0, 0, 0}, int64_t{-1})
            .first->second;
    ++site.blocks;
    site.bytes += event.size_bytes;
    site.iterations += iteration != last;
    last = iteration;
  }
  for (const auto& [key, entry] : sites) {
    const GrowthSite& site = entry.first;
    const bool is_enough = site.iterations >= iterations.needed && site.bytes > 0;
    if (is_enough && (iterations.is_step || site.blocks >= kFewestBlocks)) growth.sites.push_back(site);
  }
  std::ranges::stable_sort(growth.sites, std::greater(), &GrowthSite::bytes);
  return growth;
}

void AddGrowthMetrics(const Growth& growth, AnalysisResult* result) {
  uint64_t bytes = 0;
  for (const GrowthSite& site : growth.sites) bytes += site.bytes;
  AddMetric(result, "memory.growth_bytes", bytes);
}

void AddGrowthFindings(const Trace& trace, const Growth& growth, std::vector<Finding>* findings) {
  if (growth.sites.empty()) return;
  uint64_t bytes = 0;
  int64_t blocks = 0;
  for (const GrowthSite& site : growth.sites) {
    bytes += site.bytes;
    blocks += site.blocks;
  }
  const GrowthSite& worst = growth.sites.front();
  const std::string_view step = trace.Text(growth.step), function = trace.Text(worst.function);
  Finding finding = NewFinding("memory.growth");
  finding.subject.function = function;
  finding.subject.range = trace.Text(worst.path);
  finding.message = "Memory use grows: " + FormatBytes(bytes) + " in " + CountOf(blocks, "block") + " allocated " +
                    (step.empty() ? "throughout the GPU window" : "in " + InMessage(step)) + " and kept until " +
                    (step.empty() ? "its end" : "the last iteration");
  std::string share = "Largest share: " + FormatBytes(worst.bytes) + " of " + SortName(worst.memory) + " memory" +
                      (function.empty() ? "" : " by " + std::string(function));
  if (!trace.Text(worst.path).empty()) share += " in " + PathName(trace, worst.path);
  if (!step.empty()) {
    share += ", in " + FormatCount(worst.iterations) + " of " + FormatCount(growth.iterations) +
             " iterations after the first";
  }
  finding.evidence.push_back(std::move(share));
  findings->push_back(std::move(finding));
}

void AddLeakFinding(const Trace& trace, const MemoryUse& use, std::vector<Finding>* findings) {
  const TraceHealth& health = trace.health;
  const bool is_all_there = trace.device_windows.empty() && health.lost_records == 0 && health.missing_chunks == 0 &&
                            health.damaged_chunks == 0;
  if (!is_all_there) return;
  using Key = std::tuple<NameId, NameId>;  // function and path
  struct Left {
    int64_t blocks = 0;
    uint64_t bytes = 0;
  };
  std::map<Key, Left> places;
  Left sum;
  for (const uint32_t i : use.not_freed) {
    const MemoryEvent& block = trace.memory_events[i];
    if (!IsWholeProcess(trace, block.process)) continue;
    const uint32_t call = OutermostCall(trace, block.api);
    Left& place = places[{call == kNone ? NameId{} : trace.api_calls[call].function, PathOfCall(trace, call)}];
    for (Left* of : {&place, &sum}) {
      ++of->blocks;
      of->bytes += block.size_bytes;
    }
  }
  if (sum.blocks == 0) return;
  const auto worst =
      std::ranges::max_element(places, [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  const auto& [function, path] = worst->first;
  Finding finding = NewFinding("memory.leaked");
  finding.subject.function = trace.Text(function);
  finding.subject.range = trace.Text(path);
  finding.message = CountOf(sum.blocks, "block") + " of memory (" + FormatBytes(sum.bytes) + ") " +
                    (sum.blocks == 1 ? "was" : "were") + " not freed when the process ended";
  std::string place;
  if (!trace.Text(function).empty()) {
    place = (places.size() == 1 ? "allocated by " : "mostly allocated by ") + std::string(trace.Text(function));
  }
  if (!trace.Text(path).empty()) place += (place.empty() ? "in " : " in ") + PathName(trace, path);
  if (!place.empty()) AddPlace(std::move(place), &finding);
  findings->push_back(std::move(finding));
}

}  // namespace gprof
