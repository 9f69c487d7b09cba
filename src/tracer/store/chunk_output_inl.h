// The templates of ChunkOutput, one instance for each record kind.
#pragma once

#include <atomic>
#include <cstring>

#include "tracer/core/config.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/kernel_shapes.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

inline constexpr std::size_t kBufferBytes = 6u << 20;
// Texts of a chunk's dictionary together; rows whose names need more go into the next chunk.
inline constexpr std::size_t kMaxDictionaryBytes = 2u << 20;

namespace output_detail {

// First and last instant of a record, for the chunk's header.
template <class R>
void Widen(const R& r, uint64_t* first, uint64_t* last) {
  uint64_t start = 0, end = 0;
  if constexpr (requires {
                  r.start_ns;
                  r.duration_ns;
                }) {
    start = r.start_ns;
    end = r.start_ns + r.duration_ns;
  } else if constexpr (requires { r.start_ns; }) {
    start = end = r.start_ns;
  } else if constexpr (requires { r.time_ns; }) {
    start = end = r.time_ns;
  } else if constexpr (requires { r.monotonic_ns; }) {
    start = end = r.monotonic_ns;
  } else if constexpr (requires { r.created_ns; }) {
    start = end = r.created_ns;
  }
  if (start == 0) return;
  if (*first == 0 || start < *first) *first = start;
  if (end > *last) *last = end;
}

// Between steps that salvage tells apart: a killed thread has done all stores before a point of the program and none
// after it, as long as the compiler leaves them in order.
inline void StepDone() { std::atomic_signal_fence(std::memory_order_seq_cst); }

template <class R>
inline constexpr bool kHasText = [] {
  bool has = false;
  R r{};
  R::Fields(r, [&has](const trace::FieldInfo&, const auto& field) {
    has = has || std::is_same_v<std::decay_t<decltype(field)>, trace::Text>;
  });
  return has;
}();

inline constexpr uint32_t kBatchTextBytes = 256 * 1024;

}  // namespace output_detail

template <class R>
bool ChunkOutput::Allocate(Batch<R>* batch) {
  if constexpr (output_detail::kHasText<R>) {
    batch->texts = static_cast<char*>(KeepMemory(output_detail::kBatchTextBytes, Region::kRows));
    if (batch->texts == nullptr) return false;
  }
  batch->rows = static_cast<R*>(KeepMemory(sizeof(R) * batch->capacity, Region::kRows));
  return batch->rows != nullptr;
}

// Once for a batch. False: it is as large as it gets, or there is no memory.
template <class R>
bool ChunkOutput::Enlarge(Batch<R>* batch) {
  if (batch->capacity == Batch<R>::kCapacity) return false;
  auto* const rows = static_cast<R*>(KeepMemory(sizeof(R) * Batch<R>::kCapacity, Region::kRows));
  if (rows == nullptr) return false;
  std::memcpy(static_cast<void*>(rows), batch->rows, sizeof(R) * batch->count);
  output_detail::StepDone();
  batch->rows = rows;
  output_detail::StepDone();
  batch->capacity = Batch<R>::kCapacity;
  return true;
}

// A row's text is gone when the row is. False: too long for any batch.
template <class R>
bool ChunkOutput::KeepText(Batch<R>* batch, R* record) {
  bool fits = true;
  R::Fields(*record, [&](const trace::FieldInfo&, auto& field) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, trace::Text>) {
      if (batch->text_bytes + field.size > output_detail::kBatchTextBytes) WriteBatch(batch);
      fits = field.size <= output_detail::kBatchTextBytes;
      if (!fits || field.size == 0) return;
      char* at = batch->texts + batch->text_bytes;
      std::memcpy(at, field.data, field.size);
      batch->text_bytes += field.size;
      field.data = at;
    }
  });
  return fits;
}

template <class R>
void ChunkOutput::Add(const R& given, Cursor cursor) {
  using output_detail::StepDone;
  auto& batch = batches_.Of<R>();
  if (batch.rows == nullptr && !Allocate(&batch)) return CountLoss(R::kKind, trace::LossReason::kNoMemory, 1);
  R record = given;
  if constexpr (output_detail::kHasText<R>) {
    if (!KeepText(&batch, &record)) return CountLoss(R::kKind, trace::LossReason::kNoMemory, 1);
  }
  if constexpr (kIsStanding<R>) {
    if (keeps_standing_) standing_.Of<R>().Append(record);
  }
  step_ = {cursor, R::kKind, batch.count};
  StepDone();
  batch.rows[batch.count] = record;
  StepDone();
  ++batch.count;
  StepDone();
  if (cursor.at != nullptr) *cursor.at = cursor.next;
  StepDone();
  step_.kind = trace::RecordKind{};
  if (IsFull(batch) && !Enlarge(&batch)) WriteBatch(&batch);
}

template <class R>
void ChunkOutput::WriteBatch(Batch<R>* batch) {
  if (!SetUpBuffers()) {
    CountLoss(R::kKind, trace::LossReason::kNoMemory, batch->count - batch->written);
    batch->written = batch->count;
  }
  while (batch->written < batch->count) {
    ++chunk_;
    const R* rows = batch->rows + batch->written;
    const uint32_t n = TakeDictionary(rows, batch->count - batch->written);
    flight_.first = batch->written;
    WriteRows(rows, n);
    output_detail::StepDone();
    batch->written += n;
    output_detail::StepDone();
    flight_.kind = trace::RecordKind{};
  }
  batch->count = 0;
  output_detail::StepDone();
  batch->written = batch->text_bytes = 0;
}

template <class R>
void ChunkOutput::ResumeBatch(Batch<R>* batch) {
  if (step_.kind == R::kKind && batch->count != step_.count_before) {
    auto* at = static_cast<uint32_t*>(Relocated(step_.cursor.at));
    if (at != nullptr) *at = step_.cursor.next;
  }
  step_.kind = step_.kind == R::kKind ? trace::RecordKind{} : step_.kind;
  if (flight_.kind == R::kKind && batch->written == flight_.first) batch->written += flight_.count;
  // In salvage it may say anything.
  if (batch->capacity != Batch<R>::kCapacity) batch->capacity = Batch<R>::kFirstCapacity;
  if (batch->count > batch->capacity || batch->written >= batch->count) batch->count = batch->written = 0;
  if (batch->count == 0) batch->text_bytes = 0;
  const bool is_kept = IsKept(batch->rows, sizeof(R) * batch->capacity) &&
                       (!output_detail::kHasText<R> || IsKept(batch->texts, output_detail::kBatchTextBytes));
  if (is_kept) return;
  CountLoss(R::kKind, trace::LossReason::kNoMemory, batch->count - batch->written);
  *batch = {};
}

// Collects the names of as many rows as fit one chunk (at least one row) and answers how many those are.
template <class R>
uint32_t ChunkOutput::TakeDictionary(const R* rows, uint32_t count) {
  string_count_ = shape_count_ = 0;
  std::size_t bytes = 0;
  uint32_t i = 0;
  for (; i < count && bytes < kMaxDictionaryBytes; ++i) {
    R::Fields(rows[i], [&](const trace::FieldInfo&, const auto& field) {
      using T = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<T, trace::StringId>) {
        if (string_count_ == trace::kMaxChunkRecords || !Names().MarkForChunk(field, chunk_)) return;
        strings_[string_count_] = {field.value, Names().TextOf(field)};
        bytes += strings_[string_count_++].text.size;
      } else if constexpr (std::is_same_v<T, trace::ShapeId>) {
        if (shape_count_ == trace::kMaxChunkRecords || !Shapes().MarkForChunk(field, chunk_)) return;
        shapes_[shape_count_++] = Shapes().ShapeOf(field);
        bytes += 64;
      }
    });
  }
  return i;
}

template <class R>
void ChunkOutput::WriteRows(const R* rows, uint32_t count) {
  trace::ByteWriter body(buffer_ + trace::kChunkHeaderBytes, kBufferBytes - trace::kChunkHeaderBytes);
  if (string_count_ != 0) trace::EncodeBlock(strings_, string_count_, body);
  if (shape_count_ != 0) trace::EncodeBlock(shapes_, shape_count_, body);
  trace::EncodeBlock(rows, count, body);
  if (body.overflow()) return CountLoss(R::kKind, trace::LossReason::kNoMemory, count);
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(R::kKind);
  header.record_count = count;
  header.body_bytes = header.unpacked_bytes = static_cast<uint32_t>(body.size());
  header.process = process_;
  header.sequence = sequence_;
  header.run = Config().output_run;
  for (uint32_t i = 0; i < count; ++i) output_detail::Widen(rows[i], &header.first_ns, &header.last_ns);
  header.body_crc = trace::Crc32(buffer_ + trace::kChunkHeaderBytes, body.size());
  trace::WriteHeader(header, buffer_);
  Append(trace::kChunkHeaderBytes + body.size(), count, R::kKind);
}

}  // namespace gprof::tracer
