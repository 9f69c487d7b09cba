#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trace/joins.h"
#include "trace/order.h"
#include "trace/range_cursor.h"

namespace gprof {
namespace {

// A path is cut here: deep recursion would make paths grow with the square of its depth.
constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::string_view kMore = "/…";

struct RangeEnd {
  uint64_t range;
  int64_t time_ns;
  uint32_t process, thread;
};

// The n-th event of a thread closed the range; order by event, as times may be equal.
constexpr uint32_t kNeverClosed = kNone;

class RangePairing {
 public:
  explicit RangePairing(Draft& draft) : draft_(draft), trace_(draft.trace), top_(trace_.domains.size(), kNone) {}

  void Run() {
    NameDomains();
    const std::vector<Trace::Slice> slices =
        GroupBy(draft_.nvtx_events, trace_.threads.size(), [](const NvtxEvent& e) { return e.thread; });
    for (const Trace::Slice slice : slices) {
      SortNearlySorted(draft_.nvtx_events.begin() + slice.first, draft_.nvtx_events.begin() + slice.last,
                       [](const NvtxEvent& a, const NvtxEvent& b) { return a.time_ns < b.time_ns; });
      RunThread(slice);
    }
    CloseStarted();
    CloseOpen();
  }

 private:
  void RunThread(Trace::Slice slice) {
    first_range_ = static_cast<uint32_t>(trace_.ranges.size());
    closed_by_.clear();
    below_.clear();
    for (uint32_t i = slice.first; i < slice.last; ++i) Take(draft_.nvtx_events[i], i - slice.first);
    for (const uint32_t domain : touched_) top_[domain] = kNone;
    touched_.clear();
    FindParents();
    trace_.thread_ranges.push_back({first_range_, static_cast<uint32_t>(trace_.ranges.size())});
  }

  void Take(const NvtxEvent& e, uint32_t ordinal) {
    switch (e.event) {
      case trace::NvtxEvent::kMark:
        trace_.marks.push_back(
            {e.time_ns, e.thread, e.domain, e.message, e.category, e.color, e.payload, e.payload_type});
        return;
      case trace::NvtxEvent::kPush:
        Push(e);
        return;
      case trace::NvtxEvent::kPop:
        Pop(e, ordinal);
        return;
      case trace::NvtxEvent::kStart:
        started_(ProcessOf(e), e.range) = Open(e, kNone);
        return;
      case trace::NvtxEvent::kEnd:
        ends_.push_back({e.range, e.time_ns, ProcessOf(e), e.thread});
        return;
    }
    ++trace_.health.unknown_records;
  }

  uint32_t ProcessOf(const NvtxEvent& e) const { return trace_.threads[e.thread].process; }

  // Push and pop nest in each domain of a thread on its own.
  void Push(const NvtxEvent& e) {
    const uint32_t outer = top_[e.domain];
    if (outer == kNone) touched_.push_back(e.domain);
    top_[e.domain] = Open(e, outer);
  }

  void Pop(const NvtxEvent& e, uint32_t ordinal) {
    const uint32_t range = top_[e.domain];
    if (range == kNone) {
      ++trace_.health.unmatched_nvtx_ends;
      return;
    }
    NvtxRange& r = trace_.ranges[range];
    r.end_ns = e.time_ns;
    r.end_thread = e.thread;
    r.is_open = false;
    closed_by_[range - first_range_] = ordinal;
    top_[e.domain] = below_[range - first_range_];
  }

  uint32_t Open(const NvtxEvent& e, uint32_t outer) {
    const auto index = static_cast<uint32_t>(trace_.ranges.size());
    NvtxRange r;
    r.start_ns = e.time_ns;
    r.thread = e.thread;
    r.domain = e.domain;
    r.name = e.message;
    r.path = PathOf(e, outer);
    r.category = e.category;
    r.color = e.color;
    r.payload = e.payload;
    r.payload_type = e.payload_type;
    r.is_push_pop = e.event == trace::NvtxEvent::kPush;
    r.is_open = true;
    trace_.ranges.push_back(r);
    closed_by_.push_back(kNeverClosed);
    below_.push_back(outer);
    return index;
  }

  NameId PathOf(const NvtxEvent& e, uint32_t outer) {
    const NameId prefix = outer == kNone ? trace_.domains[e.domain].name : trace_.ranges[outer].path;
    if (prefix == NameId{}) return e.message;
    uint32_t& path = paths_(prefix.value, e.message.value);
    if (path == kNone) path = JoinPath(prefix, e.message).value;
    return NameId{path};
  }

  NameId JoinPath(NameId prefix, NameId name) {
    const std::string_view before = draft_.names.Text(prefix), last = draft_.names.Text(name);
    if (before.size() + 1 + last.size() <= kMaxPathBytes)
      return draft_.names.Intern(fmt::format("{}/{}", before, last));
    const bool is_cut = before.size() >= kMore.size() && before.substr(before.size() - kMore.size()) == kMore;
    return is_cut ? prefix : draft_.names.Intern(fmt::format("{}{}", before, kMore));
  }

  // The enclosing push/pop range, whatever its domain. A range that closes before another that was opened later can
  // enclose nothing that the later one does not, so it need not be looked at again.
  void FindParents() {
    enclosing_.clear();
    for (uint32_t i = first_range_; i < trace_.ranges.size(); ++i) {
      NvtxRange& r = trace_.ranges[i];
      if (!r.is_push_pop) continue;
      const uint32_t closed = closed_by_[i - first_range_];
      while (!enclosing_.empty() && closed_by_[enclosing_.back() - first_range_] < closed) enclosing_.pop_back();
      if (!enclosing_.empty()) {
        r.parent = enclosing_.back();
        const uint16_t depth = trace_.ranges[r.parent].depth;
        r.depth = depth == std::numeric_limits<uint16_t>::max() ? depth : static_cast<uint16_t>(depth + 1);
      }
      enclosing_.push_back(i);
    }
  }

  // Ends may be on other threads, and may be read before their start: chunks come in any order.
  void CloseStarted() {
    SortNearlySorted(ends_.begin(), ends_.end(),
                     [](const RangeEnd& a, const RangeEnd& b) { return a.time_ns < b.time_ns; });
    for (const RangeEnd& end : ends_) {
      const uint32_t range = started_.Find(end.process, end.range);
      if (range == kNone || !trace_.ranges[range].is_open) {
        ++trace_.health.unmatched_nvtx_ends;
        continue;
      }
      NvtxRange& r = trace_.ranges[range];
      r.end_ns = std::max(r.start_ns, end.time_ns);
      r.end_thread = end.thread;
      r.is_open = false;
    }
  }

  void CloseOpen() {
    for (NvtxRange& r : trace_.ranges) {
      if (!r.is_open) continue;
      r.end_ns = std::max(r.start_ns, trace_.processes[trace_.threads[r.thread].process].end_ns);
      ++trace_.health.open_ranges;
    }
  }

  // A domain whose record was lost is not the default domain.
  void NameDomains() {
    for (NvtxDomain& d : trace_.domains) {
      if (d.id != 0 && d.name == NameId{}) d.name = draft_.names.Intern(fmt::format("<domain #{}>", d.id));
    }
  }

  Draft& draft_;
  Trace& trace_;
  std::vector<uint32_t> top_;        // innermost open range of the thread, by domain
  std::vector<uint32_t> touched_;    // domains whose top_ is to be reset
  std::vector<uint32_t> closed_by_;  // by range of the thread
  std::vector<uint32_t> below_;      // by range of the thread: the range around it in its domain
  std::vector<uint32_t> enclosing_;
  std::vector<RangeEnd> ends_;
  FlatIndex started_;  // (process, range id)
  FlatIndex paths_;    // (path around, name)
  uint32_t first_range_ = 0;
};

}  // namespace

void PairRanges(Draft& draft) {
  RangePairing(draft).Run();
}

void LinkCallsToRanges(Trace& trace) {
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    const Trace::Slice calls = trace.thread_api_calls[thread];
    RangeCursor ranges(trace, thread);
    for (uint32_t i = calls.first; i < calls.last; ++i) {
      trace.api_calls[i].range = ranges.At(trace.api_calls[i].start_ns);
    }
  }
}

}  // namespace gprof
