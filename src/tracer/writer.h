// Records to chunks to the file. One batch of rows for each kind; a full batch becomes a chunk, and a flush writes what
// is there. Every chunk is one write on a descriptor opened with O_APPEND. [writer thread]
#pragma once

#include <tuple>

#include "gprof/trace/wire.h"

namespace gprof::tracer {

// A place in what records are made from: moved on in the same step that adds the record, so that whoever continues for a
// process that died in between (salvage.cpp) adds it neither twice nor never.
struct Cursor {
  uint32_t* at = nullptr;
  uint32_t next = 0;
};

class ChunkWriter {
 public:
  void Start(const trace::ProcessKey& process);
  template <class R>
  void Add(const R& record, Cursor cursor = {}) {
    auto& batch = std::get<Batch<R>>(batches_);
    if (batch.rows == nullptr && !Allocate(&batch)) return CountLoss(R::kKind, trace::LossReason::kNoMemory, 1);
    batch.rows[batch.count++] = record;
    if (cursor.at != nullptr) *cursor.at = cursor.next;
    if (batch.count == Batch<R>::kCapacity) WriteBatch(&batch);
  }
  void Flush();
  void CountLoss(trace::RecordKind kind, trace::LossReason reason, uint64_t count);
  uint64_t chunks_written() const { return sequence_; }

 private:
  template <class R>
  struct Batch {
    // Kinds that come in millions get chunks near the size where columns pay best; the others are small and rare.
    static constexpr bool kIsFrequent =
        R::kKind == trace::RecordKind::kApi || R::kKind == trace::RecordKind::kKernel ||
        R::kKind == trace::RecordKind::kMemcpy || R::kKind == trace::RecordKind::kMemset ||
        R::kKind == trace::RecordKind::kSync || R::kKind == trace::RecordKind::kNvtx ||
        R::kKind == trace::RecordKind::kGraphLaunch || R::kKind == trace::RecordKind::kMemory;
    static constexpr uint32_t kCapacity = kIsFrequent ? 8192 : 128;
    R* rows = nullptr;
    uint32_t count = 0;
  };
  template <class... R>
  static std::tuple<Batch<R>...> BatchesOf(std::tuple<R...>*);
  using Batches = decltype(BatchesOf(static_cast<trace::AllRecords*>(nullptr)));
  struct Pending {
    trace::RecordKind kind;
    trace::LossReason reason;
    uint64_t count;
  };

  template <class R>
  bool Allocate(Batch<R>* batch);
  template <class R>
  void WriteBatch(Batch<R>* batch);
  template <class R>
  uint32_t TakeDictionary(const R* rows, uint32_t count);
  template <class R>
  void WriteRows(const R* rows, uint32_t count);
  void Append(std::size_t bytes, uint32_t lost_if_not, trace::RecordKind kind);
  void AddPendingLosses();
  bool SetUpBuffers();

  trace::ProcessKey process_;
  uint64_t sequence_ = 0;
  uint32_t chunk_ = 0;  // number for MarkForChunk, also of chunks that could not be written
  Batches batches_;
  unsigned char* buffer_ = nullptr;
  trace::StringRecord* strings_ = nullptr;
  trace::KernelShapeRecord* shapes_ = nullptr;
  uint32_t string_count_ = 0, shape_count_ = 0;
  static constexpr uint32_t kMaxPending = 32;
  Pending pending_[kMaxPending] = {};
  uint32_t pending_count_ = 0;
};

ChunkWriter& Writer();

}  // namespace gprof::tracer

#include "writer_inl.h"
