// Framing: a trace file is a sequence of chunks and nothing else. docs/trace-format.md explains it in prose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gprof/trace/crc32.h"

namespace gprof::trace {

inline constexpr unsigned char kChunkMagic[8] = {0xA9, 'g', 'p', 'r', 'o', 'f', 0x0D, 0x0A};
inline constexpr uint16_t kFormatVersion = 1;
inline constexpr std::size_t kChunkHeaderBytes = 96;
// A reader allocates for what a header says, so these bound what a damaged or hostile one can ask for.
inline constexpr uint32_t kMaxChunkRecords = 16384;
inline constexpr uint32_t kMaxBodyBytes = 8u << 20;

enum ChunkFlags : uint16_t {
  kChunkZstd = 1,
  kChunkCollector = 2,  // written by a process of gprof-cli that looks at the program from outside
};

// Tells apart the processes of a run, also when a pid is used twice or hosts share the file.
struct ProcessKey {
  uint64_t host = 0;         // hash of host name and boot id
  uint64_t start_ticks = 0;  // field 22 of /proc/<pid>/stat
  uint32_t pid = 0;
  uint32_t image = 0;  // differs after exec, when pid and start stay the same
  friend bool operator==(const ProcessKey& a, const ProcessKey& b) {
    return a.host == b.host && a.start_ticks == b.start_ticks && a.pid == b.pid && a.image == b.image;
  }
};

struct ChunkHeader {
  uint16_t version = kFormatVersion;
  uint16_t flags = 0;
  uint16_t kind = 0;            // the kind of the chunk's records; dictionary blocks come before them
  uint32_t record_count = 0;    // of that kind
  uint32_t body_bytes = 0;      // as stored
  uint32_t unpacked_bytes = 0;  // after decompression, equal to body_bytes without it
  ProcessKey process;
  uint64_t sequence = 0;  // counts the chunks of a process from 0: a hole is a lost chunk
  uint64_t first_ns = 0, last_ns = 0;
  uint64_t run = 0;  // random number of the recording, 0 when not known: the first chunk says whose file it is
  uint32_t body_crc = 0;
};

// Of the chunk without records by which the launcher makes a file a trace, before anything is recorded. No tracer
// counts so far.
inline constexpr uint32_t kFirstChunkImage = 0xfffe;

// Whether a trace of this size has no more than that chunk.
constexpr bool HoldsNothing(uint64_t file_bytes) { return file_bytes <= kChunkHeaderBytes; }

namespace file_detail {
inline void Put(unsigned char*& p, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) *p++ = static_cast<unsigned char>(v >> (8 * i));
}
inline uint64_t Get(const unsigned char*& p, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; ++i) v |= static_cast<uint64_t>(*p++) << (8 * i);
  return v;
}
}  // namespace file_detail

// The layout, byte for byte; ReadHeader is its mirror.
inline void WriteHeader(const ChunkHeader& h, unsigned char* out) {
  using file_detail::Put;
  unsigned char* p = out;
  std::memcpy(p, kChunkMagic, 8);
  p += 8;
  Put(p, h.version, 2);
  Put(p, h.flags, 2);
  Put(p, h.kind, 2);
  Put(p, kChunkHeaderBytes, 2);
  Put(p, h.record_count, 4);
  Put(p, h.body_bytes, 4);
  Put(p, h.unpacked_bytes, 4);
  Put(p, h.process.pid, 4);
  Put(p, h.process.host, 8);
  Put(p, h.process.start_ticks, 8);
  Put(p, h.process.image, 4);
  Put(p, 0, 4);  // reserved
  Put(p, h.sequence, 8);
  Put(p, h.first_ns, 8);
  Put(p, h.last_ns, 8);
  Put(p, h.run, 8);
  Put(p, h.body_crc, 4);
  Put(p, Crc32(out, kChunkHeaderBytes - 4), 4);
}

enum class HeaderStatus : uint8_t { kGood, kNotAChunk, kBadChecksum, kTooNew, kNonsense };

// `in` must hold kChunkHeaderBytes bytes.
inline HeaderStatus ReadHeader(const unsigned char* in, ChunkHeader* h) {
  using file_detail::Get;
  if (std::memcmp(in, kChunkMagic, 8) != 0) return HeaderStatus::kNotAChunk;
  const unsigned char* p = in + kChunkHeaderBytes - 4;
  if (Get(p, 4) != Crc32(in, kChunkHeaderBytes - 4)) return HeaderStatus::kBadChecksum;
  p = in + 8;
  h->version = static_cast<uint16_t>(Get(p, 2));
  h->flags = static_cast<uint16_t>(Get(p, 2));
  h->kind = static_cast<uint16_t>(Get(p, 2));
  const uint64_t header_bytes = Get(p, 2);
  h->record_count = static_cast<uint32_t>(Get(p, 4));
  h->body_bytes = static_cast<uint32_t>(Get(p, 4));
  h->unpacked_bytes = static_cast<uint32_t>(Get(p, 4));
  h->process.pid = static_cast<uint32_t>(Get(p, 4));
  h->process.host = Get(p, 8);
  h->process.start_ticks = Get(p, 8);
  h->process.image = static_cast<uint32_t>(Get(p, 4));
  Get(p, 4);
  h->sequence = Get(p, 8);
  h->first_ns = Get(p, 8);
  h->last_ns = Get(p, 8);
  h->run = Get(p, 8);
  h->body_crc = static_cast<uint32_t>(Get(p, 4));
  if (h->version > kFormatVersion) return HeaderStatus::kTooNew;
  const bool sane = header_bytes == kChunkHeaderBytes && h->record_count <= kMaxChunkRecords &&
                    h->body_bytes <= kMaxBodyBytes && h->unpacked_bytes <= kMaxBodyBytes;
  return sane ? HeaderStatus::kGood : HeaderStatus::kNonsense;
}

// Whether a file that begins with these bytes is the trace of that recording. Device and inode do not tell: an inode
// number is given away again as soon as its file is deleted.
inline bool IsFileOfRun(const unsigned char (&first)[kChunkHeaderBytes], uint64_t run) {
  ChunkHeader header;
  return ReadHeader(first, &header) == HeaderStatus::kGood && header.run == run;
}

}  // namespace gprof::trace
