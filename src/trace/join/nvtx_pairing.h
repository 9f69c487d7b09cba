// Pairs the NVTX events of one thread to ranges. Threads know nothing of each other until all are paired.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gprof/trace.h"
#include "trace/builder/flat_index.h"
#include "trace/builder/recent.h"
#include "trace/builder/unjoined.h"

namespace gprof {

struct RangeEnd {
  uint64_t range;
  int64_t time_ns;
  uint32_t process, thread;
};

// An end without its start says something only where starts cannot have been before the capture.
bool MayMissStarts(const Trace& trace, uint32_t process);

// What the events of a thread are, once they are paired.
struct PairedThread {
  // Of ranges, as the thread knows them: the traits of the event that opened them, and where that was.
  struct Traits {
    uint32_t of_event = kNone;
    uint32_t path = kNone;   // the first of those here that have the same path
    uint32_t outer = kNone;  // the path around
    uint32_t next = kNone;   // with the same path, and traits of another event
  };
  Trace::Slice ranges;
  uint32_t first_traits = 0;                            // the number in the model of the first of `traits`
  std::vector<Traits> traits;                           // paths in order of their first use
  std::vector<uint32_t> open;                           // ranges that were pushed and not popped
  std::vector<std::pair<uint32_t, int64_t>> long_ends;  // of ranges whose length needs the list of the model
  std::vector<std::pair<uint64_t, uint32_t>> started;   // ids and ranges, in order
  std::vector<RangeEnd> ends;
  Trace::Slice marks;
  uint64_t unknown_events = 0, unmatched_ends = 0;
  // Where ranges of more than one domain were open at a time, from the range `first_mixed` on: which event of the
  // thread closed each range (order by event, as times may be equal), and those open before.
  uint32_t first_mixed = kNone;
  std::vector<uint32_t> closed_by, open_before;
};

// Of a range in another one of that depth.
inline uint16_t DepthWithin(uint16_t depth) {
  return depth == std::numeric_limits<uint16_t>::max() ? depth : static_cast<uint16_t>(depth + 1);
}

// Pairs events of one thread after the other.
class ThreadPairing {
 public:
  explicit ThreadPairing(UnjoinedTrace& unjoined);

  // Where what the thread has will be: there is room for its ranges and marks.
  struct Places {
    Trace::Slice ranges, marks;
    uint32_t first_traits;
  };
  PairedThread Run(uint32_t thread, const Places& places, Trace::Slice events, Trace::Slice payloads);

 private:
  // All of an event that is needed each time.
  struct Event {
    int64_t time_ns;
    uint32_t details, traits_index;
    const NvtxEvents::Traits& traits;
  };

  uint32_t Local(uint32_t range) const { return range - paired_.ranges.first; }
  template <class F>
  void ForEachOpen(F&& f);
  bool IsInNextCapture(const Event& e) const;
  void EnterCapture(const Event& e, uint32_t ordinal);
  void Attach(const Event& e, uint32_t range, uint32_t mark);
  bool MayNestOnly() const;
  uint32_t TakeNested(uint32_t first, uint32_t last);
  void Take(const Event& e, uint32_t ordinal);
  void Push(const Event& e);
  void Pop(const Event& e, uint32_t ordinal);
  uint32_t Open(const Event& e, uint32_t outer);
  void Close(uint32_t range, int64_t end_ns, uint32_t ordinal);
  void EnterDomain(uint32_t domain);
  void BeginMixing();
  void WriteOpen(PackedRanges::Item* items, uint32_t index, int64_t start_ns, uint32_t of_event, uint32_t outer,
                 bool is_push_pop);
  uint32_t TraitsOf(uint32_t of_event, uint32_t traits_around);
  uint32_t FindOrAddTraits(uint32_t of_event, uint32_t traits_around);
  uint32_t FindOrAddTraits(const PairedThread::Traits& traits);

  UnjoinedTrace& unjoined_;
  Trace& trace_;
  PackedRanges::Item* items_ = nullptr;
  uint64_t* range_payloads_ = nullptr;
  PairedThread paired_;
  uint32_t range_count_ = 0;
  uint32_t process_ = kNone;
  std::vector<uint32_t> top_;      // innermost open range of the thread, by domain; `parent` is the one around it there
  std::vector<uint32_t> touched_;  // domains whose top_ may be set
  std::vector<uint8_t> is_touched_;
  uint32_t open_domains_ = 0;      // how many have an open range
  FlatIndex path_index_;           // (path around or domain, name): first traits
  FlatIndex traits_index_;         // (path, traits of the event), where a path has many
  RecentTraits<1> recent_traits_;  // traits around, and those of the event
  Trace::Slice captures_;          // of the thread's process: the one that events belong to now, and those to come
  Trace::Slice payloads_;          // of the thread: those that events to come may have
};

}  // namespace gprof
