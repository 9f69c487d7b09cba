#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "trace/joins.h"
#include "trace/order.h"
#include "trace/payload.h"
#include "trace/pieces.h"
#include "trace/recent_facts.h"

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

void Cut(NvtxRange& r, int64_t end_ns) {
  r.end_ns = std::max(r.start_ns, end_ns);
  r.end_thread = r.thread;
  r.is_open = false;
  r.is_cut = true;
}

// An end without its start says something only where starts cannot have been before the capture.
bool MayMissStarts(const Trace& t, uint32_t process) {
  const Trace::Slice captures = t.process_captures[process];
  if (captures.first == captures.last) return false;
  return captures.last - captures.first > 1 || t.captures[captures.first].trigger != trace::CaptureTrigger::kBegin;
}

// The n-th event of a thread closed the range; order by event, as times may be equal.
constexpr uint32_t kNeverClosed = kNone;

// What the events of a thread are, once they are paired. Threads know nothing of each other until all are.
struct PairedThread {
  // A path as the thread knows it: that of the range around, or the name of the domain, and the name of the range.
  struct Path {
    uint32_t outer = kNone;
    NameId domain, message;
  };
  Trace::Slice ranges;  // `path` is an index into `paths` until FinishThread
  std::vector<Path> paths;  // in order of their first use
  std::vector<uint32_t> closed_by;  // by range
  std::vector<uint32_t> open;       // ranges that were pushed and not popped
  std::vector<std::pair<uint64_t, uint32_t>> started;  // ids and ranges, in order
  std::vector<RangeEnd> ends;
  std::vector<NvtxMark> marks;
  uint64_t unknown_events = 0, unmatched_ends = 0;
};

// Pairs events of one thread after the other.
class ThreadPairing {
 public:
  explicit ThreadPairing(Draft& draft) : draft_(draft), trace_(draft.trace), top_(trace_.domains.size(), kNone) {}

  // The ranges of the thread will be `ranges`; there are none there yet, or they are to be written over.
  PairedThread Run(uint32_t thread, Trace::Slice ranges, Trace::Slice events, Trace::Slice payloads) {
    paired_ = {};
    paired_.ranges = {ranges.first, ranges.first};
    paired_.closed_by.assign(ranges.last - ranges.first, kNeverClosed);
    below_.resize(ranges.last - ranges.first);
    payloads_ = payloads;
    thread_ = thread;
    process_ = trace_.threads[thread].process;
    captures_ = trace_.process_captures[process_];
    path_index_ = {};
    const NvtxEvents::Item* const items = draft_.nvtx_events.items().data();
    for (uint32_t i = events.first; i < events.last; ++i) {
      const Event e{items[i].time_ns(), items[i].details, draft_.nvtx_events.FactsAt(items[i].facts)};
      if (IsInNextCapture(e)) EnterCapture(e, i - events.first);
      Take(e, i - events.first);
    }
    ForEachOpen([&](uint32_t range) { paired_.open.push_back(range); });
    return std::move(paired_);
  }

 private:
  // All of an event that is needed each time.
  struct Event {
    int64_t time_ns;
    uint32_t details;
    const NvtxEvents::Facts& facts;
  };

  uint32_t Local(uint32_t range) const { return range - paired_.ranges.first; }

  // Of all domains; nothing is open after it.
  template <class F>
  void ForEachOpen(F&& f) {
    for (const uint32_t domain : touched_) {
      for (uint32_t range = top_[domain]; range != kNone; range = below_[Local(range)]) f(range);
      top_[domain] = kNone;
    }
    touched_.clear();
  }

  // The event that ends a capture, or begins one, may be a little late or early for it.
  bool IsInNextCapture(const Event& e) const {
    if (captures_.last - captures_.first <= 1) return false;
    const bool is_begin = e.facts.event == trace::NvtxEvent::kPush && e.time_ns > trace_.captures[captures_.first].end_ns;
    return is_begin || e.time_ns >= trace_.captures[captures_.first + 1].start_ns;
  }

  // Straight to the capture of the event, as nothing is open once the first pause is passed: what is open at the end of a
  // capture may have ended before the next one, and its end is not known.
  void EnterCapture(const Event& e, uint32_t ordinal) {
    ForEachOpen([&](uint32_t range) {
      Cut(trace_.ranges[range], trace_.captures[captures_.first].end_ns);
      paired_.closed_by[Local(range)] = ordinal;
    });
    const auto begin = trace_.captures.begin();
    const auto after = std::partition_point(begin + captures_.first + 1, begin + captures_.last,
                                            [&](const Capture& c) { return c.start_ns <= e.time_ns; });
    captures_.first = std::max(captures_.first + 1, static_cast<uint32_t>(after - begin) - 1);
    if (IsInNextCapture(e)) ++captures_.first;
  }

  // The payloads of an event have its time, thread and domain.
  void Attach(const Event& e, uint32_t range, uint32_t mark) {
    const auto raw = [this](uint32_t i) -> RawPayload& { return draft_.raw_payloads[i]; };
    while (payloads_.first < payloads_.last && raw(payloads_.first).time_ns < e.time_ns) ++payloads_.first;
    for (uint32_t i = payloads_.first; i < payloads_.last && raw(i).time_ns == e.time_ns; ++i) {
      RawPayload& p = raw(i);
      if (p.domain != e.facts.domain || p.event != e.facts.event || p.of_range != kNone || p.of_mark != kNone) continue;
      p.of_range = range;
      p.of_mark = mark;
    }
  }

  void Take(const Event& e, uint32_t ordinal) {
    switch (e.facts.event) {
      case trace::NvtxEvent::kMark:
        Attach(e, kNone, static_cast<uint32_t>(paired_.marks.size()));
        paired_.marks.push_back({e.time_ns, e.facts.thread, e.facts.domain, e.facts.message, e.facts.category,
                                 e.facts.color, draft_.nvtx_events.DetailsAt(e.details).payload, e.facts.payload_type});
        return;
      case trace::NvtxEvent::kPush:
        Push(e);
        return;
      case trace::NvtxEvent::kPop:
        Pop(e, ordinal);
        return;
      case trace::NvtxEvent::kStart:
        paired_.started.emplace_back(draft_.nvtx_events.DetailsAt(e.details).range, Open(e, kNone));
        return;
      case trace::NvtxEvent::kEnd:
        paired_.ends.push_back({draft_.nvtx_events.DetailsAt(e.details).range, e.time_ns, process_, e.facts.thread});
        return;
    }
    ++paired_.unknown_events;
  }

  // Push and pop nest in each domain of a thread on its own.
  void Push(const Event& e) {
    uint32_t& top = top_[e.facts.domain];
    if (top == kNone) touched_.push_back(e.facts.domain);
    top = Open(e, top);
    Attach(e, top, kNone);
  }

  void Pop(const Event& e, uint32_t ordinal) {
    const uint32_t range = top_[e.facts.domain];
    if (range == kNone) {
      paired_.unmatched_ends += MayMissStarts(trace_, process_) ? 0 : 1;
      return;
    }
    NvtxRange& r = trace_.ranges[range];
    r.end_ns = e.time_ns;
    r.end_thread = e.facts.thread;
    r.is_open = false;
    paired_.closed_by[Local(range)] = ordinal;
    top_[e.facts.domain] = below_[Local(range)];
    Attach(e, range, kNone);
  }

  uint32_t Open(const Event& e, uint32_t outer) {
    const NameId path = PathOf(e.facts, outer);
    const uint32_t index = paired_.ranges.last++;
    NvtxRange& r = index == trace_.ranges.size() ? trace_.ranges.emplace_back() : trace_.ranges[index] = NvtxRange{};
    r.start_ns = e.time_ns;
    r.thread = e.facts.thread;
    r.domain = e.facts.domain;
    r.name = e.facts.message;
    r.path = path;
    r.category = e.facts.category;
    r.color = e.facts.color;
    r.payload = draft_.nvtx_events.DetailsAt(e.details).payload;
    r.payload_type = e.facts.payload_type;
    r.is_push_pop = e.facts.event == trace::NvtxEvent::kPush;
    r.is_open = true;
    below_[Local(index)] = outer;
    return index;
  }

  NameId PathOf(const NvtxEvents::Facts& facts, uint32_t outer) {
    constexpr uint64_t kIsDomain = uint64_t{1} << 32;
    const bool is_outermost = outer == kNone;
    const NameId domain = is_outermost ? trace_.domains[facts.domain].name : NameId{};
    const PairedThread::Path path{is_outermost ? kNone : trace_.ranges[outer].path.value, domain, facts.message};
    const uint64_t around = is_outermost ? kIsDomain | domain.value : path.outer;
    uint32_t& recent = recent_paths_({around, uint64_t{thread_} << 32 | path.message.value});
    if (recent == kNone) {
      uint32_t& index = path_index_(around, path.message.value);
      if (index == kNone) {
        index = static_cast<uint32_t>(paired_.paths.size());
        paired_.paths.push_back(path);
      }
      recent = index;
    }
    return NameId{recent};
  }

  Draft& draft_;
  Trace& trace_;
  PairedThread paired_;
  uint32_t thread_ = kNone, process_ = kNone;
  std::vector<uint32_t> top_;      // innermost open range of the thread, by domain
  std::vector<uint32_t> touched_;  // domains whose top_ may be set
  std::vector<uint32_t> below_;    // by range of the thread: the range around it in its domain
  FlatIndex path_index_;           // (path around or domain, name)
  RecentFacts<2> recent_paths_;    // the same, and the thread
  Trace::Slice captures_;  // of the thread's process: the one that events belong to now, and those to come
  Trace::Slice payloads_;  // of the thread: those that events to come may have
};

class RangePairing {
 public:
  RangePairing(Draft& draft, std::size_t cores) : draft_(draft), trace_(draft.trace), cores_(cores) {}

  void Run() {
    NameDomains();
    GroupEvents();
    payloads_ = GroupPayloads(draft_);
    if (PlanRanges()) {
      PairSideBySide();
    } else {
      PairOneByOne();
    }
    draft_.nvtx_events = {};
    CloseStarted();
    for (const PairedThread& paired : threads_) CloseOpen(paired);
    AttachToStarted();
  }

 private:
  static bool IsBegin(trace::NvtxEvent event) {
    return event == trace::NvtxEvent::kPush || event == trace::NvtxEvent::kStart;
  }

  void GroupEvents() {
    const std::size_t threads = trace_.threads.size();
    NvtxEvents& events = draft_.nvtx_events;
    if (draft_.thread_events.empty()) {
      draft_.thread_events = GroupBy(events.items(), threads,
                                     [&](const NvtxEvents::Item& e) { return events.FactsAt(e.facts).thread; });
    }
    threads_.resize(threads);
  }

  void SortEvents(uint32_t thread) {
    NvtxEvents::Items& events = draft_.nvtx_events.items();
    const Trace::Slice slice = draft_.thread_events[thread];
    SortNearlySorted(events.begin() + slice.first, events.begin() + slice.last,
                     [](const NvtxEvents::Item& a, const NvtxEvents::Item& b) { return a.time_ns() < b.time_ns(); });
  }

  // Gives the ranges of threads their places. FillBulk has made room for all where there are cores for it: true.
  bool PlanRanges() {
    const NvtxEvents::Items& items = draft_.nvtx_events.items();
    std::vector<uint8_t> is_begin(draft_.nvtx_events.FactsCount());
    for (uint32_t i = 0; i < is_begin.size(); ++i) is_begin[i] = IsBegin(draft_.nvtx_events.FactsAt(i).event) ? 1 : 0;
    ForEachSideBySide(threads_.size(), cores_, [&](std::size_t thread) {
      const Trace::Slice slice = draft_.thread_events[thread];
      uint32_t count = 0;
      for (uint32_t i = slice.first; i < slice.last; ++i) count += is_begin[items[i].facts];
      threads_[thread].ranges.last = count;
    });
    uint32_t first = 0;
    for (PairedThread& paired : threads_) {
      paired.ranges.first = first;
      first = paired.ranges.last += first;
    }
    return first != 0 && first == trace_.ranges.size();
  }

  void PairSideBySide() {
    ShareOut(threads_.size(), cores_, [&](const auto& take) {
      ThreadPairing pairing(draft_);
      for (std::size_t i = take(); i < threads_.size(); i = take()) Pair(static_cast<uint32_t>(i), pairing);
    });
    std::vector<std::vector<NameId>> paths;
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) paths.push_back(NamePaths(threads_[thread]));
    ForEachSideBySide(threads_.size(), cores_, [&](std::size_t thread) {
      FinishThread(&threads_[thread], paths[thread]);
    });
    for (PairedThread& paired : threads_) Join(&paired);
  }

  void PairOneByOne() {
    trace_.ranges.clear();
    ReserveHuge(trace_.ranges, threads_.empty() ? 0 : threads_.back().ranges.last);
    ThreadPairing pairing(draft_);
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
      Pair(thread, pairing);
      FinishThread(&threads_[thread], NamePaths(threads_[thread]));
      Join(&threads_[thread]);
    }
  }

  void Pair(uint32_t thread, ThreadPairing& pairing) {
    SortEvents(thread);
    PairedThread& paired = threads_[thread];
    paired = pairing.Run(thread, paired.ranges, draft_.thread_events[thread], payloads_[thread]);
  }

  // The paths of a thread. In order of threads, as names are numbered.
  std::vector<NameId> NamePaths(const PairedThread& paired) {
    std::vector<NameId> names;
    names.reserve(paired.paths.size());
    for (const PairedThread::Path& path : paired.paths) {
      const NameId prefix = path.outer == kNone ? path.domain : names[path.outer];
      names.push_back(prefix == NameId{} ? path.message : JoinedPath(prefix, path.message));
    }
    return names;
  }

  NameId JoinedPath(NameId prefix, NameId name) {
    uint32_t& path = paths_(prefix.value, name.value);
    if (path == kNone) path = JoinPath(prefix, name).value;
    return NameId{path};
  }

  NameId JoinPath(NameId prefix, NameId name) {
    const std::string_view before = draft_.names.Text(prefix), last = draft_.names.Text(name);
    if (before.size() + 1 + last.size() <= kMaxPathBytes)
      return draft_.names.Intern(fmt::format("{}/{}", before, last));
    const bool is_cut = before.size() >= kMore.size() && before.substr(before.size() - kMore.size()) == kMore;
    return is_cut ? prefix : draft_.names.Intern(fmt::format("{}{}", before, kMore));
  }

  // Paths, and the enclosing push/pop range, whatever its domain. A range that closes before another that was opened later
  // can enclose nothing that the later one does not, so it need not be looked at again.
  void FinishThread(PairedThread* paired, const std::vector<NameId>& paths) {
    const uint32_t first = paired->ranges.first;
    const std::vector<uint32_t>& closed_by = paired->closed_by;
    std::vector<uint32_t> enclosing;
    for (uint32_t i = first; i < paired->ranges.last; ++i) {
      NvtxRange& r = trace_.ranges[i];
      r.path = paths[r.path.value];
      if (!r.is_push_pop) continue;
      const uint32_t closed = closed_by[i - first];
      while (!enclosing.empty() && closed_by[enclosing.back() - first] < closed) enclosing.pop_back();
      if (!enclosing.empty()) {
        r.parent = enclosing.back();
        const uint16_t depth = trace_.ranges[r.parent].depth;
        r.depth = depth == std::numeric_limits<uint16_t>::max() ? depth : static_cast<uint16_t>(depth + 1);
      }
      enclosing.push_back(i);
    }
    paired->closed_by = {};
  }

  // In order of threads: what lies one behind the other, or may be of several of them.
  void Join(PairedThread* paired) {
    const auto thread = static_cast<std::size_t>(paired - threads_.data());
    const auto first_mark = static_cast<uint32_t>(trace_.marks.size());
    for (uint32_t i = payloads_[thread].first; i < payloads_[thread].last; ++i) {
      uint32_t& mark = draft_.raw_payloads[i].of_mark;
      if (mark != kNone) mark += first_mark;
    }
    if (trace_.marks.empty()) {
      trace_.marks.swap(paired->marks);
    } else {
      trace_.marks.insert(trace_.marks.end(), paired->marks.begin(), paired->marks.end());
    }
    paired->marks = {};
    const uint32_t process = trace_.threads[thread].process;
    for (const auto& [id, range] : paired->started) started_(process, id) = range;
    ends_.insert(ends_.end(), paired->ends.begin(), paired->ends.end());
    paired->ends = {};
    trace_.thread_ranges.push_back(paired->ranges);
    trace_.health.unknown_records += paired->unknown_events;
    trace_.health.unmatched_nvtx_ends += paired->unmatched_ends;
  }

  // Ends may be on other threads, and may be read before their start: chunks come in any order.
  void CloseStarted() {
    SortNearlySorted(ends_.begin(), ends_.end(),
                     [](const RangeEnd& a, const RangeEnd& b) { return a.time_ns < b.time_ns; });
    for (const RangeEnd& end : ends_) {
      const uint32_t range = started_.Find(end.process, end.range);
      if (range == kNone || !trace_.ranges[range].is_open) {
        trace_.health.unmatched_nvtx_ends += MayMissStarts(trace_, end.process) ? 0 : 1;
        continue;
      }
      NvtxRange& r = trace_.ranges[range];
      r.end_ns = std::max(r.start_ns, end.time_ns);
      r.end_thread = end.thread;
      r.is_open = false;
    }
  }

  void CloseOpen(const PairedThread& paired) {
    for (const uint32_t range : paired.open) CloseOpen(trace_.ranges[range]);
    for (const auto& [id, range] : paired.started) {
      if (trace_.ranges[range].is_open) CloseOpen(trace_.ranges[range]);
    }
  }

  void CloseOpen(NvtxRange& r) {
    const uint32_t process = trace_.threads[r.thread].process;
    if (GoesOnAfterCapture(trace_, process, r.start_ns)) {
      Cut(r, EndOfRecording(trace_, process, r.start_ns));
      return;
    }
    r.end_ns = std::max(r.start_ns, trace_.processes[process].end_ns);
    ++trace_.health.open_ranges;
  }

  void AttachToStarted() {
    for (RawPayload& p : draft_.raw_payloads) {
      if (p.event != trace::NvtxEvent::kStart && p.event != trace::NvtxEvent::kEnd) continue;
      p.of_range = started_.Find(trace_.threads[p.thread].process, p.range);
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
  std::size_t cores_;
  std::vector<PairedThread> threads_;
  std::vector<Trace::Slice> payloads_;  // by thread
  std::vector<RangeEnd> ends_;
  FlatIndex started_;  // (process, range id)
  FlatIndex paths_;    // (path around, name)
};

}  // namespace

void PairRanges(Draft& draft, std::size_t cores) {
  RangePairing(draft, cores).Run();
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
