#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "trace/join/join.h"
#include "trace/join/nvtx_pairing.h"
#include "trace/load/list_slices.h"
#include "trace/load/order.h"
#include "trace/model/payload.h"
#include "trace/model/range_names.h"

namespace gprof {
namespace {

// A path is cut here: those of deep recursion, or of ranges that are never popped, would take the square of the depth.
constexpr std::size_t kMaxPathBytes = 4096;
constexpr uint32_t kMaxPathLevels = 256;
constexpr std::string_view kMore = "…";  // the last level of a path that is cut

constexpr uint32_t kCut = kMaxPathLevels + 1;

// Of a range, and how many ranges it has in it.
struct Path {
  NameId text;
  uint32_t levels;  // kCut from where it was cut on
};

// Those of a thread together, in order of time.
std::vector<Trace::Slice> GroupPayloads(UnjoinedTrace& unjoined) {
  std::vector<RawPayload>& raw = unjoined.raw_payloads;
  auto slices = GroupBy(raw, unjoined.trace.threads.size(), [](const RawPayload& p) { return p.thread; });
  for (const Trace::Slice slice : slices) {
    SortNearlySorted(raw.begin() + slice.first, raw.begin() + slice.last,
                     [](const RawPayload& a, const RawPayload& b) { return a.time_ns < b.time_ns; });
  }
  return slices;
}

class RangePairing {
 public:
  RangePairing(UnjoinedTrace& unjoined, std::size_t cores)
      : unjoined_(unjoined), trace_(unjoined.trace), cores_(cores) {}

  void Run() {
    FindRangeCaptures(unjoined_);
    NameDomains();
    threads_.resize(trace_.threads.size());
    payloads_ = GroupPayloads(unjoined_);
    if (PlanRanges()) {
      PairSideBySide();
    } else {
      PairOneByOne();
    }
    AddTraits();
    unjoined_.nvtx_events = {};
    CloseStarted();
    for (const PairedThread& paired : threads_) CloseOpen(paired);
    AttachToStarted();
  }

 private:
  static bool IsBegin(trace::NvtxEvent event) {
    return event == trace::NvtxEvent::kPush || event == trace::NvtxEvent::kStart;
  }

  void SortEvents(uint32_t thread) {
    NvtxEvents::Items& events = unjoined_.nvtx_events.items();
    const Trace::Slice slice = unjoined_.thread_events[thread];
    SortSlice(events, slice, unjoined_.event_runs,
              [](const NvtxEvents::Item& a, const NvtxEvents::Item& b) { return a.time_ns() < b.time_ns(); });
  }

  // Gives the ranges and marks of threads their places. FillBulk has made room for all ranges where there are cores for
  // it: true.
  bool PlanRanges() {
    uint32_t first = 0, first_mark = 0;
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      const EventCounts& counts = unjoined_.thread_event_counts[thread];
      threads_[thread].ranges = {std::exchange(first, first + counts.ranges), first};
      threads_[thread].marks = {std::exchange(first_mark, first_mark + counts.marks), first_mark};
    }
    trace_.marks.resize(first_mark);
    const bool has_room = first != 0 && first == trace_.ranges.size();
    if (!has_room) {
      ReserveHuge(trace_.ranges.items(), first);
      trace_.ranges.items().resize(first);
    }
    if (HavePayloads()) trace_.ranges.payloads().resize(first);
    return has_room;
  }

  bool HavePayloads() {
    const NvtxEvents& events = unjoined_.nvtx_events;
    const auto has_payload = [&](const NvtxEvents::Item& e) {
      return e.details != kNone && IsBegin(events.TraitsAt(e.traits).event) && events.DetailsAt(e.details).payload != 0;
    };
    const NvtxEvents::Items& items = unjoined_.nvtx_events.items();
    return events.HasDetails() && std::any_of(items.begin(), items.end(), has_payload);
  }

  void PairSideBySide() {
    ShareOut(threads_.size(), cores_, [&](const auto& take) {
      ThreadPairing pairing(unjoined_);
      for (std::size_t i = take(); i < threads_.size(); i = take()) Pair(static_cast<uint32_t>(i), 0, pairing);
    });
    uint32_t first_traits = 0;
    for (PairedThread& paired : threads_) {
      NamePaths(&paired);
      paired.first_traits = first_traits;
      first_traits += static_cast<uint32_t>(paired.traits.size());
    }
    ForEachSideBySide(threads_.size(), cores_, [&](std::size_t thread) {
      const PairedThread& paired = threads_[thread];
      PackedRanges::Item* const items = trace_.ranges.items().data();
      for (uint32_t i = paired.ranges.first; i < paired.ranges.last; ++i) items[i].traits += paired.first_traits;
      Enclose(&threads_[thread]);
    });
    for (PairedThread& paired : threads_) Join(&paired);
  }

  void PairOneByOne() {
    ThreadPairing pairing(unjoined_);
    uint32_t first_traits = 0;
    for (uint32_t thread = 0; thread < threads_.size(); ++thread) {
      PairedThread& paired = threads_[thread];
      Pair(thread, first_traits, pairing);
      first_traits += static_cast<uint32_t>(paired.traits.size());
      NamePaths(&paired);
      Enclose(&paired);
      Join(&paired);
    }
  }

  void Pair(uint32_t thread, uint32_t first_traits, ThreadPairing& pairing) {
    SortEvents(thread);
    PairedThread& paired = threads_[thread];
    paired = pairing.Run(thread, {paired.ranges, paired.marks, first_traits}, unjoined_.thread_events[thread],
                         payloads_[thread]);
  }

  // Traits have the name of their path in the end. In order of threads, as names are numbered.
  void NamePaths(PairedThread* paired) {
    std::vector<Path> paths;
    paths.reserve(paired->traits.size());
    for (PairedThread::Traits& f : paired->traits) {
      if (f.path != paths.size()) {
        paths.push_back(paths[f.path]);
      } else {
        const NvtxEvents::Traits& event = unjoined_.nvtx_events.TraitsAt(f.of_event);
        const Path around = f.outer == kNone ? Path{trace_.domains[event.domain].name, 0} : paths[f.outer];
        paths.push_back(PathWithin(around, WithoutCounter(event.message)));
      }
      f.path = paths.back().text.value;
    }
  }

  // Those of all threads at once, in as much room as they need.
  void AddTraits() {
    std::size_t count = 0;
    for (const PairedThread& p : threads_) count += p.traits.size() + p.open.size() + p.started.size();
    trace_.ranges.ReserveTraits(count);
    for (PairedThread& paired : threads_) {
      for (const PairedThread::Traits& f : paired.traits) {
        const NvtxEvents::Traits& event = unjoined_.nvtx_events.TraitsAt(f.of_event);
        PackedRanges::Traits traits;
        traits.thread = traits.end_thread = event.thread;
        traits.domain = event.domain;
        traits.name = event.message;
        traits.path = NameId{f.path};
        traits.category = event.category;
        traits.color = event.color;
        traits.payload_type = event.payload_type;
        trace_.ranges.AddTraits(traits);
      }
      paired.traits = {};
    }
  }

  // The name that all instances of the range have in common.
  NameId WithoutCounter(NameId name) {
    uint32_t& common = common_names_(name.value, 0);
    if (common == kNone) common = unjoined_.names.Intern(NameOfAllInstances(unjoined_.names.Text(name))).value;
    return NameId{common};
  }

  Path PathWithin(const Path& around, NameId name) {
    if (around.levels == kCut) return around;
    if (around.text == NameId{}) return {name, 1};
    const bool is_cut = around.levels == kMaxPathLevels || !Fits(around.text, name);
    uint32_t& text = paths_(around.text.value, is_cut ? kNone : name.value);
    if (text == kNone) text = JoinPath(around.text, is_cut ? kMore : unjoined_.names.Text(name)).value;
    return {NameId{text}, is_cut ? kCut : around.levels + 1};
  }

  bool Fits(NameId prefix, NameId name) const {
    return unjoined_.names.Text(prefix).size() + 1 + unjoined_.names.Text(name).size() <= kMaxPathBytes;
  }

  NameId JoinPath(NameId prefix, std::string_view name) {
    return unjoined_.names.Intern(fmt::format("{}/{}", unjoined_.names.Text(prefix), name));
  }

  // The enclosing push/pop range, whatever its domain. A range that closes before another that was opened later can
  // enclose nothing that the later one does not, so it need not be looked at again.
  void Enclose(PairedThread* paired) {
    const uint32_t first = paired->ranges.first;
    const std::vector<uint32_t>& closed_by = paired->closed_by;
    PackedRanges::Item* const items = trace_.ranges.items().data();
    std::vector<uint32_t> enclosing = std::move(paired->open_before);
    for (uint32_t i = paired->first_mixed; i < paired->ranges.last; ++i) {
      PackedRanges::Item& r = items[i];
      if (!r.is_push_pop) continue;
      const uint32_t closed = closed_by[i - first];
      while (!enclosing.empty() && closed_by[enclosing.back() - first] < closed) enclosing.pop_back();
      r.parent = enclosing.empty() ? kNone : enclosing.back();
      r.depth = enclosing.empty() ? uint16_t{0} : DepthWithin(items[r.parent].depth);
      enclosing.push_back(i);
    }
    paired->closed_by = {};
  }

  // In order of threads: what lies one behind the other, or may be of several of them.
  void Join(PairedThread* paired) {
    const auto thread = static_cast<std::size_t>(paired - threads_.data());
    for (const auto& [range, end_ns] : paired->long_ends) trace_.ranges.SetEndNs(range, end_ns);
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
      if (range == kNone || !trace_.ranges.items()[range].is_open) {
        trace_.health.unmatched_nvtx_ends += MayMissStarts(trace_, end.process) ? 0 : 1;
        continue;
      }
      Close(range, end.time_ns);
      SetEndThread(range, end.thread);
    }
  }

  void CloseOpen(const PairedThread& paired) {
    for (const uint32_t range : paired.open) CloseOpen(range);
    for (const auto& [id, range] : paired.started) {
      if (trace_.ranges.items()[range].is_open) CloseOpen(range);
    }
  }

  void CloseOpen(uint32_t range) {
    const NvtxRange r = trace_.ranges[range];
    const uint32_t process = trace_.threads[r.thread].process;
    if (const std::optional<int64_t> end_ns = EndOfRanges(unjoined_, process, r.start_ns)) {
      Close(range, *end_ns);
      trace_.ranges.items()[range].is_cut = true;
      return;
    }
    trace_.ranges.SetEndNs(range, std::max(r.start_ns, trace_.processes[process].end_ns));
    SetEndThread(range, kNone);
    ++trace_.health.open_ranges;
  }

  void Close(uint32_t range, int64_t end_ns) {
    PackedRanges::Item& r = trace_.ranges.items()[range];
    trace_.ranges.SetEndNs(range, std::max(r.start_ns(), end_ns));
    r.is_open = false;
  }

  // Most end on the thread that they began on, as their traits say.
  void SetEndThread(uint32_t range, uint32_t thread) {
    uint32_t& traits = trace_.ranges.items()[range].traits;
    PackedRanges::Traits f = trace_.ranges.TraitsAt(traits);
    if (f.end_thread == thread) return;
    uint32_t& other = ended_elsewhere_(traits, thread);
    if (other == kNone) {
      f.end_thread = thread;
      other = trace_.ranges.AddTraits(f);
    }
    traits = other;
  }

  void AttachToStarted() {
    for (RawPayload& p : unjoined_.raw_payloads) {
      if (p.event != trace::NvtxEvent::kStart && p.event != trace::NvtxEvent::kEnd) continue;
      p.of_range = started_.Find(trace_.threads[p.thread].process, p.range);
    }
  }

  // A domain whose record was lost is not the default domain.
  void NameDomains() {
    for (NvtxDomain& d : trace_.domains) {
      if (d.id != 0 && d.name == NameId{}) d.name = unjoined_.names.Intern(fmt::format("<domain #{}>", d.id));
    }
  }

  UnjoinedTrace& unjoined_;
  Trace& trace_;
  std::size_t cores_;
  std::vector<PairedThread> threads_;
  std::vector<Trace::Slice> payloads_;  // by thread
  std::vector<RangeEnd> ends_;
  FlatIndex started_;          // (process, range id)
  FlatIndex ended_elsewhere_;  // (traits, thread): the same traits with that end
  FlatIndex paths_;            // (path around, name)
  FlatIndex common_names_;     // (name, 0): the name without what counts its instances
};

}  // namespace

void PairRanges(UnjoinedTrace& unjoined, std::size_t cores) { RangePairing(unjoined, cores).Run(); }

void SortMarks(UnjoinedTrace& unjoined) {
  std::vector<NvtxMark>& marks = unjoined.trace.marks;
  const auto earlier = [](const NvtxMark& a, const NvtxMark& b) { return a.time_ns < b.time_ns; };
  if (std::is_sorted(marks.begin(), marks.end(), earlier)) return;
  std::vector<uint32_t> order(marks.size()), place(marks.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  SortNearlySorted(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return earlier(marks[a], marks[b]); });
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  order = {};
  for (RawPayload& p : unjoined.raw_payloads) {
    if (p.of_mark != kNone) p.of_mark = place[p.of_mark];
  }
  // Within the list, as a second one would be as large.
  for (uint32_t i = 0; i < place.size(); ++i) {
    while (place[i] != i) {
      const uint32_t to = place[i];
      std::swap(marks[i], marks[to]);
      std::swap(place[i], place[to]);
    }
  }
}

void DecodePayloads(UnjoinedTrace& unjoined) {
  if (unjoined.raw_payloads.empty()) return;
  SortNearlySorted(unjoined.raw_payloads.begin(), unjoined.raw_payloads.end(),
                   [](const RawPayload& a, const RawPayload& b) { return a.time_ns < b.time_ns; });
  PayloadDecoder decoder(unjoined);
  unjoined.trace.payloads.reserve(unjoined.raw_payloads.size());
  for (const RawPayload& raw : unjoined.raw_payloads) decoder.Decode(raw);
}

}  // namespace gprof
