#include "trace/load/fill_places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gprof/prefetch.h"
#include "trace/file/column_scan.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"

namespace gprof {
namespace {

void Append(const std::vector<uint32_t>& from, std::vector<uint32_t>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

bool Decode(const ColumnView& column, std::size_t count, std::unique_ptr<uint64_t[]>* out) {
  if (*out == nullptr) *out = std::make_unique_for_overwrite<uint64_t[]>(trace::kMaxChunkRecords);
  return DecodeNumbers(column, out->get(), count);
}

bool IsOneGroup(const BulkBlock& block) {
  const auto is_like_first = [&](const BulkBlock::Common& c) { return c.group == block.commons[0].group; };
  return std::all_of(block.commons.begin(), block.commons.end(), is_like_first);
}

// Which of block.commons each record is of.
const uint16_t* WhichCommons(const BulkBlock& block) {
  static constexpr std::array<uint16_t, trace::kMaxChunkRecords> kAllTheFirst{};
  return block.which.empty() ? kAllTheFirst.data() : block.which.data();
}

constexpr bool kIsLittle = std::endian::native == std::endian::little;

// Fields that are neighbours in memory, as one number.
constexpr uint64_t Both(uint32_t first, uint32_t second) {
  return kIsLittle ? uint64_t{second} << 32 | first : uint64_t{first} << 32 | second;
}
// The same of a time, whose low half is the first.
constexpr uint64_t Halves(uint64_t ns) { return Both(static_cast<uint32_t>(ns), static_cast<uint32_t>(ns >> 32)); }
// Four bytes, all but one of them 0.
constexpr uint32_t OneOfFour(unsigned place, uint64_t byte) {
  return static_cast<uint32_t>(byte & 0xFF) << 8 * (kIsLittle ? place : 3 - place);
}

// Write all of an item as a new one has it, what is not known until the joins included. With a store for each field the
// loop over items would wait for its stores.
[[gnu::always_inline]] inline void Write(PackedOps::Item* op, uint64_t start_ns, uint64_t duration_ns, uint32_t traits,
                                         uint32_t correlation) {
  const uint64_t words[] = {Halves(start_ns), Both(static_cast<uint32_t>(duration_ns), traits),
                            Both(correlation, OneOfFour(0, duration_ns >> 32))};
  static_assert(sizeof words == sizeof *op);
  std::memcpy(static_cast<void*>(op), words, sizeof words);
}
[[gnu::always_inline]] inline void Write(PackedCalls::Item* call, uint64_t start_ns, uint64_t duration_ns,
                                         uint32_t traits, uint32_t correlation) {
  const uint64_t words[] = {Halves(start_ns), Both(static_cast<uint32_t>(duration_ns), traits),
                            Both(correlation, kNone)};
  const uint32_t last = OneOfFour(2, duration_ns >> 32);
  static_assert(sizeof words + sizeof last == sizeof *call);
  std::memcpy(static_cast<void*>(call), words, sizeof words);
  std::memcpy(reinterpret_cast<unsigned char*>(call) + sizeof words, &last, sizeof last);
}
[[gnu::always_inline]] inline void Write(NvtxEvents::Item* event, uint64_t time_ns, uint32_t traits) {
  const uint64_t words[] = {Halves(time_ns), Both(traits, kNone)};
  static_assert(sizeof words == sizeof *event);
  std::memcpy(static_cast<void*>(event), words, sizeof words);
}

void SetCorrelation(PackedOps::Item* op, uint32_t correlation) { op->call_or_correlation = correlation; }
void SetCorrelation(PackedCalls::Item* call, uint32_t correlation) { call->correlation = correlation; }

constexpr uint64_t kMostUsualStartNs = kMaxTimeNs / 2;
bool IsUsualStart(uint64_t start_ns) { return start_ns != 0 && start_ns <= kMostUsualStartNs; }

}  // namespace

void PlaceFiller::Take(const BulkChunk& chunk, DamagedBlocks* damaged) {
  process_ = chunk.process;
  const auto* body = reinterpret_cast<const unsigned char*>(chunk.stored.data());
  // The first pass could unpack it, so if it cannot be unpacked now, somebody has changed the file since.
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

void PlaceFiller::Finish() {
  Trace& t = unjoined_.trace;
  for (const UnusualTime& x : unusual_calls_) t.api_calls.SetTimes(x.place, x.start_ns, x.end_ns);
  for (const UnusualTime& x : unusual_ops_) t.ops.SetTimes(x.place, x.start_ns, x.end_ns);
  for (const auto& [place, details] : details_) {
    unjoined_.nvtx_events.items()[place].details = static_cast<uint32_t>(unjoined_.nvtx_events.details().size());
    unjoined_.nvtx_events.details().push_back(details);
  }
  Append(call_runs_, &unjoined_.call_runs);
  Append(op_runs_, &unjoined_.op_runs);
  Append(event_runs_, &unjoined_.event_runs);
  for (uint32_t process = 0; process < totals_.size(); ++process) {
    unjoined_.Touch(process, totals_[process].times);
    unjoined_.correlations[process].Add(totals_[process].correlations);
  }
  unjoined_.launched_by_device += launched_by_device_;
  t.health.bad_times += bad_times_;
}

bool PlaceFiller::TakeBlock(const trace::BlockView& view, const BulkBlock& block) {
  bool is_good = false;
  trace::ForEachKind([&](auto* null_record) {
    using R = std::decay_t<decltype(*null_record)>;
    if constexpr (kIsBulk<R>) {
      if (R::kKind == block.kind) is_good = TakeRecords<R>(view, block);
    }
  });
  return is_good;
}

template <class R>
bool PlaceFiller::TakeRecords(const trace::BlockView& view, const BulkBlock& block) {
  BlockColumns<R> columns;
  const std::size_t count = block.record_count;
  has_order_ = false;
  if (!columns.Find(view)) return false;
  if constexpr (std::is_same_v<R, trace::NvtxRecord>) {
    const ColumnView &ranges = columns.Of(&R::range), &payloads = columns.Of(&R::payload);
    if (!Decode(columns.Of(&R::time_ns), count, &starts_)) return false;
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
      PackedCalls& calls = unjoined_.trace.api_calls;
      TakeTimes<false>(block, &calls, &unusual_calls_, &call_runs_, CallComesBefore(calls));
      totals_[process_].correlations.Add(ExtentOf(correlations_.get(), count));
    } else {
      PackedOps& ops = unjoined_.trace.ops;
      TakeTimes<true>(block, &ops, &unusual_ops_, &op_runs_, OpComesBefore(ops));
    }
    if constexpr (std::is_same_v<R, trace::KernelRecord>) {
      if (block.has_device_launches) return TakeDeviceLaunches(columns.Of(&R::is_device_launched), count);
    }
  }
  return true;
}

// Calls or operations; those have to have times. They are brought in order while they are in the cache, each group by
// itself. Not where some are without their times, which must stay where they are: then all are put in order later.
template <bool kMustHaveTimes, class Packed, class Less>
void PlaceFiller::TakeTimes(const BulkBlock& block, Packed* packed, std::vector<UnusualTime>* unusual,
                            std::vector<uint32_t>* runs, Less less) {
  const bool is_one_group = IsOneGroup(block);
  PlanTraits(block);
  const Written written = WriteUsual(block, is_one_group, packed->items().data());
  if (written == Written::kNo) WriteAny<kMustHaveTimes>(block, packed, unusual);
  for (const Trace::Slice run : RunsOf(block)) {
    runs->push_back(run.first);
    if (written == Written::kInOrder || !unusual->empty()) continue;
    SortNearlySorted(packed->items().begin() + run.first, packed->items().begin() + run.last, less);
  }
}

// As good as all blocks: times fit into items as they are, and are in an order that can be planned.
template <class Item>
PlaceFiller::Written PlaceFiller::WriteUsual(const BulkBlock& block, bool is_one_group, Item* items) {
  const std::size_t count = block.record_count;
  const uint64_t* const starts = starts_.get();
  if (!Item::FitsDuration(AllBits(durations_.get(), count))) return Written::kNo;
  if (!is_one_group) return WriteGroups(block, items);
  Item* const first = items + block.commons[0].place;
  if (IsAscending(starts, count)) {
    if (!IsUsualStart(starts[0]) || !IsUsualStart(starts[count - 1])) return Written::kNo;
    return WriteItems<false>(block, 0, count, first) ? Written::kInOrder : Written::kOutOfOrder;
  }
  if (WriteRuns(block, first)) return Written::kInOrder;
  has_order_ = order_.Plan(starts, count);
  if (!has_order_) return Written::kNo;
  return WriteItems<true>(block, 0, count, first) ? Written::kInOrder : Written::kOutOfOrder;
}

// Neighbours of one run at a time, where there are few runs.
template <class Item>
bool PlaceFiller::WriteRuns(const BulkBlock& block, Item* to) {
  const uint64_t* const starts = starts_.get();
  bool are_usual = true;
  return runs_.Find(starts, block.record_count) && runs_.ForEachSection([&](std::size_t first, std::size_t last) {
    are_usual = are_usual && IsUsualStart(starts[first]) && IsUsualStart(starts[last - 1]);
    if (are_usual) WriteItems<false>(block, first, last, to);
    to += last - first;
  }) && are_usual;
}

// Neighbours of one group at a time, where there are some: a thread mostly gives its calls many at once.
template <class Item>
PlaceFiller::Written PlaceFiller::WriteGroups(const BulkBlock& block, Item* items) {
  constexpr std::size_t kFew = 8, kSome = 16;
  const uint64_t* const starts = starts_.get();
  const BulkBlock::Common* const commons = block.commons.data();
  const uint16_t* const which = block.which.data();
  bool is_in_order = true;
  BeginGroups(block);
  for (std::size_t first = 0, last = 0, sections = 0; first < block.record_count; first = last) {
    const BulkBlock::Common& common = commons[which[first]];
    for (last = first + 1; last < block.record_count && commons[which[last]].group == common.group;) ++last;
    if (++sections > kSome && last < sections * kFew) return Written::kNo;
    if (!IsAscending(starts + first, last - first) || !IsUsualStart(starts[first]) || !IsUsualStart(starts[last - 1])) {
      return Written::kNo;
    }
    uint32_t& place = next_[common.group];
    const bool is_first = place == common.place;
    is_in_order = is_in_order && (is_first || static_cast<uint64_t>(items[place - 1].start_ns()) < starts[first]);
    WriteItems<false>(block, first, last, items + place);
    place += static_cast<uint32_t>(last - first);
  }
  return is_in_order ? Written::kInOrder : Written::kOutOfOrder;
}

// From `first` to before `last`, of the order that was planned or as they are, which is ascending then. False: two of
// them begin at the same time.
template <bool kIsPlanned, class Item>
bool PlaceFiller::WriteItems(const BulkBlock& block, std::size_t first, std::size_t last, Item* to) {
  const uint64_t *const starts = starts_.get(), *const durations = durations_.get();
  const uint64_t *const correlations = correlations_.get(), *const order = order_.numbers();
  const uint32_t* const traits = traits_.data();
  const uint16_t* const which = WhichCommons(block);
  const auto index_of = [&](std::size_t k) { return kIsPlanned ? order[k] & BlockOrder::kIndexBits : k; };
  uint64_t last_ns = 0, before_ns = 0;
  bool are_same = false;
  for (std::size_t k = first; k < last; ++k, ++to) {
    const std::size_t i = index_of(k);
    const uint64_t start_ns = starts[i], duration_ns = durations[i];
    PrefetchForWriting(to);
    Write(to, start_ns, duration_ns, traits[which[i]], static_cast<uint32_t>(correlations[i]));
    last_ns = std::max(last_ns, start_ns + duration_ns);
    if (kIsPlanned) are_same |= start_ns == std::exchange(before_ns, start_ns);
  }
  totals_[process_].times.Add(starts[index_of(first)], last_ns);
  return !are_same;
}

// Times of any kind.
template <bool kMustHaveTimes, class Packed>
void PlaceFiller::WriteAny(const BulkBlock& block, Packed* packed, std::vector<UnusualTime>* unusual) {
  using Item = typename Packed::Item;
  Item* const items = packed->items().data();
  const uint64_t *starts = starts_.get(), *durations = durations_.get(), *correlations = correlations_.get();
  ForEachPlace(block, [&](std::size_t i, uint32_t traits, std::size_t place) {
    const uint64_t start_ns = starts[i], duration_ns = durations[i];
    Item& item = items[place];
    item = {};
    item.traits = traits;
    SetCorrelation(&item, static_cast<uint32_t>(correlations[i]));
    if (IsUsualStart(start_ns) && Item::FitsDuration(duration_ns)) {
      item.SetStart(static_cast<int64_t>(start_ns));
      item.SetDuration(duration_ns);
      totals_[process_].times.Add(start_ns, start_ns + duration_ns);
    } else if (kMustHaveTimes && !HasTimes(start_ns, duration_ns)) {
      item.traits = kNoTimes;
      ++bad_times_;
    } else {
      TakeUnusualTime(start_ns, duration_ns, place, unusual);
    }
  });
}

void PlaceFiller::TakeUnusualTime(uint64_t start_ns, uint64_t duration_ns, std::size_t place,
                                  std::vector<UnusualTime>* unusual) {
  const int64_t end_ns = EndNs(start_ns, duration_ns);
  unusual->push_back({static_cast<uint32_t>(place), TimeNs(start_ns), end_ns});
  totals_[process_].times.Add(static_cast<uint64_t>(TimeNs(start_ns)), static_cast<uint64_t>(end_ns));
}

// put(i, traits, place) for every record of the block, in the order that was planned for it.
template <class F>
[[gnu::always_inline]] inline void PlaceFiller::ForEachPlace(const BulkBlock& block, F&& put) {
  const BulkBlock::Common* const commons = block.commons.data();
  const uint16_t* const which = WhichCommons(block);
  const std::size_t first = commons[0].place, count = block.record_count;
  if (!IsOneGroup(block)) return ForEachPlaceOfGroups(block, put);
  if (!has_order_) {
    for (std::size_t i = 0; i < count; ++i) put(i, commons[which[i]].traits, first + i);
    return;
  }
  const uint64_t* const order = order_.numbers();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = order[k] & BlockOrder::kIndexBits;
    put(i, commons[which[i]].traits, first + k);
  }
}

template <class F>
[[gnu::always_inline]] inline void PlaceFiller::ForEachPlaceOfGroups(const BulkBlock& block, F&& put) {
  const std::vector<BulkBlock::Common>& commons = block.commons;
  BeginGroups(block);
  uint32_t group = commons[0].group, place = commons[0].place;  // neighbours mostly are of one group
  for (std::size_t i = 0; i < block.record_count; ++i) {
    const BulkBlock::Common& c = commons[block.which[i]];
    if (c.group != group) {
      next_[group] = place;
      group = c.group;
      place = next_[group];
    }
    put(i, c.traits, place++);
  }
  next_[group] = place;
}

void PlaceFiller::PlanTraits(const BulkBlock& block) {
  traits_.clear();
  for (const BulkBlock::Common& c : block.commons) traits_.push_back(c.traits);
}

void PlaceFiller::BeginGroups(const BulkBlock& block) {
  for (const BulkBlock::Common& c : block.commons) {
    if (next_.size() <= c.group) next_.resize(c.group + 1);
    next_[c.group] = c.place;
  }
}

// The places of a block whose places were filled last, by group.
std::vector<Trace::Slice> PlaceFiller::RunsOf(const BulkBlock& block) const {
  const uint32_t first = block.commons[0].place;
  if (IsOneGroup(block)) return {{first, first + block.record_count}};
  std::vector<Trace::Slice> runs;
  for (const BulkBlock::Common& c : block.commons) runs.push_back({c.place, next_[c.group]});
  std::sort(runs.begin(), runs.end(), [](Trace::Slice a, Trace::Slice b) { return a.first < b.first; });
  const auto is_same = [](Trace::Slice a, Trace::Slice b) { return a.first == b.first; };
  runs.erase(std::unique(runs.begin(), runs.end(), is_same), runs.end());
  return runs;
}

bool PlaceFiller::TakeDeviceLaunches(const ColumnView& is_device_launched, std::size_t count) {
  std::vector<uint64_t> is_launched(count);
  if (!DecodeNumbers(is_device_launched, is_launched.data(), count)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const bool has_no_call =
        IsLaunchedByDevice(static_cast<uint8_t>(is_launched[i]), static_cast<uint32_t>(correlations_[i]));
    if (has_no_call && HasTimes(starts_[i], durations_[i])) ++launched_by_device_;
  }
  return true;
}

// As good as all blocks: those of one thread, each later than the one before. False: it is none of these.
bool PlaceFiller::WriteUsualEvents(const BulkBlock& block) {
  const std::size_t count = block.record_count;
  const uint64_t* const times_ns = starts_.get();
  if (!IsOneGroup(block) || !IsAscending(times_ns, count)) return false;
  if (times_ns[0] == 0 || times_ns[count - 1] > kMaxTimeNs) return false;
  PlanTraits(block);
  const uint32_t place = block.commons[0].place, *const traits = traits_.data();
  const uint16_t* const which = WhichCommons(block);
  NvtxEvents::Item* const to = unjoined_.nvtx_events.items().data() + place;
  for (std::size_t i = 0; i < count; ++i) {
    Write(to + i, times_ns[i], traits[which[i]]);
  }
  event_runs_.push_back(place);
  totals_[process_].times.Add(times_ns[0], times_ns[count - 1]);
  return true;
}

template <bool kMayHaveDetails>
void PlaceFiller::TakeEvents(const BulkBlock& block) {
  if (!kMayHaveDetails && WriteUsualEvents(block)) return;
  has_unusual_events_ = true;
  const uint64_t *times_ns = starts_.get(), *ranges = durations_.get(), *payloads = correlations_.get();
  NvtxEvents::Item* const items = unjoined_.nvtx_events.items().data();
  TimeExtent times;
  ForEachPlace(
      block, [&](std::size_t i, uint32_t traits, std::size_t place) __attribute__((always_inline)) {
        const uint64_t time_ns = std::min(times_ns[i], kMaxTimeNs);
        NvtxEvents::Item item;
        item.SetTime(static_cast<int64_t>(time_ns));
        item.traits = traits;
        items[place] = item;
        if (kMayHaveDetails && (ranges[i] != 0 || payloads[i] != 0)) {
          details_.emplace_back(static_cast<uint32_t>(place), NvtxEvents::Details{ranges[i], payloads[i]});
        }
        times.Add(time_ns, time_ns);
      });
  totals_[process_].times.Add(times);
}

}  // namespace gprof
