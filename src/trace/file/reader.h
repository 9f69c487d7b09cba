// Walks the bytes of a trace chunk by chunk. Damage is counted in health(), never thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "gprof/trace.h"
#include "gprof/trace/bytes.h"
#include "gprof/trace/file.h"
#include "trace/file/unpack.h"

namespace gprof {

struct ProcessKeyHash {
  std::size_t operator()(const trace::ProcessKey& key) const {
    uint64_t h = key.host * 0x9E3779B97F4A7C15u;
    h = (h ^ key.start_ticks) * 0xBF58476D1CE4E5B9u;
    h = (h ^ (uint64_t{key.pid} << 32 | key.image)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>(h ^ (h >> 31));
  }
};

struct Chunk {
  trace::ChunkHeader header;
  uint64_t offset = 0;        // of the header in the file
  trace::ByteReader body;     // unpacked; good until the next call of Next, or that of the ChunkAhead
  bool is_duplicate = false;  // its sequence number was read before: the records are there already
};

// A chunk that Next has yet to come to. Those of several can be opened side by side.
class ChunkAhead {
 public:
  ChunkAhead(const trace::ChunkHeader& header, uint64_t offset) : header_(header), offset_(offset) {}

  // Computes the checksum, and unpacks into `unpacked` what is compressed.
  void Open(std::string_view file, Unpacker& unpacker, std::vector<unsigned char>* unpacked);

  uint64_t offset() const { return offset_; }  // of the header in the file
  uint64_t end() const { return offset_ + trace::kChunkHeaderBytes + header_.body_bytes; }
  bool has_good_checksum() const { return has_good_checksum_; }
  bool is_of_known_kind() const;
  // Nothing where one of those says no, or where the body cannot be unpacked.
  const std::optional<trace::ByteReader>& body() const { return body_; }

 private:
  trace::ChunkHeader header_;
  uint64_t offset_ = 0;
  bool has_good_checksum_ = false;
  std::optional<trace::ByteReader> body_;
};

// The chunk at `offset`, nullptr where it is none of these.
const ChunkAhead* FindAhead(std::span<const ChunkAhead> ahead, uint64_t offset);

// How many records of each kind the headers promise, for reserving memory. Never more than the file has bytes.
using RecordCounts = std::vector<uint64_t>;  // by RecordKind
RecordCounts CountRecords(std::string_view bytes);

// Calls take(header) for each chunk up to the first that is damaged or ends behind the file.
void ForEachHeader(std::string_view bytes, const std::function<void(const trace::ChunkHeader&)>& take);

class Reader {
 public:
  // `bytes` must outlive the reader.
  explicit Reader(std::string_view bytes);

  // The chunks that follow each other from here on, at most so many, and so many bytes when they are unpacked.
  std::vector<ChunkAhead> LookAhead(std::size_t chunks, std::size_t unpacked_bytes) const;

  // Gives the next chunk of a known kind with a good checksum. False: the end; health() is final then. `ahead` are
  // chunks that were opened, in order: what is known of them is not found out again.
  bool Next(Chunk* chunk, std::span<const ChunkAhead> ahead = {});
  // Where in the file it is.
  std::size_t offset() const { return next_; }

  // The caller could not decode a chunk that Next gave.
  void RejectOne();

  const TraceHealth& health() const { return health_; }
  // The format version of a chunk that was too new for this build, 0 without one.
  uint16_t newer_version() const { return newer_version_; }
  // A header of ours with a good checksum was seen: the file is a trace, however damaged.
  bool has_found_header() const { return has_found_header_; }

 private:
  struct Sequences {
    std::unordered_set<uint64_t> read;               // chunks whose records are in
    std::unordered_map<uint64_t, uint64_t> damaged;  // chunks that are there, but not readable, and how often
  };
  std::size_t left() const { return bytes_.size() - next_; }
  const unsigned char* At(std::size_t offset) const;
  bool TakeChunk(Chunk* chunk, std::span<const ChunkAhead> ahead);
  bool TakeBody(const trace::ChunkHeader& header, const ChunkAhead* ahead, Chunk* chunk);
  void SkipNewer(const trace::ChunkHeader& header);
  void TakeTornBody(const trace::ChunkHeader& header);
  void TakeBadBody(const trace::ChunkHeader& header, std::size_t end);
  void NoteDamaged(const trace::ChunkHeader& header);
  bool NoteRead(const trace::ChunkHeader& header);
  void ResumeAtHeader(std::size_t from, std::size_t accounted_end);
  std::size_t FindHeader(std::size_t from) const;
  std::size_t FindCutHeader(std::size_t from) const;
  void ForgiveTornWrites();
  void CountHoles();

  std::string_view bytes_;
  std::size_t next_ = 0;
  std::size_t failed_body_bytes_ = 0;
  std::vector<unsigned char> unpacked_;
  Unpacker unpacker_;
  std::unordered_map<trace::ProcessKey, Sequences, ProcessKeyHash> processes_;
  TraceHealth health_;
  uint16_t newer_version_ = 0;
  bool has_found_header_ = false;
};

}  // namespace gprof
