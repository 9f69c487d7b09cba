// The templates of ChunkWriter, one instance for each record kind.
#pragma once

#include <new>

#include "shapes.h"
#include "strings.h"
#include "sys.h"
#include "writer.h"

namespace gprof::tracer {

inline constexpr std::size_t kBufferBytes = 6u << 20;
// Texts of a chunk's dictionary together; rows whose names need more go into the next chunk.
inline constexpr std::size_t kMaxDictionaryBytes = 2u << 20;

namespace writer_detail {

// First and last instant of a record, for the chunk's header.
template <class R>
void Widen(const R& r, uint64_t* first, uint64_t* last) {
  uint64_t start = 0, end = 0;
  if constexpr (requires { r.start_ns; r.duration_ns; }) {
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

}  // namespace writer_detail

template <class R>
bool ChunkWriter::Allocate(Batch<R>* batch) {
  batch->rows = static_cast<R*>(MapMemory(sizeof(R) * Batch<R>::kCapacity));
  return batch->rows != nullptr;
}

template <class R>
void ChunkWriter::WriteBatch(Batch<R>* batch) {
  if (!SetUpBuffers()) {
    CountLoss(R::kKind, trace::LossReason::kNoMemory, batch->count);
    batch->count = 0;
    return;
  }
  uint32_t done = 0;
  while (done < batch->count) {
    ++chunk_;
    const uint32_t n = TakeDictionary(batch->rows + done, batch->count - done);
    WriteRows(batch->rows + done, n);
    done += n;
  }
  batch->count = 0;
}

// Collects the names of as many rows as fit one chunk (at least one row) and answers how many those are.
template <class R>
uint32_t ChunkWriter::TakeDictionary(const R* rows, uint32_t count) {
  string_count_ = shape_count_ = 0;
  std::size_t bytes = 0;
  uint32_t i = 0;
  for (; i < count && bytes < kMaxDictionaryBytes; ++i) {
    R::Fields(rows[i], [&](const trace::FieldInfo&, const auto& field) {
      using T = std::decay_t<decltype(field)>;
      if constexpr (std::is_same_v<T, trace::StringId>) {
        if (string_count_ == trace::kMaxChunkRecords || !Strings().MarkForChunk(field, chunk_)) return;
        strings_[string_count_] = {field.value, Strings().TextOf(field)};
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
void ChunkWriter::WriteRows(const R* rows, uint32_t count) {
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
  for (uint32_t i = 0; i < count; ++i) writer_detail::Widen(rows[i], &header.first_ns, &header.last_ns);
  header.body_crc = trace::Crc32(buffer_ + trace::kChunkHeaderBytes, body.size());
  trace::WriteHeader(header, buffer_);
  Append(trace::kChunkHeaderBytes + body.size(), count, R::kKind);
}

}  // namespace gprof::tracer
