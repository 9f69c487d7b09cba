// Taking traces apart and putting them together again, for tests of damage.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace/file.h"

namespace gprof {

inline const unsigned char* AsBytes(std::string_view s) { return reinterpret_cast<const unsigned char*>(s.data()); }

// Body and header as bytes; lengths and checksums are filled in.
inline std::string MakeChunk(trace::ChunkHeader header, std::string_view body) {
  header.body_bytes = static_cast<uint32_t>(body.size());
  if (header.flags == 0) header.unpacked_bytes = header.body_bytes;
  header.body_crc = trace::Crc32(AsBytes(body), body.size());
  unsigned char head[trace::kChunkHeaderBytes];
  WriteHeader(header, head);
  return std::string(reinterpret_cast<const char*>(head), sizeof head).append(body);
}

inline trace::ChunkHeader HeaderOf(std::string_view chunk) {
  trace::ChunkHeader header;
  ReadHeader(AsBytes(chunk), &header);
  return header;
}

inline std::string_view BodyOf(std::string_view chunk) { return chunk.substr(trace::kChunkHeaderBytes); }

// Changes the header of a chunk and makes its checksum right again.
inline std::string WithHeader(std::string_view chunk, const std::function<void(trace::ChunkHeader&)>& change) {
  trace::ChunkHeader header = HeaderOf(chunk);
  change(header);
  unsigned char head[trace::kChunkHeaderBytes];
  WriteHeader(header, head);
  return std::string(reinterpret_cast<const char*>(head), sizeof head).append(BodyOf(chunk));
}

inline std::vector<std::string> SplitChunks(std::string_view bytes) {
  std::vector<std::string> chunks;
  while (!bytes.empty()) {
    const std::size_t size = trace::kChunkHeaderBytes + HeaderOf(bytes).body_bytes;
    chunks.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return chunks;
}

inline std::string Join(const std::vector<std::string>& chunks) {
  std::string bytes;
  for (const std::string& chunk : chunks) bytes += chunk;
  return bytes;
}

}  // namespace gprof
