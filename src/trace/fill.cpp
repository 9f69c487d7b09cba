#include "trace/fill.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include "base/parallel.h"
#include "gprof/prefetch.h"
#include "trace/columns.h"
#include "trace/huge_pages.h"
#include "trace/order.h"
#include "trace/saturate.h"
#include "trace/unpack.h"

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

// Gives every group of records in every block its place. group_of(facts) is the group. Returns the slices of the groups.
template <class F>
std::vector<Trace::Slice> PlanPlaces(std::vector<BulkChunk>& chunks, Target target, std::size_t groups, F&& group_of) {
  std::vector<Trace::Slice> slices(groups);
  ForEachBlock(chunks, target, [&](BulkBlock& block) {
    for (BulkBlock::Common& common : block.commons) {
      common.group = group_of(common.facts);
      slices[common.group].last += common.count;
    }
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

// A time that does not fit into an item as it is.
struct UnusualTime {
  uint32_t place = 0;
  int64_t start_ns = 0, end_ns = 0;
};

// What was found in the records of a process.
struct ProcessTotals {
  int64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
  CorrelationExtent correlations;

  void Touch(uint64_t start_ns, uint64_t end_ns) {
    if (start_ns > 0) first_ns = std::min(first_ns, static_cast<int64_t>(start_ns));
    last_ns = std::max(last_ns, static_cast<int64_t>(end_ns));
  }
  void Add(const ProcessTotals& other) {
    first_ns = std::min(first_ns, other.first_ns);
    last_ns = std::max(last_ns, other.last_ns);
    correlations.Add(other.correlations);
  }
};

constexpr uint64_t kWorthAThread = 100'000;  // records
// Of a record in its block, in a number whose other bits say where it belongs.
constexpr unsigned kIndexWidth = 14;
constexpr uint64_t kIndexBits = (uint64_t{1} << kIndexWidth) - 1, kNoIndexBits = ~uint64_t{0} >> kIndexWidth;
static_assert(trace::kMaxChunkRecords <= kIndexBits + 1);
constexpr uint32_t kNoTimes = kNone;  // facts of an operation without usable times, until those are taken out

// Fills the places of some chunks. What cannot be put there at once is kept until all are done.
class Filler {
 public:
  explicit Filler(Draft& draft) : draft_(draft), totals_(draft.trace.processes.size()) {}

  void Take(const BulkChunk& chunk, DamagedBlocks* damaged) {
    process_ = chunk.process;
    const auto* body = reinterpret_cast<const unsigned char*>(chunk.stored.data());
    // It could be unpacked for the survey: somebody has changed the file since where it cannot be now.
    bool is_good = true;
    if (chunk.is_packed) {
      is_good = unpacker_->Unpack(body, chunk.stored.size(), chunk.unpacked_bytes, &unpacked_);
      body = unpacked_.data();
    }
    for (std::size_t i = 0; i < chunk.blocks.size(); ++i) {
      const BulkBlock& block = chunk.blocks[i];
      const trace::BlockView view{static_cast<uint16_t>(block.kind), block.record_count, block.column_count,
                                  trace::ByteReader(body + block.first_byte, block.size_bytes)};
      if (!is_good || !TakeBlock(view, block)) damaged->insert({chunk.offset, i});
    }
  }

  // Once all places are filled.
  void Finish() {
    Trace& t = draft_.trace;
    for (const UnusualTime& x : unusual_calls_) t.api_calls.SetTimes(x.place, x.start_ns, x.end_ns);
    for (const UnusualTime& x : unusual_ops_) t.ops.SetTimes(x.place, x.start_ns, x.end_ns);
    for (const auto& [place, details] : details_) {
      draft_.nvtx_events.items()[place].details = static_cast<uint32_t>(draft_.nvtx_events.details().size());
      draft_.nvtx_events.details().push_back(details);
    }
    Append(call_runs_, &draft_.call_runs);
    Append(op_runs_, &draft_.op_runs);
    for (uint32_t process = 0; process < totals_.size(); ++process) {
      draft_.Touch(process, totals_[process].first_ns, totals_[process].last_ns);
      draft_.correlations[process].Add(totals_[process].correlations);
    }
    draft_.launched_by_device += launched_by_device_;
    t.health.bad_times += bad_times_;
  }

  // Every block is in order by itself: not where records got their times at the end, or are taken out.
  bool HasCallsInRuns() const { return unusual_calls_.empty(); }
  bool HasOpsInRuns() const { return unusual_ops_.empty() && bad_times_ == 0; }

 private:
  using Numbers = std::unique_ptr<uint64_t[]>;

  bool TakeBlock(const trace::BlockView& view, const BulkBlock& block) {
    bool is_good = false;
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if constexpr (kIsBulk<R>) {
        if (R::kKind == block.kind) is_good = TakeRecords<R>(view, block);
      }
    });
    return is_good;
  }

  static void Append(const std::vector<uint32_t>& from, std::vector<uint32_t>* to) {
    to->insert(to->end(), from.begin(), from.end());
  }

  static bool Decode(const ColumnView& column, std::size_t count, Numbers* out) {
    if (*out == nullptr) *out = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
    return DecodeNumbers(column, out->get(), count);
  }

  static bool IsOneGroup(const BulkBlock& block) {
    const auto is_like_first = [&](const BulkBlock::Common& c) { return c.group == block.commons[0].group; };
    return std::all_of(block.commons.begin(), block.commons.end(), is_like_first);
  }

  // put(i, facts, place) for every record of the block, in the order that was planned for it.
  template <class F>
  [[gnu::always_inline]] void ForEachPlace(const BulkBlock& block, F&& put) {
    static constexpr uint16_t kFirst = 0;
    const BulkBlock::Common* const commons = block.commons.data();
    const uint16_t* const which = block.which.empty() ? &kFirst : block.which.data();
    const std::size_t index_bits = block.which.empty() ? 0 : ~std::size_t{0};
    const std::size_t first = commons[0].place, count = block.record_count;
    if (!IsOneGroup(block)) return ForEachPlaceOfGroups(block, put);
    if (!has_order_) {
      for (std::size_t i = 0; i < count; ++i) put(i, commons[which[i & index_bits]].facts, first + i);
      return;
    }
    const uint64_t* const order = order_.get();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = order[k] & kIndexBits;
      put(i, commons[which[i & index_bits]].facts, first + k);
    }
  }

  template <class F>
  [[gnu::always_inline]] void ForEachPlaceOfGroups(const BulkBlock& block, F&& put) {
    const std::vector<BulkBlock::Common>& commons = block.commons;
    for (const BulkBlock::Common& c : commons) {
      if (next_.size() <= c.group) next_.resize(c.group + 1);
      next_[c.group] = c.place;
    }
    uint32_t group = commons[0].group, place = commons[0].place;  // neighbours mostly are of one group
    for (std::size_t i = 0; i < block.record_count; ++i) {
      const BulkBlock::Common& c = commons[block.which[i]];
      if (c.group != group) {
        next_[group] = place;
        group = c.group;
        place = next_[group];
      }
      put(i, c.facts, place++);
    }
    next_[group] = place;
  }

  template <class R>
  bool TakeRecords(const trace::BlockView& view, const BulkBlock& block) {
    BlockColumns<R> columns;
    const std::size_t count = block.record_count;
    if (!columns.Find(view)) return false;
    if constexpr (std::is_same_v<R, trace::NvtxRecord>) {
      const ColumnView &ranges = columns.Of(&R::range), &payloads = columns.Of(&R::payload);
      if (!Decode(columns.Of(&R::time_ns), count, &starts_)) return false;
      has_order_ = false;
      if (IsZero(ranges) && IsZero(payloads)) {
        TakeEvents<false>(block);
        return true;
      }
      if (!Decode(ranges, count, &durations_) || !Decode(payloads, count, &correlations_)) return false;
      TakeEvents<true>(block);
    } else {
      if (!Decode(columns.Of(&R::start_ns), count, &starts_) ||
          !Decode(columns.Of(&R::duration_ns), count, &durations_) ||
          !Decode(columns.Of(&R::correlation), count, &correlations_)) {
        return false;
      }
      if constexpr (std::is_same_v<R, trace::ApiRecord>) {
        PackedCalls& calls = draft_.trace.api_calls;
        const bool is_in_order = PlanOrder(block);
        TakeTimes<false>(block, &calls, &unusual_calls_);
        NoteRuns(block, &call_runs_);
        if (!is_in_order && unusual_calls_.empty()) Order(block, calls.items(), CallComesBefore(calls));
        TakeCorrelations(count);
      } else {
        PackedOps& ops = draft_.trace.ops;
        const bool is_in_order = PlanOrder(block);
        TakeTimes<true>(block, &ops, &unusual_ops_);
        NoteRuns(block, &op_runs_);
        if (!is_in_order && unusual_ops_.empty()) Order(block, ops.items(), OpComesBefore(ops));
      }
      if constexpr (std::is_same_v<R, trace::KernelRecord>) {
        if (block.has_device_launches) return TakeDeviceLaunches(columns.Of(&R::is_device_launched), count);
      }
    }
    return true;
  }

  // Records of one group are brought in the order of their starts before they are written: what is moved for that is one
  // number for each. True: no two of them start at the same time, so that there is nothing more to order them by.
  bool PlanOrder(const BulkBlock& block) {
    has_order_ = false;
    const uint64_t *first = starts_.get(), *last = first + block.record_count;
    if (std::adjacent_find(first, last, std::greater_equal<>()) == last) return true;
    // Those without their times stay where they are, and are not within reach of any other.
    constexpr uint64_t kReach = kNoIndexBits / 2;
    if (!IsOneGroup(block) || *first > kMaxTimeNs / 4) return false;
    const uint64_t low_ns = std::max(*first, kReach + 1) - kReach;
    if (order_ == nullptr) order_ = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
    uint64_t* const order = order_.get();
    uint64_t all_ns = 0;
    for (std::size_t i = 0; i < block.record_count; ++i) {
      const uint64_t ns = first[i] - low_ns;
      all_ns |= ns;
      order[i] = ns << kIndexWidth | i;
    }
    has_order_ = all_ns <= kNoIndexBits;
    if (!has_order_) return false;
    SortNearlySorted(order, order + block.record_count, std::less<>());
    const auto has_same_start = [](uint64_t a, uint64_t b) { return (a ^ b) <= kIndexBits; };
    return std::adjacent_find(order, order + block.record_count, has_same_start) == order + block.record_count;
  }

  static bool IsUsualStart(uint64_t start_ns) { return start_ns != 0 && start_ns <= kMaxTimeNs / 2; }

  // Calls or operations; those have to have times.
  template <bool kMustHaveTimes, class Packed>
  void TakeTimes(const BulkBlock& block, Packed* packed, std::vector<UnusualTime>* unusual) {
    using Item = typename Packed::Item;
    Item* const items = packed->items().data();
    const uint64_t *starts = starts_.get(), *durations = durations_.get(), *correlations = correlations_.get();
    uint64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
    ForEachPlace(block, [&](std::size_t i, uint32_t facts, std::size_t place) __attribute__((always_inline)) {
      const uint64_t start_ns = starts[i], duration_ns = durations[i];
      Item& item = items[place];
      PrefetchForWriting(&item);
      item = {};
      item.facts = facts;
      item.correlation = static_cast<uint32_t>(correlations[i]);
      if (!IsUsualStart(start_ns) || !Item::FitsDuration(duration_ns)) [[unlikely]] {
        if (kMustHaveTimes && !HasTimes(start_ns, duration_ns)) {
          item.facts = kNoTimes;
          ++bad_times_;
        } else {
          TakeUnusualTime(start_ns, duration_ns, place, unusual);
        }
        return;
      }
      item.SetStart(static_cast<int64_t>(start_ns));
      item.SetDuration(duration_ns);
      first_ns = std::min(first_ns, start_ns);
      last_ns = std::max(last_ns, start_ns + duration_ns);
    });
    totals_[process_].Touch(first_ns, last_ns);
  }

  void TakeUnusualTime(uint64_t start_ns, uint64_t duration_ns, std::size_t place, std::vector<UnusualTime>* unusual) {
    const int64_t end_ns = EndNs(start_ns, duration_ns);
    unusual->push_back({static_cast<uint32_t>(place), TimeNs(start_ns), end_ns});
    totals_[process_].Touch(static_cast<uint64_t>(TimeNs(start_ns)), static_cast<uint64_t>(end_ns));
  }

  void NoteRuns(const BulkBlock& block, std::vector<uint32_t>* run_starts) const {
    for (const Trace::Slice run : RunsOf(block)) run_starts->push_back(run.first);
  }

  // Brings the records of a block in order while they are in the cache, each group by itself. Not where some are without
  // their times, which must stay where they are: then all are put in order later.
  template <class Items, class Less>
  void Order(const BulkBlock& block, Items& items, Less less) const {
    for (const Trace::Slice run : RunsOf(block)) {
      SortNearlySorted(items.begin() + run.first, items.begin() + run.last, less);
    }
  }

  // The places of a block whose places were filled last, by group.
  std::vector<Trace::Slice> RunsOf(const BulkBlock& block) const {
    const uint32_t first = block.commons[0].place;
    if (IsOneGroup(block)) return {{first, first + block.record_count}};
    std::vector<Trace::Slice> runs;
    for (const BulkBlock::Common& c : block.commons) runs.push_back({c.place, next_[c.group]});
    std::sort(runs.begin(), runs.end(), [](Trace::Slice a, Trace::Slice b) { return a.first < b.first; });
    const auto is_same = [](Trace::Slice a, Trace::Slice b) { return a.first == b.first; };
    runs.erase(std::unique(runs.begin(), runs.end(), is_same), runs.end());
    return runs;
  }

  void TakeCorrelations(std::size_t count) {
    const uint64_t* const correlations = correlations_.get();
    CorrelationExtent extent;
    for (std::size_t i = 0; i < count; ++i) {
      const auto correlation = static_cast<uint32_t>(correlations[i]);
      extent.low = std::min(extent.low, correlation - 1);  // 0, for none, becomes the highest of all
      extent.high = std::max(extent.high, correlation);
      extent.count += correlation == 0 ? 0 : 1;
    }
    if (extent.count != 0) ++extent.low;
    totals_[process_].correlations.Add(extent);
  }

  // No call of the host launched them.
  bool TakeDeviceLaunches(const ColumnView& is_device_launched, std::size_t count) {
    std::vector<uint64_t> is_launched(count);
    if (!DecodeNumbers(is_device_launched, is_launched.data(), count)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool has_no_call = static_cast<uint8_t>(is_launched[i]) != 0 && static_cast<uint32_t>(correlations_[i]) == 0;
      if (has_no_call && HasTimes(starts_[i], durations_[i])) ++launched_by_device_;
    }
    return true;
  }

  template <bool kMayHaveDetails>
  void TakeEvents(const BulkBlock& block) {
    const uint64_t *times_ns = starts_.get(), *ranges = durations_.get(), *payloads = correlations_.get();
    NvtxEvents::Item* const items = draft_.nvtx_events.items().data();
    uint64_t first_ns = std::numeric_limits<int64_t>::max(), last_ns = 0;
    ForEachPlace(block, [&](std::size_t i, uint32_t facts, std::size_t place) __attribute__((always_inline)) {
      const uint64_t time_ns = std::min(times_ns[i], kMaxTimeNs);
      NvtxEvents::Item item;
      item.SetTime(static_cast<int64_t>(time_ns));
      item.facts = facts;
      items[place] = item;
      if (kMayHaveDetails && (ranges[i] != 0 || payloads[i] != 0)) AddDetails(place, {ranges[i], payloads[i]});
      first_ns = std::min(first_ns, time_ns == 0 ? first_ns : time_ns);
      last_ns = std::max(last_ns, time_ns);
    });
    totals_[process_].Touch(first_ns, last_ns);
  }

  void AddDetails(std::size_t place, NvtxEvents::Details details) {
    details_.emplace_back(static_cast<uint32_t>(place), details);
  }

  Draft& draft_;
  uint32_t process_ = 0;
  std::unique_ptr<Unpacker> unpacker_ = std::make_unique<Unpacker>();
  std::vector<unsigned char> unpacked_;
  Numbers starts_, durations_, correlations_;  // of the block; of NVTX events times, ranges and payloads
  Numbers order_;                              // of the records of the block, in their lowest bits
  bool has_order_ = false;                     // else they are taken as they come
  std::vector<uint32_t> next_;                 // place of a block's next record, by group
  std::vector<UnusualTime> unusual_calls_, unusual_ops_;
  std::vector<uint32_t> call_runs_, op_runs_;  // where records that are in order begin
  std::vector<std::pair<uint32_t, NvtxEvents::Details>> details_;  // of the event at a place
  std::vector<ProcessTotals> totals_;                              // by process
  uint64_t bad_times_ = 0, launched_by_device_ = 0;
};

void LeaveOutOpsWithoutTimes(Draft& draft) {
  Trace& t = draft.trace;
  if (t.health.bad_times == 0) return;
  std::erase_if(t.ops.items(), [](const PackedOps::Item& op) { return op.facts == kNoTimes; });
  t.device_ops = GroupBy(t.ops.items(), t.devices.size(),
                         [&](const PackedOps::Item& op) { return t.ops.FactsOf(op).device; });
}

void CountCalls(Draft& draft, std::vector<BulkChunk>& chunks) {
  draft.calls_of_facts.assign(draft.trace.api_calls.FactsCount(), 0);
  ForEachBlock(chunks, Target::kCalls, [&](const BulkBlock& block) {
    for (const BulkBlock::Common& common : block.commons) draft.calls_of_facts[common.facts] += common.count;
  });
}

std::size_t CountRanges(const Draft& draft, std::vector<BulkChunk>& chunks) {
  std::size_t count = 0;
  ForEachBlock(chunks, Target::kEvents, [&](const BulkBlock& block) {
    for (const BulkBlock::Common& common : block.commons) {
      const trace::NvtxEvent event = draft.nvtx_events.FactsAt(common.facts).event;
      count += event == trace::NvtxEvent::kPush || event == trace::NvtxEvent::kStart ? common.count : 0;
    }
  });
  return count;
}

// The blocks of the file in any order, on all cores: each has its places for itself. Ranges that will be paired side by
// side need their places before that; on one core and on two they are not.
void FillPlaces(Draft& draft, std::vector<BulkChunk>& chunks, std::vector<Filler>& fillers, DamagedBlocks* damaged) {
  const std::size_t ranges = fillers.size() > 2 ? CountRanges(draft, chunks) : 0;
  std::atomic<std::size_t> next{0};
  std::vector<DamagedBlocks> found(fillers.size());
  ForEachSideBySide(fillers.size() + 1, fillers.size(), [&](std::size_t part) {
    if (part == 0) {
      PackedRanges::Items& items = draft.trace.ranges.items();
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

void Finish(std::vector<Filler>& fillers, Draft& draft) {
  for (Filler& filler : fillers) filler.Finish();
  const auto sort_or_forget = [&](std::vector<uint32_t>& runs, bool (Filler::*has_runs)() const) {
    const bool all = std::all_of(fillers.begin(), fillers.end(), [&](const Filler& f) { return (f.*has_runs)(); });
    all ? std::sort(runs.begin(), runs.end()) : runs.clear();
  };
  sort_or_forget(draft.call_runs, &Filler::HasCallsInRuns);
  sort_or_forget(draft.op_runs, &Filler::HasOpsInRuns);
  LeaveOutOpsWithoutTimes(draft);
}

}  // namespace

bool FillBulk(std::vector<BulkChunk> chunks, Draft& draft, DamagedBlocks* damaged) {
  if (chunks.empty()) return true;
  Trace& t = draft.trace;
  t.thread_api_calls = PlanPlaces(chunks, Target::kCalls, t.threads.size(),
                                  [&](uint32_t facts) { return t.api_calls.FactsAt(facts).thread; });
  t.device_ops = PlanPlaces(chunks, Target::kOps, t.devices.size(),
                            [&](uint32_t facts) { return t.ops.FactsAt(facts).device; });
  draft.thread_events = PlanPlaces(chunks, Target::kEvents, t.threads.size(),
                                   [&](uint32_t facts) { return draft.nvtx_events.FactsAt(facts).thread; });
  Resize(t.api_calls.items(), t.thread_api_calls);
  Resize(t.ops.items(), t.device_ops);
  Resize(draft.nvtx_events.items(), draft.thread_events);
  CountCalls(draft, chunks);
  const std::size_t known_damaged = damaged->size();
  const bool is_large = t.record_count >= kWorthAThread;
  std::vector<Filler> fillers;
  for (std::size_t i = is_large ? std::min(UsableCores(), chunks.size()) : 1; i > 0; --i) fillers.emplace_back(draft);
  if (fillers.size() > 1) {
    TouchHuge(t.api_calls.items(), fillers.size());
    TouchHuge(t.ops.items(), fillers.size());
    TouchHuge(draft.nvtx_events.items(), fillers.size());
  }
  FillPlaces(draft, chunks, fillers, damaged);
  if (damaged->size() != known_damaged) return false;
  Finish(fillers, draft);
  return true;
}

}  // namespace gprof
