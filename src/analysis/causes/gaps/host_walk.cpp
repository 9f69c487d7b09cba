#include "analysis/causes/gaps/host_walk.h"

#include <algorithm>

#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/operations/operations.h"

namespace gprof {
namespace {

// The first of the slice that starts later; they are in order of their start.
template <class StartOf>
uint32_t FirstAfter(Trace::Slice slice, StartOf&& start_ns_of, int64_t time_ns) {
  while (slice.first < slice.last) {
    const uint32_t middle = slice.first + (slice.last - slice.first) / 2;
    if (start_ns_of(middle) <= time_ns) {
      slice.first = middle + 1;
    } else {
      slice.last = middle;
    }
  }
  return slice.first;
}

}  // namespace

HostWalk::HostWalk(const Trace& trace, const HostFacts& facts)
    : trace_(trace), facts_(facts), untold_(UntoldCauses(trace)), cursors_(trace.threads.size()) {}

// Where the cursors would be had they walked from the beginning.
void HostWalk::Place(uint32_t thread, int64_t time_ns) {
  Cursor& cursor = cursors_[thread];
  cursor.is_placed = true;
  const std::vector<Interruption>& list = facts_.interruptions[thread];
  cursor.interruption = static_cast<size_t>(
      std::ranges::partition_point(list, [&](const Interruption& i) { return i.end_ns <= time_ns; }) - list.begin());
  const Trace::Slice calls = trace_.thread_api_calls[thread];
  cursor.call = FirstAfter(
      calls, [&](uint32_t i) { return trace_.api_calls[i].start_ns; }, time_ns);
  // Calls of a thread do not overlap but where clocks or records are not exact.
  constexpr int kMostOverlapping = 64;
  uint32_t before = cursor.call;
  for (int looked = 0; looked < kMostOverlapping && before > calls.first; ++looked) {
    before = OutermostCall(trace_, before - 1);
    if (trace_.api_calls[before].end_ns > time_ns) cursor.call = before;
  }
  PlaceRanges(thread, time_ns);
}

void HostWalk::PlaceRanges(uint32_t thread, int64_t time_ns) {
  Cursor& cursor = cursors_[thread];
  const Trace::Slice ranges = trace_.thread_ranges[thread];
  cursor.range = FirstAfter(
      ranges, [&](uint32_t i) { return trace_.ranges[i].start_ns; }, time_ns);
  uint32_t inner = cursor.range;
  while (inner > ranges.first && !trace_.ranges[inner - 1].is_push_pop) --inner;
  if (inner == ranges.first) return;
  for (uint32_t i = inner - 1; i != kNone;) {
    cursor.open.push_back({i, trace_.ranges[i].end_ns});
    const uint32_t parent = trace_.ranges[i].parent;
    i = parent < i ? parent : kNone;  // parents come first, or the trace is damaged
  }
  std::ranges::reverse(cursor.open);
}

template <class F>
void HostWalk::SplitAtInterruptions(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts,
                                    F&& between) {
  if (!cursors_[thread].is_placed) Place(thread, from_ns);
  const std::vector<Interruption>& list = facts_.interruptions[thread];
  size_t& next = cursors_[thread].interruption;
  while (next < list.size() && list[next].end_ns <= from_ns) ++next;
  for (size_t i = next; i < list.size() && list[i].start_ns < to_ns; ++i) {
    const int64_t start_ns = std::max(from_ns, list[i].start_ns), end_ns = std::min(to_ns, list[i].end_ns);
    if (from_ns < start_ns) between(from_ns, start_ns);
    parts->emplace_back(list[i].cause, end_ns - start_ns, kNone);
    from_ns = end_ns;
  }
  if (from_ns < to_ns) between(from_ns, to_ns);
}

void HostWalk::AddHost(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts) {
  SplitAtInterruptions(thread, from_ns, to_ns, parts,
                       [&](int64_t start_ns, int64_t end_ns) { AddCalls(thread, start_ns, end_ns, parts); });
}

void HostWalk::AddLaunch(uint32_t thread, int64_t from_ns, int64_t to_ns, Cause cause, uint32_t call,
                         std::vector<Part>* parts) {
  SplitAtInterruptions(thread, from_ns, to_ns, parts,
                       [&](int64_t start_ns, int64_t end_ns) { parts->emplace_back(cause, end_ns - start_ns, call); });
}

void HostWalk::AddCalls(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts) {
  uint32_t& next = cursors_[thread].call;
  const uint32_t last = trace_.thread_api_calls[thread].last;
  const auto is_over = [&](const Call& call) { return call.end_ns() <= from_ns || !call.is_outermost(); };
  while (next < last && is_over(Call(trace_.api_calls, next))) ++next;
  for (uint32_t i = next; i < last && from_ns < to_ns && trace_.api_calls[i].start_ns < to_ns; ++i) {
    const ApiCall& call = trace_.api_calls[i];
    const int64_t start_ns = std::max(from_ns, call.start_ns), end_ns = std::min(to_ns, call.end_ns);
    if (call.parent != kNone || start_ns >= end_ns) continue;
    if (from_ns < start_ns) AddOwnCode(thread, from_ns, start_ns, parts);
    parts->emplace_back(CauseOf(i), end_ns - start_ns, i);
    from_ns = end_ns;
  }
  if (from_ns < to_ns) AddOwnCode(thread, from_ns, to_ns, parts);
}

void HostWalk::EnterRanges(uint32_t thread, int64_t time_ns) {
  Cursor& cursor = cursors_[thread];
  const uint32_t last = trace_.thread_ranges[thread].last;
  for (; cursor.range < last && trace_.ranges[cursor.range].start_ns <= time_ns; ++cursor.range) {
    const NvtxRange& range = trace_.ranges[cursor.range];
    if (!range.is_push_pop) continue;
    cursor.CloseUntil(range.start_ns);
    cursor.open.push_back({cursor.range, range.end_ns});
  }
  cursor.CloseUntil(time_ns);
}

void HostWalk::AddOwnCode(uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts) {
  for (const ThreadWait& wait : facts_.waits.Within(thread, from_ns, to_ns)) {
    AddByRange(Cause::kHost, thread, from_ns, wait.start_ns, parts);
    from_ns = std::max(from_ns, wait.start_ns);
    AddWait(wait, thread, from_ns, std::min(to_ns, wait.end_ns), parts);
    from_ns = wait.end_ns;
  }
  AddByRange(Cause::kHost, thread, from_ns, to_ns, parts);
}

// A thread that waits to be told what to do is held up by what that other one does.
void HostWalk::AddWait(const ThreadWait& wait, uint32_t thread, int64_t from_ns, int64_t to_ns,
                       std::vector<Part>* parts) {
  if (wait.told_by == kNone || followed_ == kMostToldInTurn) {
    const Cause cause = wait.is_mpi ? Cause::kMpi : Cause::kOs;
    return AddByRange((untold_ & MaskOf(cause)) == kNoCause ? cause : Cause::kHost, thread, from_ns, to_ns, parts);
  }
  ++followed_;
  AddHost(wait.told_by, from_ns, to_ns, parts);
  --followed_;
}

void HostWalk::AddByRange(Cause cause, uint32_t thread, int64_t from_ns, int64_t to_ns, std::vector<Part>* parts) {
  const Cursor& cursor = cursors_[thread];
  while (from_ns < to_ns) {
    EnterRanges(thread, from_ns);
    int64_t end_ns = to_ns;
    NameId path;
    if (!cursor.open.empty()) {
      end_ns = std::min(end_ns, cursor.open.back().end_ns);
      path = trace_.ranges[cursor.open.back().range].path;
    }
    if (cursor.range < trace_.thread_ranges[thread].last) {
      end_ns = std::min(end_ns, trace_.ranges[cursor.range].start_ns);
    }
    parts->push_back(Part(cause, end_ns - from_ns, path));
    from_ns = end_ns;
  }
}

Cause HostWalk::CauseOf(uint32_t call) const {
  const std::vector<uint32_t>& contexts = facts_.calls_after_reset;
  if (std::ranges::binary_search(contexts, call)) return Cause::kLoad;
  switch (trace_.api_calls[call].api_class) {
    case ApiClass::kSync:
      return Cause::kSync;
    case ApiClass::kCopy:
    case ApiClass::kMemset:
      return facts_.blocking_copies[call] != 0 ? Cause::kCopy : Cause::kApi;
    case ApiClass::kMemory:
      return Cause::kMemory;
    case ApiClass::kLoad:
      return Cause::kLoad;
    case ApiClass::kOther:
    case ApiClass::kLaunch:
    case ApiClass::kQuery:
    case ApiClass::kStream:
    case ApiClass::kEvent:
    case ApiClass::kGraphLaunch:
      break;
  }
  return Cause::kApi;
}

}  // namespace gprof
