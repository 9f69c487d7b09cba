#include "trace/join/nvtx_pairing.h"

#include <algorithm>

namespace gprof {
namespace {

constexpr uint32_t kNeverClosed = kNone;

// More traits with one path (other colours, say) have an index of their own.
constexpr int kFewTraits = 8;

}  // namespace

bool MayMissStarts(const Trace& trace, uint32_t process) {
  const Trace::Slice captures = trace.process_captures[process];
  if (captures.first == captures.last) return false;
  return captures.last - captures.first > 1 || trace.captures[captures.first].trigger != trace::CaptureTrigger::kBegin;
}

ThreadPairing::ThreadPairing(UnjoinedTrace& unjoined)
    : unjoined_(unjoined),
      trace_(unjoined.trace),
      items_(unjoined.trace.ranges.items().data()),
      range_payloads_(unjoined.trace.ranges.payloads().empty() ? nullptr : unjoined.trace.ranges.payloads().data()),
      top_(trace_.domains.size(), kNone),
      is_touched_(trace_.domains.size()) {}

PairedThread ThreadPairing::Run(uint32_t thread, const Places& places, Trace::Slice events, Trace::Slice payloads) {
  paired_ = {};
  paired_.ranges = {places.ranges.first, places.ranges.first};
  paired_.marks = {places.marks.first, places.marks.first};
  paired_.first_traits = places.first_traits;
  range_count_ = places.ranges.last - places.ranges.first;
  payloads_ = payloads;
  process_ = trace_.threads[thread].process;
  captures_ = unjoined_.process_range_captures[process_];
  path_index_ = traits_index_ = {};
  const NvtxEvents::Item* const items = unjoined_.nvtx_events.items().data();
  const bool may_nest_only = MayNestOnly();
  for (uint32_t i = events.first; i < events.last; ++i) {
    if (may_nest_only) i = TakeNested(i, events.last);
    if (i == events.last) break;
    const NvtxEvents::Item& item = items[i];
    const Event e{item.time_ns(), item.details, item.traits, unjoined_.nvtx_events.TraitsAt(item.traits)};
    if (IsInNextCapture(e)) EnterCapture(e, i - events.first);
    Take(e, i - events.first);
  }
  ForEachOpen([&](uint32_t range) { paired_.open.push_back(range); });
  return std::move(paired_);
}

// Of all domains; nothing is open after it.
template <class F>
void ThreadPairing::ForEachOpen(F&& f) {
  for (const uint32_t domain : touched_) {
    for (uint32_t range = top_[domain]; range != kNone; range = items_[range].parent) f(range);
    top_[domain] = kNone;
    is_touched_[domain] = 0;
  }
  touched_.clear();
  open_domains_ = 0;
}

// The event that ends a capture, or begins one, may be a little late or early for it.
inline bool ThreadPairing::IsInNextCapture(const Event& e) const {
  if (captures_.last - captures_.first <= 1) return false;
  const bool is_begin =
      e.traits.event == trace::NvtxEvent::kPush && e.time_ns > unjoined_.range_captures[captures_.first].end_ns;
  return is_begin || e.time_ns >= unjoined_.range_captures[captures_.first + 1].start_ns;
}

// Straight to the capture of the event, as nothing is open once the first pause is passed: what is open at the end of a
// capture may have ended before the next one, and its end is not known.
void ThreadPairing::EnterCapture(const Event& e, uint32_t ordinal) {
  ForEachOpen([&](uint32_t range) {
    Close(range, std::max(items_[range].start_ns(), unjoined_.range_captures[captures_.first].end_ns), ordinal);
    items_[range].is_cut = true;
  });
  const auto begin = unjoined_.range_captures.begin();
  const auto after = std::partition_point(begin + captures_.first + 1, begin + captures_.last,
                                          [&](const Capture& c) { return c.start_ns <= e.time_ns; });
  captures_.first = std::max(captures_.first + 1, static_cast<uint32_t>(after - begin) - 1);
  if (IsInNextCapture(e)) ++captures_.first;
}

// The payloads of an event have its time, thread and domain. Those that nobody will look at again are left behind, as
// many may have the same time.
inline void ThreadPairing::Attach(const Event& e, uint32_t range, uint32_t mark) {
  const auto raw = [this](uint32_t i) -> RawPayload& { return unjoined_.raw_payloads[i]; };
  const auto is_done = [&](const RawPayload& p) {
    return p.time_ns < e.time_ns || p.of_range != kNone || p.of_mark != kNone;
  };
  while (payloads_.first < payloads_.last && is_done(raw(payloads_.first))) ++payloads_.first;
  for (uint32_t i = payloads_.first; i < payloads_.last && raw(i).time_ns == e.time_ns; ++i) {
    RawPayload& p = raw(i);
    if (p.domain != e.traits.domain || p.event != e.traits.event || p.of_range != kNone || p.of_mark != kNone) continue;
    p.of_range = range;
    p.of_mark = mark;
  }
}

// Nothing but pushes and pops that belong together has to be thought of at most events.
bool ThreadPairing::MayNestOnly() const {
  return captures_.last - captures_.first <= 1 && payloads_.first == payloads_.last && range_payloads_ == nullptr;
}

// Pushes and pops of the domain of the first event, as good as all there are, as Take would: with what changes at each
// of them in registers. Returns where something else comes: another domain, an end without its beginning, or what is
// neither.
uint32_t ThreadPairing::TakeNested(uint32_t first, uint32_t last) {
  const NvtxEvents::Item* const events = unjoined_.nvtx_events.items().data();
  const NvtxEvents::Traits* const traits = &unjoined_.nvtx_events.TraitsAt(0);
  PackedRanges::Item* const items = items_;
  const uint32_t domain = traits[events[first].traits].domain;
  uint32_t top = top_[domain], next = paired_.ranges.last;
  const bool is_other_open = open_domains_ != (top == kNone ? 0 : 1);
  if (is_other_open || is_touched_[domain] == 0 || paired_.first_mixed != kNone) return first;
  const NvtxEvents::Item *event = events + first, *const end = events + last;
  for (; event != end; ++event) {
    const NvtxEvents::Traits& f = traits[event->traits];
    if (f.domain != domain) break;
    if (f.event == trace::NvtxEvent::kPush) {
      WriteOpen(items, next, event->time_ns(), event->traits, top, true);
      top = next++;
      continue;
    }
    if (f.event != trace::NvtxEvent::kPop || top == kNone) break;
    PackedRanges::Item& r = items[top];
    const auto duration_ns = static_cast<uint64_t>(event->time_ns() - r.start_ns());
    if (!packed_detail::Times::FitsDuration(duration_ns)) break;
    r.SetDuration(duration_ns);
    r.is_open = false;
    top = r.parent;
  }
  top_[domain] = top;
  paired_.ranges.last = next;
  open_domains_ = top == kNone ? 0 : 1;
  return static_cast<uint32_t>(event - events);
}

inline void ThreadPairing::Take(const Event& e, uint32_t ordinal) {
  switch (e.traits.event) {
    case trace::NvtxEvent::kMark:
      Attach(e, kNone, paired_.marks.last);
      trace_.marks[paired_.marks.last++] = {e.time_ns,        unjoined_.nvtx_events.DetailsAt(e.details).payload,
                                            e.traits.thread,  e.traits.domain,
                                            e.traits.message, e.traits.category,
                                            e.traits.color,   e.traits.payload_type};
      return;
    case trace::NvtxEvent::kPush:
      Push(e);
      return;
    case trace::NvtxEvent::kPop:
      Pop(e, ordinal);
      return;
    case trace::NvtxEvent::kStart:
      paired_.started.emplace_back(unjoined_.nvtx_events.DetailsAt(e.details).range, Open(e, kNone));
      return;
    case trace::NvtxEvent::kEnd:
      paired_.ends.push_back({unjoined_.nvtx_events.DetailsAt(e.details).range, e.time_ns, process_, e.traits.thread});
      return;
  }
  ++paired_.unknown_events;
}

// Push and pop nest in each domain of a thread on its own.
inline void ThreadPairing::Push(const Event& e) {
  uint32_t& top = top_[e.traits.domain];
  if (top == kNone) EnterDomain(e.traits.domain);
  top = Open(e, top);
  Attach(e, top, kNone);
}

inline void ThreadPairing::Pop(const Event& e, uint32_t ordinal) {
  uint32_t& top = top_[e.traits.domain];
  const uint32_t range = top;
  if (range == kNone) {
    paired_.unmatched_ends += MayMissStarts(trace_, process_) ? 0 : 1;
    return;
  }
  Close(range, e.time_ns, ordinal);
  top = items_[range].parent;
  open_domains_ -= top == kNone ? 1 : 0;
  Attach(e, range, kNone);
}

inline uint32_t ThreadPairing::Open(const Event& e, uint32_t outer) {
  const uint32_t index = paired_.ranges.last++;
  WriteOpen(items_, index, e.time_ns, e.traits_index, outer, e.traits.event == trace::NvtxEvent::kPush);
  if (range_payloads_ != nullptr) range_payloads_[index] = unjoined_.nvtx_events.DetailsAt(e.details).payload;
  return index;
}

inline void ThreadPairing::Close(uint32_t range, int64_t end_ns, uint32_t ordinal) {
  PackedRanges::Item& r = items_[range];
  const int64_t duration_ns = end_ns - r.start_ns();
  r.is_open = false;
  if (packed_detail::Times::IsLong(duration_ns)) {
    paired_.long_ends.emplace_back(range, end_ns);
  } else {
    r.SetDuration(static_cast<uint64_t>(duration_ns));
  }
  if (paired_.first_mixed != kNone) paired_.closed_by[Local(range)] = ordinal;
}

void ThreadPairing::EnterDomain(uint32_t domain) {
  if (is_touched_[domain] == 0) {
    is_touched_[domain] = 1;
    touched_.push_back(domain);
  }
  if (++open_domains_ == 2 && paired_.first_mixed == kNone) BeginMixing();
}

// Until now the range around another one was that of its domain. Which one it is from here on, depends on what closes
// first.
void ThreadPairing::BeginMixing() {
  paired_.first_mixed = paired_.ranges.last;
  paired_.closed_by.assign(range_count_, kNeverClosed);
  for (const uint32_t domain : touched_) {
    for (uint32_t range = top_[domain]; range != kNone; range = items_[range].parent)
      paired_.open_before.push_back(range);
  }
  std::reverse(paired_.open_before.begin(), paired_.open_before.end());
}

// `items` are those of the model, in a register of who calls this.
[[gnu::always_inline]] inline void ThreadPairing::WriteOpen(PackedRanges::Item* items, uint32_t index, int64_t start_ns,
                                                            uint32_t of_event, uint32_t outer, bool is_push_pop) {
  PackedRanges::Item r;
  r.SetStart(start_ns);
  r.parent = outer;
  uint32_t traits_around = kNone;
  if (outer != kNone) {
    r.depth = DepthWithin(items[outer].depth);
    traits_around = items[outer].traits;
  }
  r.traits = TraitsOf(of_event, traits_around);
  r.is_push_pop = is_push_pop;
  r.is_open = true;
  items[index] = r;
}

// Traits of events are those of one thread and one domain.
[[gnu::always_inline]] inline uint32_t ThreadPairing::TraitsOf(uint32_t of_event, uint32_t traits_around) {
  uint32_t& recent = recent_traits_({uint64_t{traits_around} << 32 | of_event});
  if (recent == kNone) [[unlikely]]
    recent = FindOrAddTraits(of_event, traits_around);
  return recent;
}

uint32_t ThreadPairing::FindOrAddTraits(uint32_t of_event, uint32_t traits_around) {
  const uint32_t path_around =
      traits_around == kNone ? kNone : paired_.traits[traits_around - paired_.first_traits].path;
  return paired_.first_traits + FindOrAddTraits({of_event, kNone, path_around, kNone});
}

// All but the path is known of them. Returns their place.
uint32_t ThreadPairing::FindOrAddTraits(const PairedThread::Traits& traits) {
  constexpr uint64_t kIsDomain = uint64_t{1} << 32;
  const NvtxEvents::Traits& event = unjoined_.nvtx_events.TraitsAt(traits.of_event);
  const uint64_t around = traits.outer == kNone ? kIsDomain | trace_.domains[event.domain].name.value : traits.outer;
  std::vector<PairedThread::Traits>& all = paired_.traits;
  const auto index = static_cast<uint32_t>(all.size());
  uint32_t* place = &path_index_(around, event.message.value);
  const uint32_t path = *place == kNone ? index : *place;
  for (int looked_at = 0; *place != kNone; ++looked_at) {
    if (looked_at == kFewTraits) {
      place = &traits_index_(path, traits.of_event);
      if (*place != kNone) return *place;
      break;
    }
    if (all[*place].of_event == traits.of_event) return *place;
    place = &all[*place].next;
  }
  *place = index;
  all.push_back({traits.of_event, path, traits.outer, kNone});
  return index;
}

}  // namespace gprof
