#include "trace/load/fill_pass.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/machine/parallel.h"
#include "trace/load/fill_places.h"
#include "trace/load/huge_pages.h"
#include "trace/load/order.h"

namespace gprof {
namespace {

enum class Target : uint8_t { kCalls, kOps, kEvents };

Target TargetOf(trace::RecordKind kind) {
  if (kind == trace::RecordKind::kApi) return Target::kCalls;
  return kind == trace::RecordKind::kNvtx ? Target::kEvents : Target::kOps;
}

template <class F>
void ForEachBlock(std::vector<BulkChunk>& chunks, Target target, F&& f) {
  for (BulkChunk& chunk : chunks) {
    for (BulkBlock& block : chunk.blocks) {
      if (TargetOf(block.kind) == target) f(block);
    }
  }
}

template <class F>
void ForEachCommon(std::vector<BulkChunk>& chunks, Target target, F&& f) {
  ForEachBlock(chunks, target, [&](BulkBlock& block) {
    for (BulkBlock::Common& common : block.commons) f(common);
  });
}

// Gives every group of records in every block its place. group_of(traits) is the group. Returns the slices of the
// groups.
template <class F>
std::vector<Trace::Slice> PlanPlaces(std::vector<BulkChunk>& chunks, Target target, std::size_t groups, F&& group_of) {
  std::vector<Trace::Slice> slices(groups);
  ForEachCommon(chunks, target, [&](BulkBlock::Common& common) {
    common.group = group_of(common.traits);
    slices[common.group].last += common.count;
  });
  uint32_t first = 0;
  for (Trace::Slice& s : slices) {
    const uint32_t count = s.last;
    s.first = s.last = first;
    first += count;
  }
  ForEachBlock(chunks, target, [&](BulkBlock& block) {
    for (BulkBlock::Common& common : block.commons) common.place = slices[common.group].last;
    for (const BulkBlock::Common& common : block.commons) slices[common.group].last += common.count;
  });
  return slices;
}

template <class Items>
void Resize(Items& items, const std::vector<Trace::Slice>& slices) {
  const std::size_t count = slices.empty() ? 0 : slices.back().last;
  ReserveHuge(items, count);
  items.resize(count);
}

constexpr uint64_t kWorthAThread = 100'000;  // records

std::size_t StoredBytes(const std::vector<BulkChunk>& chunks) {
  std::size_t bytes = 0;
  for (const BulkChunk& chunk : chunks) bytes += chunk.stored.size();
  return bytes;
}

void LeaveOutOpsWithoutTimes(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  if (t.health.bad_times == 0) return;
  std::erase_if(t.ops.items(), [](const PackedOps::Item& op) { return op.traits == PlaceFiller::kNoTimes; });
  t.device_ops =
      GroupBy(t.ops.items(), t.devices.size(), [&](const PackedOps::Item& op) { return t.ops.TraitsOf(op).device; });
}

void BeginCounts(UnjoinedTrace& unjoined) {
  unjoined.calls_of_traits.assign(unjoined.trace.api_calls.TraitsCount(), 0);
  unjoined.thread_event_counts.assign(unjoined.trace.threads.size(), {});
}
// Calls and events with these traits.
void CountCalls(UnjoinedTrace& unjoined, uint32_t traits, uint32_t count) { unjoined.calls_of_traits[traits] += count; }
void CountEvents(UnjoinedTrace& unjoined, uint32_t traits, uint32_t count) {
  const NvtxEvents::Traits& event = unjoined.nvtx_events.TraitsAt(traits);
  unjoined.thread_event_counts[event.thread].Add(event.event, count);
}

// The blocks of the file in any order, on all cores: each has its places for itself. Ranges that will be paired side by
// side need their places before that; on one core and on two they are not.
void FillPlaces(UnjoinedTrace& unjoined, std::vector<BulkChunk>& chunks, std::vector<PlaceFiller>& fillers,
                DamagedBlocks* damaged) {
  std::size_t ranges = 0;
  if (fillers.size() > 2) {
    for (const EventCounts& counts : unjoined.thread_event_counts) ranges += counts.ranges;
  }
  std::atomic<std::size_t> next{0};
  std::vector<DamagedBlocks> found(fillers.size());
  ForEachSideBySide(fillers.size() + 1, fillers.size(), [&](std::size_t part) {
    if (part == 0) {
      PackedRanges::Items& items = unjoined.trace.ranges.items();
      ReserveHuge(items, ranges);
      TouchHuge(items, 1);
      return items.resize(ranges);
    }
    for (std::size_t i = next++; i < chunks.size(); i = next++) {
      fillers[part - 1].Take(chunks[i], &found[part - 1]);
      chunks[i].blocks = {};
    }
  });
  for (DamagedBlocks& blocks : found) damaged->merge(blocks);
}

void Finish(std::vector<PlaceFiller>& fillers, UnjoinedTrace& unjoined) {
  for (PlaceFiller& filler : fillers) filler.Finish();
  const auto sort_or_forget = [&](std::vector<uint32_t>& runs, bool (PlaceFiller::*has_runs)() const) {
    const bool all = std::all_of(fillers.begin(), fillers.end(), [&](const PlaceFiller& f) { return (f.*has_runs)(); });
    all ? std::sort(runs.begin(), runs.end()) : runs.clear();
  };
  sort_or_forget(unjoined.call_runs, &PlaceFiller::HasCallsInRuns);
  sort_or_forget(unjoined.op_runs, &PlaceFiller::HasOpsInRuns);
  sort_or_forget(unjoined.event_runs, &PlaceFiller::HasEventsInRuns);
  LeaveOutOpsWithoutTimes(unjoined);
}

}  // namespace

bool FillBulk(std::vector<BulkChunk> chunks, UnjoinedTrace& unjoined, DamagedBlocks* damaged) {
  Trace& t = unjoined.trace;
  t.thread_api_calls = PlanPlaces(chunks, Target::kCalls, t.threads.size(),
                                  [&](uint32_t traits) { return t.api_calls.TraitsAt(traits).thread; });
  t.device_ops = PlanPlaces(chunks, Target::kOps, t.devices.size(),
                            [&](uint32_t traits) { return t.ops.TraitsAt(traits).device; });
  unjoined.thread_events = PlanPlaces(chunks, Target::kEvents, t.threads.size(),
                                      [&](uint32_t traits) { return unjoined.nvtx_events.TraitsAt(traits).thread; });
  Resize(t.api_calls.items(), t.thread_api_calls);
  Resize(t.ops.items(), t.device_ops);
  Resize(unjoined.nvtx_events.items(), unjoined.thread_events);
  BeginCounts(unjoined);
  ForEachCommon(chunks, Target::kCalls, [&](const auto& c) { CountCalls(unjoined, c.traits, c.count); });
  ForEachCommon(chunks, Target::kEvents, [&](const auto& c) { CountEvents(unjoined, c.traits, c.count); });
  const std::size_t known_damaged = damaged->size();
  const std::size_t cores = t.record_count >= kWorthAThread ? UsableCores() : 1;
  if (cores > 1) {
    TouchHuge(t.api_calls.items(), cores);
    TouchHuge(t.ops.items(), cores);
    TouchHuge(unjoined.nvtx_events.items(), cores);
  }
  std::vector<PlaceFiller> fillers;
  const std::size_t readers = cores > 1 ? std::min(ReadersOf(StoredBytes(chunks)), chunks.size()) : 1;
  for (std::size_t i = 0; i < readers; ++i) {
    fillers.emplace_back(unjoined);
  }
  FillPlaces(unjoined, chunks, fillers, damaged);
  if (damaged->size() != known_damaged) return false;
  Finish(fillers, unjoined);
  return true;
}

void GroupAdded(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  NvtxEvents& events = unjoined.nvtx_events;
  t.thread_api_calls =
      GroupBy(t.api_calls.items(), t.threads.size(), [&](const auto& c) { return t.api_calls.TraitsOf(c).thread; });
  t.device_ops = GroupBy(t.ops.items(), t.devices.size(), [&](const auto& op) { return t.ops.TraitsOf(op).device; });
  unjoined.thread_events =
      GroupBy(events.items(), t.threads.size(), [&](const auto& e) { return events.TraitsAt(e.traits).thread; });
  BeginCounts(unjoined);
  for (const PackedCalls::Item& call : t.api_calls.items()) CountCalls(unjoined, call.traits, 1);
  for (const NvtxEvents::Item& event : events.items()) CountEvents(unjoined, event.traits, 1);
}

}  // namespace gprof
