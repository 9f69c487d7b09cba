// Fills the places of calls, operations and NVTX events, see bulk.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "trace/builder/unjoined.h"
#include "trace/file/block_order.h"
#include "trace/file/columns.h"
#include "trace/file/unpack.h"
#include "trace/load/bulk.h"

namespace gprof {

// Takes some chunks; each block of those knows its places. What cannot be put there at once is kept until all are done.
class PlaceFiller {
 public:
  explicit PlaceFiller(UnjoinedTrace& unjoined) : unjoined_(unjoined), totals_(unjoined.trace.processes.size()) {}

  void Take(const BulkChunk& chunk, DamagedBlocks* damaged);

  // Once all places are filled.
  void Finish();

  // Every block is in order by itself: not where records got their times at the end, or are taken out.
  bool HasCallsInRuns() const { return unusual_calls_.empty(); }
  bool HasOpsInRuns() const { return unusual_ops_.empty() && bad_times_ == 0; }
  bool HasEventsInRuns() const { return !has_unusual_events_; }

  static constexpr uint32_t kNoTimes = kNone;  // traits of an operation without usable times, until those are taken out

 private:
  using Numbers = std::unique_ptr<uint64_t[]>;
  // A time that does not fit into an item as it is.
  struct UnusualTime {
    uint32_t place = 0;
    int64_t start_ns = 0, end_ns = 0;
  };
  // What was found in the records of a process.
  struct ProcessTotals {
    TimeExtent times;
    CorrelationExtent correlations;
  };
  // Whether the records of a block are written, and whether each begins later than the one before of its group.
  enum class Written : uint8_t { kNo, kInOrder, kOutOfOrder };

  bool TakeBlock(const trace::BlockView& view, const BulkBlock& block);
  template <class R>
  bool TakeRecords(const trace::BlockView& view, const BulkBlock& block);
  template <bool kMustHaveTimes, class Packed, class Less>
  void TakeTimes(const BulkBlock& block, Packed* packed, std::vector<UnusualTime>* unusual, std::vector<uint32_t>* runs,
                 Less less);
  template <class Item>
  Written WriteUsual(const BulkBlock& block, bool is_one_group, Item* items);
  template <class Item>
  bool WriteRuns(const BulkBlock& block, Item* to);
  template <class Item>
  Written WriteGroups(const BulkBlock& block, Item* items);
  template <bool kIsPlanned, class Item>
  bool WriteItems(const BulkBlock& block, std::size_t first, std::size_t last, Item* to);
  template <bool kMustHaveTimes, class Packed>
  void WriteAny(const BulkBlock& block, Packed* packed, std::vector<UnusualTime>* unusual);
  void TakeUnusualTime(uint64_t start_ns, uint64_t duration_ns, std::size_t place, std::vector<UnusualTime>* unusual);
  template <class F>
  void ForEachPlace(const BulkBlock& block, F&& put);
  template <class F>
  void ForEachPlaceOfGroups(const BulkBlock& block, F&& put);
  void PlanTraits(const BulkBlock& block);
  void BeginGroups(const BulkBlock& block);
  std::vector<Trace::Slice> RunsOf(const BulkBlock& block) const;
  bool TakeDeviceLaunches(const ColumnView& is_device_launched, std::size_t count);
  template <bool kMayHaveDetails>
  void TakeEvents(const BulkBlock& block);
  bool WriteUsualEvents(const BulkBlock& block);

  UnjoinedTrace& unjoined_;
  uint32_t process_ = 0;
  std::unique_ptr<Unpacker> unpacker_ = std::make_unique<Unpacker>();
  std::vector<unsigned char> unpacked_;
  Numbers starts_, durations_, correlations_;  // of the block; of NVTX events times, ranges and payloads
  BlockRuns runs_;
  BlockOrder order_;
  bool has_order_ = false;        // else records are taken as they come
  std::vector<uint32_t> traits_;  // of a block's commons, for loops over its records
  std::vector<uint32_t> next_;    // place of a block's next record, by group
  std::vector<UnusualTime> unusual_calls_, unusual_ops_;
  std::vector<uint32_t> call_runs_, op_runs_, event_runs_;         // where records that are in order begin
  std::vector<std::pair<uint32_t, NvtxEvents::Details>> details_;  // of the event at a place
  std::vector<ProcessTotals> totals_;                              // by process
  uint64_t bad_times_ = 0, launched_by_device_ = 0;
  bool has_unusual_events_ = false;
};

}  // namespace gprof
