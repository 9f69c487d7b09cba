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
  void Add(const trace::StringRecord& r);
  void Add(const trace::KernelShapeRecord& r);
  void Add(const trace::ProcessRecord& r);
  void Add(const trace::ThreadRecord& r);
  void Add(const trace::DeviceRecord& r);
  void Add(const trace::ContextRecord& r);
  void Add(const trace::StreamRecord& r);
  void Add(const trace::ClockRecord& r);
  void Add(const trace::ApiRecord& r);
  void Add(const trace::KernelRecord& r);
  void Add(const trace::MemcpyRecord& r);
  void Add(const trace::PeerCopyRecord& r);
  void Add(const trace::MemsetRecord& r);
  void Add(const trace::SyncRecord& r);
  void Add(const trace::OverheadRecord& r);
  void Add(const trace::JitRecord& r);
  void Add(const trace::MemoryRecord& r);
  void Add(const trace::GraphLaunchRecord& r);
  void Add(const trace::NvtxRecord& r);
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
  uint32_t RecentTraitsOf(const trace::KernelRecord& r);
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
  // kNone for stream 0. A stream without its context is noted in `late`, for the event with that index.
  uint32_t StreamOf(uint32_t context, uint32_t stream, std::vector<LateStream>* late, std::size_t event);
  void Touch(int64_t start_ns, int64_t end_ns) {
    times_.Add(static_cast<uint64_t>(start_ns), static_cast<uint64_t>(end_ns));
  }
  template <class R>
  PackedOps::Traits TraitsOfAny(const R& r, OpKind kind);
  static uint64_t WhatOf(const trace::KernelRecord& r) { return uint64_t{r.name.value} << 32 | r.shape.value; }
  template <class R>
  uint32_t& RecentOp(const R& r, OpKind kind, uint64_t what, uint32_t kinds, uint64_t peer);
  template <class R>
  bool AddOp(const R& r, OpKind kind, uint64_t what, uint32_t kinds, uint64_t peer);

  UnjoinedTrace unjoined_;
  bool has_numbers_ = false;  // NumberThings was called
  std::unordered_map<trace::ProcessKey, uint32_t, ProcessKeyHash> processes_, collectors_;
  uint32_t process_ = kNone;  // of the chunk; kCollector and a number for a collector
  TimeExtent times_;          // of the chunk
  uint32_t cached_tid_ = 0, cached_thread_ = kNone;
  RecentTraits<6> recent_ops_;  // of the process of the chunk, as the tables below
  RecentTraits<3> recent_calls_;
};

}  // namespace gprof
