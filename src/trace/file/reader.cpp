#include "trace/file/reader.h"

#include <algorithm>
#include <cstring>

#include "base/saturate.h"
#include "trace/file/checksum.h"

namespace gprof {
namespace {

using trace::ChunkHeader;
using trace::HeaderStatus;
using trace::kChunkHeaderBytes;
using trace::kChunkMagic;

constexpr std::size_t kMagicBytes = sizeof kChunkMagic;

// A body with a bad checksum is searched for chunks, as a torn write leaves the next chunk in it. A hostile file could
// make that quadratic with millions of headers that all claim the same 8 MB; past this many bytes their word is taken.
constexpr std::size_t kFailedBodyBudget = 64u << 20;

constexpr std::size_t KindCount() {
  std::size_t count = 0;
  trace::ForEachKind([&](auto* r) { count = std::max(count, static_cast<std::size_t>(r->kKind) + 1); });
  return count;
}
constexpr std::size_t kKindCount = KindCount();

bool IsKnown(uint16_t kind) {
  bool known = false;
  trace::ForEachKind([&](auto* r) { known = known || static_cast<uint16_t>(r->kKind) == kind; });
  return known;
}

const unsigned char* Bytes(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }

bool HasMagic(const unsigned char* at) { return std::memcmp(at, kChunkMagic, kMagicBytes) == 0; }

// Any status but these means that the magic was there by chance or that the header is damaged.
bool IsHeader(HeaderStatus status) {
  return status != HeaderStatus::kNotAChunk && status != HeaderStatus::kBadChecksum;
}

uint64_t HeaderBytesField(const unsigned char* header) { return header[14] | uint64_t{header[15]} << 8; }

}  // namespace

void ForEachHeader(std::string_view bytes, const std::function<void(const ChunkHeader&)>& take) {
  std::size_t at = 0;
  while (bytes.size() - at >= kChunkHeaderBytes) {
    ChunkHeader header;
    if (ReadHeader(Bytes(bytes) + at, &header) != HeaderStatus::kGood) break;
    if (bytes.size() - at - kChunkHeaderBytes < header.body_bytes) break;
    take(header);
    at += kChunkHeaderBytes + header.body_bytes;
  }
}

RecordCounts CountRecords(std::string_view bytes) {
  RecordCounts counts(kKindCount, 0);
  ForEachHeader(bytes, [&counts](const ChunkHeader& header) {
    if (header.kind < kKindCount) counts[header.kind] += std::min(header.record_count, header.body_bytes);
  });
  return counts;
}

Reader::Reader(std::string_view bytes) : bytes_(bytes) { health_.file_bytes = bytes.size(); }

const unsigned char* Reader::At(std::size_t offset) const { return Bytes(bytes_) + offset; }

const ChunkAhead* FindAhead(std::span<const ChunkAhead> ahead, uint64_t offset) {
  const auto at =
      std::partition_point(ahead.begin(), ahead.end(), [&](const ChunkAhead& c) { return c.offset() < offset; });
  return at != ahead.end() && at->offset() == offset ? &*at : nullptr;
}

bool ChunkAhead::is_of_known_kind() const {
  return IsKnown(header_.kind) && (header_.flags & ~(trace::kChunkZstd | trace::kChunkCollector)) == 0;
}

void ChunkAhead::Open(std::string_view file, Unpacker& unpacker, std::vector<unsigned char>* unpacked) {
  const unsigned char* body = Bytes(file) + offset_ + kChunkHeaderBytes;
  has_good_checksum_ = Checksum(body, header_.body_bytes) == header_.body_crc;
  if (!has_good_checksum_ || !is_of_known_kind()) return;
  if ((header_.flags & trace::kChunkZstd) == 0) {
    body_.emplace(body, header_.body_bytes);
  } else if (unpacker.Unpack(body, header_.body_bytes, header_.unpacked_bytes, unpacked)) {
    body_.emplace(unpacked->data(), header_.unpacked_bytes);
  }
}

std::vector<ChunkAhead> Reader::LookAhead(std::size_t chunks, std::size_t unpacked_bytes) const {
  std::vector<ChunkAhead> ahead;
  std::size_t at = next_, sum_bytes = 0;
  while (ahead.size() < chunks && bytes_.size() - at >= kChunkHeaderBytes) {
    ChunkHeader header;
    if (ReadHeader(At(at), &header) != HeaderStatus::kGood) break;
    if (bytes_.size() - at - kChunkHeaderBytes < header.body_bytes) break;
    sum_bytes += header.unpacked_bytes;
    if (sum_bytes > unpacked_bytes) break;
    ahead.emplace_back(header, at);
    at += kChunkHeaderBytes + header.body_bytes;
  }
  return ahead;
}

bool Reader::Next(Chunk* chunk, std::span<const ChunkAhead> ahead) {
  while (next_ < bytes_.size()) {
    if (TakeChunk(chunk, ahead)) return true;
  }
  ForgiveTornWrites();
  CountHoles();
  return false;
}

void Reader::RejectOne() {
  --health_.chunks;
  ++health_.damaged_chunks;
}

// Moves past whatever lies at next_. True: that was a chunk for the caller.
bool Reader::TakeChunk(Chunk* chunk, std::span<const ChunkAhead> ahead) {
  ChunkHeader header;
  const HeaderStatus status = left() < kChunkHeaderBytes ? HeaderStatus::kNotAChunk : ReadHeader(At(next_), &header);
  has_found_header_ = has_found_header_ || IsHeader(status);
  switch (status) {
    case HeaderStatus::kGood:
      return TakeBody(header, FindAhead(ahead, next_), chunk);
    case HeaderStatus::kTooNew:
      SkipNewer(header);
      return false;
    case HeaderStatus::kNonsense:
      NoteDamaged(header);
      ResumeAtHeader(next_ + kMagicBytes, next_ + kChunkHeaderBytes);
      return false;
    case HeaderStatus::kNotAChunk:
    case HeaderStatus::kBadChecksum:
      break;
  }
  ResumeAtHeader(next_ + 1, next_);
  return false;
}

bool Reader::TakeBody(const ChunkHeader& header, const ChunkAhead* ahead, Chunk* chunk) {
  if (left() - kChunkHeaderBytes < header.body_bytes) {
    TakeTornBody(header);
    return false;
  }
  ChunkAhead opened(header, next_);
  if (ahead != nullptr) {
    opened = *ahead;
  } else {
    opened.Open(bytes_, unpacker_, &unpacked_);
  }
  const std::size_t begin = next_, end = next_ + kChunkHeaderBytes + header.body_bytes;
  if (!opened.has_good_checksum()) {
    TakeBadBody(header, end);
    return false;
  }
  next_ = end;
  if (!opened.is_of_known_kind()) {
    NoteRead(header);
    ++health_.unknown_chunks;
    health_.unknown_records = AddSaturating(health_.unknown_records, header.record_count);
    return false;
  }
  if (!opened.body().has_value()) {
    NoteDamaged(header);
    return false;
  }
  chunk->header = header;
  chunk->offset = begin;
  chunk->body = *opened.body();
  chunk->is_duplicate = !NoteRead(header);
  if (!chunk->is_duplicate) ++health_.chunks;
  return true;
}

void Reader::SkipNewer(const ChunkHeader& header) {
  newer_version_ = header.version;
  ++health_.unknown_chunks;
  health_.unknown_records = AddSaturating(health_.unknown_records, header.record_count);
  const uint64_t bytes = std::max<uint64_t>(kChunkHeaderBytes, HeaderBytesField(At(next_))) + header.body_bytes;
  if (bytes <= left()) {
    next_ += static_cast<std::size_t>(bytes);
  } else {
    ResumeAtHeader(next_ + kMagicBytes, bytes_.size());
    health_.is_truncated = health_.is_truncated || left() == 0;
  }
}

// The file ends before the body does. Another chunk behind the header says that the write was torn and others went on.
void Reader::TakeTornBody(const ChunkHeader& header) {
  const std::size_t found = FindHeader(next_ + kMagicBytes);
  if (found < bytes_.size()) {
    NoteDamaged(header);
  } else {
    processes_[header.process].damaged.try_emplace(header.sequence, 0);
    health_.is_truncated = true;
  }
  next_ = found;
}

void Reader::TakeBadBody(const ChunkHeader& header, std::size_t end) {
  NoteDamaged(header);
  failed_body_bytes_ += header.body_bytes;
  ResumeAtHeader(failed_body_bytes_ > kFailedBodyBudget ? end : next_ + kMagicBytes, end);
}

void Reader::NoteDamaged(const ChunkHeader& header) {
  ++health_.damaged_chunks;
  ++processes_[header.process].damaged[header.sequence];
}

// False: the records of the chunk are in already.
bool Reader::NoteRead(const ChunkHeader& header) {
  const bool is_new = processes_[header.process].read.insert(header.sequence).second;
  if (!is_new) ++health_.duplicate_chunks;
  return is_new;
}

// Goes on at the first header at or after `from`; what lies between `accounted_end` and it belongs to no chunk.
void Reader::ResumeAtHeader(std::size_t from, std::size_t accounted_end) {
  std::size_t found = FindHeader(std::min(from, bytes_.size()));
  std::size_t gap_end = found;
  if (found == bytes_.size()) {
    gap_end = FindCutHeader(std::max(next_, accounted_end));
    health_.is_truncated = health_.is_truncated || gap_end < bytes_.size();
  }
  if (gap_end > accounted_end) health_.skipped_bytes += gap_end - accounted_end;
  next_ = found;
}

// Offset of the first good header at or after `from`, or the size of the file.
std::size_t Reader::FindHeader(std::size_t from) const {
  while (from < bytes_.size() && bytes_.size() - from >= kChunkHeaderBytes) {
    const void* hit = std::memchr(At(from), kChunkMagic[0], bytes_.size() - from - kChunkHeaderBytes + 1);
    if (hit == nullptr) break;
    from = static_cast<std::size_t>(static_cast<const unsigned char*>(hit) - At(0));
    ChunkHeader header;
    if (HasMagic(At(from)) && IsHeader(ReadHeader(At(from), &header))) return from;
    ++from;
  }
  return bytes_.size();
}

// Offset of a header that the end of the file cuts off, or the size of the file.
std::size_t Reader::FindCutHeader(std::size_t from) const {
  const std::size_t tail = bytes_.size() - std::min(bytes_.size(), kChunkHeaderBytes - 1);
  for (std::size_t at = std::max(from, tail); at < bytes_.size(); ++at) {
    if (std::memcmp(At(at), kChunkMagic, std::min(kMagicBytes, bytes_.size() - at)) == 0) return at;
  }
  return bytes_.size();
}

// A process that is killed within a write leaves a part of the chunk, and whoever recovers what it left writes the
// chunk again: nothing is lost.
void Reader::ForgiveTornWrites() {
  for (auto& [key, sequences] : processes_) {
    std::erase_if(sequences.damaged, [&](const auto& chunk) {
      if (sequences.read.count(chunk.first) == 0) return false;
      health_.damaged_chunks -= chunk.second;
      health_.duplicate_chunks += chunk.second;
      return true;
    });
  }
}

void Reader::CountHoles() {
  health_.missing_chunks = 0;
  for (const auto& [key, sequences] : processes_) {
    uint64_t last = 0, seen = sequences.read.size();
    for (const uint64_t s : sequences.read) last = std::max(last, s);
    for (const auto& [s, count] : sequences.damaged) {
      last = std::max(last, s);
      ++seen;
    }
    // At least one was seen, and never more than last + 1.
    if (seen > 0) health_.missing_chunks = AddSaturating(health_.missing_chunks, last - (seen - 1));
  }
}

}  // namespace gprof
