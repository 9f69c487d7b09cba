#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "trace/joins.h"
#include "trace/order.h"
#include "trace/payload.h"

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

// Those of a thread together, in order of time.
std::vector<Trace::Slice> GroupPayloads(Draft& draft) {
  std::vector<RawPayload>& raw = draft.raw_payloads;
  const auto slices = GroupBy(raw, draft.trace.threads.size(), [](const RawPayload& p) { return p.thread; });
  for (const Trace::Slice slice : slices) {
    SortNearlySorted(raw.begin() + slice.first, raw.begin() + slice.last,
                     [](const RawPayload& a, const RawPayload& b) { return a.time_ns < b.time_ns; });
  }
  return slices;
}

// The n-th event of a thread closed the range; order by event, as times may be equal.
constexpr uint32_t kNeverClosed = kNone;

class RangePairing {
 public:
  explicit RangePairing(Draft& draft) : draft_(draft), trace_(draft.trace), top_(trace_.domains.size(), kNone) {}

  void Run() {
    NameDomains();
    const auto facts_of = [&](const NvtxEvents::Item& e) { return draft_.nvtx_events.FactsAt(e.facts); };
    const auto opens = [&](const NvtxEvents::Item& e) {
      const trace::NvtxEvent event = facts_of(e).event;
      return event == trace::NvtxEvent::kPush || event == trace::NvtxEvent::kStart;
    };
    NvtxEvents::Items& events = draft_.nvtx_events.items();
    ReserveHuge(trace_.ranges, static_cast<std::size_t>(std::count_if(events.begin(), events.end(), opens)));
    const std::vector<Trace::Slice> payloads = GroupPayloads(draft_);
    if (draft_.thread_events.empty()) {
      draft_.thread_events =
          GroupBy(events, trace_.threads.size(), [&](const NvtxEvents::Item& e) { return facts_of(e).thread; });
    }
    for (const Trace::Slice slice : draft_.thread_events) {
      SortNearlySorted(events.begin() + slice.first, events.begin() + slice.last,
                       [](const NvtxEvents::Item& a, const NvtxEvents::Item& b) { return a.time_ns() < b.time_ns(); });
      payloads_ = payloads[trace_.thread_ranges.size()];
      RunThread(slice);
    }
    draft_.nvtx_events = {};
    CloseStarted();
    CloseOpen();
    AttachToStarted();
  }

 private:
  void RunThread(Trace::Slice slice) {
    first_range_ = static_cast<uint32_t>(trace_.ranges.size());
    closed_by_.clear();
    below_.clear();
    captures_ = trace_.process_captures[trace_.threads[trace_.thread_ranges.size()].process];
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const NvtxEvent e = draft_.nvtx_events[i];
      if (IsInNextCapture(e)) EnterCapture(e, i - slice.first);
      Take(e, i - slice.first);
    }
    for (const uint32_t domain : touched_) top_[domain] = kNone;
    touched_.clear();
    FindParents();
    trace_.thread_ranges.push_back({first_range_, static_cast<uint32_t>(trace_.ranges.size())});
  }

  // The event that ends a capture, or begins one, may be a little late or early for it.
  bool IsInNextCapture(const NvtxEvent& e) const {
    if (captures_.last - captures_.first <= 1) return false;
    const bool is_begin = e.event == trace::NvtxEvent::kPush && e.time_ns > trace_.captures[captures_.first].end_ns;
    return is_begin || e.time_ns >= trace_.captures[captures_.first + 1].start_ns;
  }

  // Straight to the capture of the event, as nothing is open once the first pause is passed.
  void EnterCapture(const NvtxEvent& e, uint32_t ordinal) {
    CutRanges(trace_.captures[captures_.first].end_ns, ordinal);
    const auto begin = trace_.captures.begin();
    const auto after = std::partition_point(begin + captures_.first + 1, begin + captures_.last,
                                            [&](const Capture& c) { return c.start_ns <= e.time_ns; });
    captures_.first = std::max(captures_.first + 1, static_cast<uint32_t>(after - begin) - 1);
    if (IsInNextCapture(e)) ++captures_.first;
  }

  // What is open at the end of a capture may have ended before the next one: its end is not known.
  void CutRanges(int64_t end_ns, uint32_t ordinal) {
    for (const uint32_t domain : touched_) {
      for (uint32_t range = top_[domain]; range != kNone; range = below_[range - first_range_]) {
        NvtxRange& r = trace_.ranges[range];
        Cut(r, end_ns);
        closed_by_[range - first_range_] = ordinal;
      }
      top_[domain] = kNone;
    }
    touched_.clear();
  }

  static void Cut(NvtxRange& r, int64_t end_ns) {
    r.end_ns = std::max(r.start_ns, end_ns);
    r.end_thread = r.thread;
    r.is_open = false;
    r.is_cut = true;
  }

  // An end without its start says something only where starts cannot have been before the capture.
  void CountUnmatchedEnd(uint32_t process) {
    const Trace::Slice captures = trace_.process_captures[process];
    const bool has_all = captures.first == captures.last ||
                         (captures.last - captures.first == 1 &&
                          trace_.captures[captures.first].trigger == trace::CaptureTrigger::kBegin);
    if (has_all) ++trace_.health.unmatched_nvtx_ends;
  }

  // The payloads of an event have its time, thread and domain.
  void Attach(const NvtxEvent& e, uint32_t range, uint32_t mark) {
    const auto raw = [this](uint32_t i) -> RawPayload& { return draft_.raw_payloads[i]; };
    while (payloads_.first < payloads_.last && raw(payloads_.first).time_ns < e.time_ns) ++payloads_.first;
    for (uint32_t i = payloads_.first; i < payloads_.last && raw(i).time_ns == e.time_ns; ++i) {
      RawPayload& p = raw(i);
      if (p.domain != e.domain || p.event != e.event || p.of_range != kNone || p.of_mark != kNone) continue;
      p.of_range = range;
      p.of_mark = mark;
    }
  }

  void AttachToStarted() {
    for (RawPayload& p : draft_.raw_payloads) {
      if (p.event != trace::NvtxEvent::kStart && p.event != trace::NvtxEvent::kEnd) continue;
      p.of_range = started_.Find(trace_.threads[p.thread].process, p.range);
    }
  }

  void Take(const NvtxEvent& e, uint32_t ordinal) {
    switch (e.event) {
      case trace::NvtxEvent::kMark:
        Attach(e, kNone, static_cast<uint32_t>(trace_.marks.size()));
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
    Attach(e, top_[e.domain], kNone);
  }

  void Pop(const NvtxEvent& e, uint32_t ordinal) {
    const uint32_t range = top_[e.domain];
    if (range == kNone) return CountUnmatchedEnd(ProcessOf(e));
    NvtxRange& r = trace_.ranges[range];
    r.end_ns = e.time_ns;
    r.end_thread = e.thread;
    r.is_open = false;
    closed_by_[range - first_range_] = ordinal;
    top_[e.domain] = below_[range - first_range_];
    Attach(e, range, kNone);
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
        CountUnmatchedEnd(end.process);
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
      const uint32_t process = trace_.threads[r.thread].process;
      if (GoesOnAfterCapture(trace_, process, r.start_ns)) {
        Cut(r, EndOfRecording(trace_, process, r.start_ns));
        continue;
      }
      r.end_ns = std::max(r.start_ns, trace_.processes[process].end_ns);
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
  Trace::Slice captures_;  // of the thread's process: the one that events belong to now, and those to come
  Trace::Slice payloads_;  // of the thread: those that events to come may have
};

}  // namespace

void PairRanges(Draft& draft) {
  RangePairing(draft).Run();
}

void SortMarks(Draft& draft) {
  std::vector<NvtxMark>& marks = draft.trace.marks;
  std::vector<uint32_t> order(marks.size()), place(marks.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  SortNearlySorted(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return marks[a].time_ns < marks[b].time_ns; });
  std::vector<NvtxMark> sorted;
  sorted.reserve(marks.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(marks[order[i]]);
  }
  marks.swap(sorted);
  for (RawPayload& p : draft.raw_payloads) {
    if (p.of_mark != kNone) p.of_mark = place[p.of_mark];
  }
}

void DecodePayloads(Draft& draft) {
  if (draft.raw_payloads.empty()) return;
  SortNearlySorted(draft.raw_payloads.begin(), draft.raw_payloads.end(),
                   [](const RawPayload& a, const RawPayload& b) { return a.time_ns < b.time_ns; });
  PayloadDecoder decoder(draft);
  draft.trace.payloads.reserve(draft.raw_payloads.size());
  for (const RawPayload& raw : draft.raw_payloads) decoder.Decode(raw);
}

}  // namespace gprof
