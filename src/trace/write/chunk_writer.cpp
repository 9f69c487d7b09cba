#include "trace/write/chunk_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "gprof/error.h"
#include "trace/write/record_span.h"

namespace gprof {

ChunkWriter::ChunkWriter(Dictionary* dictionary, const ChunkWriterOptions& options)
    : dictionary_(dictionary), options_(options) {
  options_.max_records = std::clamp<uint32_t>(options_.max_records, 1, trace::kMaxChunkRecords);
}

void ChunkWriter::Want(trace::RecordKind kind) {
  if (std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) kinds_.push_back(kind);
}

void ChunkWriter::KeepText(trace::Text* text) {
  texts_.emplace_back(text->View());
  text->data = texts_.back().data();
}

void ChunkWriter::Take(std::string* out) {
  for (const trace::RecordKind kind : kinds_) {
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if (R::kKind == kind) TakeKind<R>(out);
    });
  }
  kinds_.clear();
  texts_.clear();
}

template <class R>
void ChunkWriter::TakeKind(std::string* out) {
  auto& rows = rows_.template Of<R>();
  std::size_t done = 0;
  do {
    const std::size_t count = std::min<std::size_t>(rows.size() - done, options_.max_records);
    done += WriteChunk(rows.data() + done, count, out);
  } while (done < rows.size());
  rows.clear();
}

template <class R>
std::size_t ChunkWriter::WriteChunk(const R* rows, std::size_t count, std::string* out) {
  std::size_t size = 0;
  while ((size = EncodeBody(rows, count)) == kTooLarge) {
    if (count <= 1) {
      throw Error(ExitCode::kUnreadable, fmt::format("a record of kind {} is larger than a chunk may be ({} bytes)",
                                                     R::kName, trace::kMaxBodyBytes));
    }
    count /= 2;
  }
  trace::ChunkHeader header;
  RecordSpan span;
  for (std::size_t i = 0; i < count; ++i) Extend(rows[i], &span);
  header.kind = static_cast<uint16_t>(R::kKind);
  header.record_count = static_cast<uint32_t>(count);
  header.first_ns = span.first_ns <= span.last_ns ? span.first_ns : 0;
  header.last_ns = span.last_ns;
  AppendChunk(header, buffer_.data(), size, out);
  return count;
}

// Into buffer_, which grows: most chunks are far smaller than they may be, and there may be many.
template <class R>
std::size_t ChunkWriter::EncodeBody(const R* rows, std::size_t count) {
  CollectDictionary(rows, count);
  if (strings_.size() > trace::kMaxChunkRecords || shapes_.size() > trace::kMaxChunkRecords) return kTooLarge;
  constexpr std::size_t kFewBytes = 4096;
  std::size_t capacity =
      std::max(buffer_.size(), std::min<std::size_t>(kFewBytes + count * sizeof(R), trace::kMaxBodyBytes));
  for (;; capacity = std::min<std::size_t>(4 * capacity, trace::kMaxBodyBytes)) {
    buffer_.resize(capacity);
    trace::ByteWriter body(buffer_.data(), capacity);
    if (!strings_.empty()) trace::EncodeBlock(strings_.data(), strings_.size(), body);
    if (!shapes_.empty()) trace::EncodeBlock(shapes_.data(), shapes_.size(), body);
    if (count > 0) trace::EncodeBlock(rows, count, body);
    if (!body.overflow()) return body.size();
    if (capacity == trace::kMaxBodyBytes) return kTooLarge;
  }
}

// What the records of a chunk refer to.
template <class R>
void ChunkWriter::CollectDictionary(const R* rows, std::size_t count) {
  seen_strings_.clear();
  seen_shapes_.clear();
  strings_.clear();
  shapes_.clear();
  for (std::size_t i = 0; i < count; ++i) CollectEntries(rows[i]);
}

template <class R>
void ChunkWriter::CollectEntries(const R& r) {
  R::Fields(r, [&](const trace::FieldInfo&, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, trace::StringId>) CollectString(value);
    if constexpr (std::is_same_v<T, trace::ShapeId>) CollectShape(value);
  });
}

void ChunkWriter::CollectString(trace::StringId id) {
  const std::string* text = dictionary_->FindString(id.value);
  if (text == nullptr || !seen_strings_.insert(id.value).second) return;
  trace::StringRecord r;
  r.id = id.value;
  r.text = {text->data(), static_cast<uint32_t>(text->size())};
  strings_.push_back(r);
}

void ChunkWriter::CollectShape(trace::ShapeId id) {
  const trace::KernelShapeRecord* shape = dictionary_->FindShape(id.value);
  if (shape != nullptr && seen_shapes_.insert(id.value).second) shapes_.push_back(*shape);
}

void ChunkWriter::AppendChunk(trace::ChunkHeader header, const unsigned char* body, std::size_t size,
                              std::string* out) {
  header.unpacked_bytes = static_cast<uint32_t>(size);
  if (options_.is_collector) header.flags |= trace::kChunkCollector;
  std::vector<unsigned char> packed(options_.is_zstd ? size : 0);
  const std::size_t packed_bytes = options_.is_zstd ? packer_.Pack(body, size, packed.data()) : 0;
  if (packed_bytes != 0) {
    body = packed.data();
    size = packed_bytes;
    header.flags |= trace::kChunkZstd;
  }
  header.body_bytes = static_cast<uint32_t>(size);
  header.body_crc = trace::Crc32(body, size);
  header.process = options_.process;
  header.run = options_.run;
  header.sequence = options_.sequence++;
  unsigned char head[trace::kChunkHeaderBytes];
  WriteHeader(header, head);
  out->append(reinterpret_cast<const char*>(head), sizeof head);
  out->append(reinterpret_cast<const char*>(body), size);
}

}  // namespace gprof
