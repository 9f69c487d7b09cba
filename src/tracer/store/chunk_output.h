// Records to chunks to the file. One batch of rows for each kind; a full batch becomes a chunk, and a flush writes what
// is there. Every chunk is one write on a descriptor opened with O_APPEND. [writer thread]
#pragma once

#include <cstddef>

#include "gprof/trace/wire.h"
#include "tracer/store/standing_records.h"

namespace gprof::tracer {

// A place in what records are made from: moved on in the same step that adds the record, so that whoever continues for
// a process that died in between (salvage_entry.cpp) adds it neither twice nor never.
struct Cursor {
  uint32_t* at = nullptr;
  uint32_t next = 0;
};

class ChunkOutput {
 public:
  // `keeps_standing`: there may be another output later.
  void Start(const trace::ProcessKey& process, bool keeps_standing);
  bool HasStarted() const { return process_.pid != 0; }
  template <class R>
  void Add(const R& record, Cursor cursor = {});
  // Tells again what CUPTI tells once, for a file that has not got it.
  void RepeatStandingRecords();
  // Writes all there is. Without an output it is dropped: nobody asked for it yet.
  void Flush();
  void Discard();
  void CountLoss(trace::RecordKind kind, trace::LossReason reason, uint64_t count);
  uint64_t chunks_written() const { return sequence_; }

  void ResetAfterFork();
  // [salvage] Takes over from a process that was interrupted anywhere.
  void Resume();
  int last_error() const { return last_error_; }
  // Tells the launcher of losses that the trace does not tell of. True: the arena has something for it.
  bool LeaveRest() const;

 private:
  template <class R>
  struct Batch {
    // Kinds that come in millions get chunks near the size where columns pay best; the others are small and rare.
    static constexpr bool kIsFrequent =
        R::kKind == trace::RecordKind::kApi || R::kKind == trace::RecordKind::kKernel ||
        R::kKind == trace::RecordKind::kMemcpy || R::kKind == trace::RecordKind::kMemset ||
        R::kKind == trace::RecordKind::kSync || R::kKind == trace::RecordKind::kNvtx ||
        R::kKind == trace::RecordKind::kGraphLaunch || R::kKind == trace::RecordKind::kMemory ||
        R::kKind == trace::RecordKind::kEventRecord || R::kKind == trace::RecordKind::kManagedMemory ||
        R::kKind == trace::RecordKind::kNvtxPayload || R::kKind == trace::RecordKind::kOsCall ||
        R::kKind == trace::RecordKind::kMetricBlock;
    static constexpr uint32_t kFirstCapacity = kIsFrequent ? 256 : 128;  // a short process needs no more
    static constexpr uint32_t kCapacity = kIsFrequent ? 8192 : 128;
    R* rows = nullptr;
    uint32_t capacity = kFirstCapacity;
    uint32_t count = 0;
    uint32_t written = 0;   // of those
    char* texts = nullptr;  // what Text fields of the rows point to
    uint32_t text_bytes = 0;
  };
  template <class R>
  static bool IsFull(const Batch<R>& batch) {
    return batch.count == batch.capacity;
  }
  struct Pending {
    trace::RecordKind kind;
    trace::LossReason reason;
    uint64_t count;
  };
  // A record that is being added: whether it is in, the count of its batch says.
  struct Step {
    Cursor cursor;
    trace::RecordKind kind;
    uint32_t count_before;
  };
  // A chunk that is being written: whether it is in, the sequence or the file says.
  struct Flight {
    trace::RecordKind kind;  // 0: none
    uint32_t first, count;   // rows of its batch
    uint64_t sequence;
    uint64_t file_bytes;  // it begins here or later
  };

  template <class R>
  bool Allocate(Batch<R>* batch);
  template <class R>
  bool Enlarge(Batch<R>* batch);
  template <class R>
  bool KeepText(Batch<R>* batch, R* record);
  template <class R>
  void WriteBatch(Batch<R>* batch);
  template <class R>
  uint32_t TakeDictionary(const R* rows, uint32_t count);
  template <class R>
  void WriteRows(const R* rows, uint32_t count);
  template <class R>
  void ResumeBatch(Batch<R>* batch);
  void Append(std::size_t bytes, uint32_t rows, trace::RecordKind kind);
  void NotWritten(int error, uint32_t rows, trace::RecordKind kind);
  void AddPendingLosses();
  bool SetUpBuffers();

  trace::ProcessKey process_;
  bool keeps_standing_ = false;
  using Standing =
      trace::RecordTypes<trace::DeviceRecord, trace::ContextRecord, trace::StreamRecord, trace::GraphNodeRecord,
                         trace::ModuleRecord, trace::FrameRecord, trace::StackRecord, trace::GeneratedLinesRecord>;
  trace::ForEachType<StandingRecords, Standing> standing_;
  uint64_t sequence_ = 0;
  uint32_t chunk_ = 0;  // number for MarkForChunk, also of chunks that could not be written
  trace::ForEachType<Batch, trace::AllRecords> batches_;
  Step step_ = {};
  Flight flight_ = {};
  int last_error_ = 0;
  unsigned char* buffer_ = nullptr;
  trace::StringRecord* strings_ = nullptr;
  trace::KernelShapeRecord* shapes_ = nullptr;
  uint32_t string_count_ = 0, shape_count_ = 0;
  static constexpr uint32_t kMaxPending = 32;
  Pending pending_[kMaxPending] = {};
  uint32_t pending_count_ = 0;
};

ChunkOutput& Output();

// [salvage] For who may not open the trace; -1: it may.
void SetTraceOfSalvage(int descriptor);

// For a process that may not write to the trace: one that gave up root, or whose files may not grow. Its chunks go into
// its arena (include/gprof/trace/outbox.h), and the launcher adds them to the trace. [writer thread]

// Whether somebody else may well write where this process got that error.
bool IsLimitOfProcess(int error);

// A whole chunk. False: there is no launcher or no arena, or no room came in time.
bool HandOver(const unsigned char* chunk, std::size_t bytes);
bool HasHandedOver();

// The child of a fork has no part in that of its parent.
void LeaveOutboxAfterFork();

}  // namespace gprof::tracer

#include "tracer/store/chunk_output_inl.h"
