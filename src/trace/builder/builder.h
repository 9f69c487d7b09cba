// Takes the records of a trace one by one and joins them to a Trace.
//
// There is an Add for every record kind that is joined as it comes. The others are kept until all is read: a test asks
// that each has a join that takes it.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gprof/trace.h"
#include "trace/builder/recent.h"
#include "trace/builder/unjoined.h"
#include "trace/file/reader.h"
#include "trace/join/field_joins.h"
#include "trace/load/bulk.h"

namespace gprof {

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string path) { unjoined_.trace.path = std::move(path); }

  void Reserve(const RecordCounts& counts);

  // The records that follow are those of this chunk.
  void BeginChunk(const trace::ChunkHeader& header);
  void EndChunk();

  template <class R>
  void AddRows(std::span<const R> rows) {
    if (!trace::IsDictionary(R::kKind)) unjoined_.trace.record_count += rows.size();
    if (IsOfCollector() && !kIsOneOf<R, OfCollectors> && R::kKind < kFirstKept) return;
    for (const R& r : rows) Add(r);
  }

  template <class R>
  requires(R::kKind >= kFirstKept) void Add(const R& r) { unjoined_.kept.template Of<R>().push_back({process_, r}); }
  template <class R>
  requires kIsBulk<R>
  void Add(const R& r) {
    if constexpr (std::is_same_v<R, trace::NvtxRecord>) {
      Touch(TimeNs(r.time_ns), TimeNs(r.time_ns));
      unjoined_.nvtx_events.Add(TimeNs(r.time_ns), RecentTraitsOf(r), {r.range, r.payload});
    } else {
      AddTimed(r, TimeNs(r.start_ns), EndNs(r.start_ns, r.duration_ns));
    }
  }
  void Add(const trace::StringRecord& r);
  void Add(const trace::KernelShapeRecord& r);
  void Add(const trace::ProcessRecord& r);
  void Add(const trace::ThreadRecord& r);
  void Add(const trace::DeviceRecord& r);
  void Add(const trace::ContextRecord& r);
  void Add(const trace::StreamRecord& r);
  void Add(const trace::ClockRecord& r);
  void Add(const trace::SyncRecord& r);
  void Add(const trace::OverheadRecord& r);
  void Add(const trace::JitRecord& r);
  void Add(const trace::MemoryRecord& r);
  void Add(const trace::NvtxDomainRecord& r);
  void Add(const trace::NvtxCategoryRecord& r);
  void Add(const trace::NvtxNameRecord& r);
  void Add(const trace::LossRecord& r);
  void Add(const trace::NoticeRecord& r);
  void Add(const trace::EndRecord& r);
  void Add(const trace::CaptureRecord& r);
  void Add(const trace::EventRecordRecord& r);
  void Add(const trace::GraphNodeRecord& r);
  void Add(const trace::ManagedMemoryRecord& r);
  void Add(const trace::MemoryPoolRecord& r);
  void Add(const trace::NvtxSchemaRecord& r);
  void Add(const trace::NvtxSchemaEntryRecord& r);
  void Add(const trace::NvtxEnumRecord& r);
  void Add(const trace::NvtxPayloadRecord& r);

  // The name of a stream, as a record of NVTX has it, for sources that have no handles.
  void NameStream(uint32_t context, uint32_t stream, trace::StringId name);

  // The first pass over calls, operations and NVTX events (bulk.h): the traits that records like `r` have.
  uint32_t TraitsOf(const trace::ApiRecord& r);
  uint32_t TraitsOf(const trace::KernelRecord& r);
  uint32_t TraitsOf(const trace::MemcpyRecord& r);
  uint32_t TraitsOf(const trace::PeerCopyRecord& r);
  uint32_t TraitsOf(const trace::MemsetRecord& r);
  uint32_t TraitsOf(const trace::GraphLaunchRecord& r);
  uint32_t TraitsOf(const trace::NvtxRecord& r);
  // The same, of records whose like comes again and again.
  template <class R>
  uint32_t RecentTraitsOf(const R& r) {
    uint32_t& recent = recent_.Of<R>()(process_, r);
    return recent != kNone ? recent : recent = TraitsOf(r);
  }
  void CountRecords(uint64_t count) { unjoined_.trace.record_count += count; }
  uint64_t record_count() const { return unjoined_.trace.record_count; }
  uint32_t process() const { return process_; }
  bool IsOfCollector() const { return IsCollector(process_); }

  // The second pass. False: blocks turned out to be damaged, and everything has to be read again without those.
  bool Fill(std::vector<BulkChunk> bulk, DamagedBlocks* damaged);

  // `framing` is what the reader has counted. The builder is used up.
  Trace Finish(const TraceHealth& framing);

 private:
  // What is taken from them beside the kept records: they have no calls, no devices and no life of their own.
  using OfCollectors = trace::RecordTypes<trace::StringRecord, trace::NoticeRecord>;

  NameId Name(trace::StringId id) { return unjoined_.Name(process_, id); }
  uint32_t ThreadIndex(uint32_t tid);
  uint32_t ShapeIndex(trace::ShapeId shape);
  void Touch(int64_t start_ns, int64_t end_ns) {
    times_.Add(static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns));
  }
  template <class R>
  PackedOps::Traits TraitsOfAny(const R& r, OpKind kind);
  template <class M, class R>
  M& Take(const R& r);
  // A call, or an operation: one without usable times is left out.
  template <class R>
  void AddTimed(const R& r, int64_t start_ns, int64_t end_ns) {
    if constexpr (std::is_same_v<R, trace::ApiRecord>) {
      if (r.correlation != 0) unjoined_.correlations[process_].Add({r.correlation, r.correlation, 1});
      unjoined_.trace.api_calls.Add(start_ns, end_ns, RecentTraitsOf(r), r.correlation);
    } else {
      if (!HasTimes(r.start_ns, r.duration_ns)) return ++unjoined_.trace.health.bad_times, void();
      unjoined_.trace.ops.Add(start_ns, end_ns, RecentTraitsOf(r), r.correlation);
      if constexpr (requires { r.is_device_launched; }) {
        unjoined_.launched_by_device += IsLaunchedByDevice(r.is_device_launched, r.correlation) ? 1 : 0;
      }
    }
    Touch(start_ns, end_ns);
  }

  UnjoinedTrace unjoined_;
  FieldJoins joins_{unjoined_};
  bool has_numbers_ = false;  // NumberThings was called
  std::unordered_map<trace::ProcessKey, uint32_t, ProcessKeyHash> processes_, collectors_;
  uint32_t process_ = kNone;  // of the chunk; kCollector and a number for a collector
  TimeExtent times_;          // of the chunk
  uint32_t cached_tid_ = 0, cached_thread_ = kNone;
  trace::ForEachType<RecentRows, BulkRecords> recent_;
};

}  // namespace gprof
