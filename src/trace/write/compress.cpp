#include "trace/write/compress.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/machine/parallel.h"
#include "gprof/trace/file.h"
#include "trace/file/checksum.h"
#include "trace/file/reader.h"
#include "trace/file/unpack.h"

namespace gprof {
namespace {

using trace::ChunkHeader;
using trace::kChunkHeaderBytes;

// Of the trace, in its order.
struct Piece {
  std::size_t begin = 0, size = 0;
  ChunkHeader header;            // of a chunk that is to be compressed
  std::size_t place = 0;         // of the compressed chunk in the buffer
  std::size_t packed_bytes = 0;  // of it with its header; 0: the piece stays as it is
  bool is_chunk = false;         // false: none, or one that is left alone
};

class Compressor {
 public:
  Compressor(std::string_view bytes, const CompressOptions& options, const std::function<void(std::string_view)>& write)
      : bytes_(bytes), options_(options), write_(write), packers_(std::max<std::size_t>(1, options.threads)) {
    // A batch ends with the chunk that fills it. What is not used of it is never touched, and no memory.
    constexpr std::size_t kMostOfAChunk = kChunkHeaderBytes + trace::kMaxBodyBytes;
    buffer_.reset(new unsigned char[std::min(bytes.size(), options.batch_bytes + kMostOfAChunk)]);
  }

  CompressedTrace Run() {
    Reader reader(bytes_);
    Chunk chunk;
    while (reader.Next(&chunk)) {
      Leave(chunk.offset);
      Take(chunk);
      if (end_ - done_ >= options_.batch_bytes) Finish();
    }
    Leave(bytes_.size());
    Finish();
    return result_;
  }

 private:
  const unsigned char* At(std::size_t offset) const {
    return reinterpret_cast<const unsigned char*>(bytes_.data()) + offset;
  }

  // Up to `end` as it is.
  void Leave(std::size_t end) {
    if (end == end_) return;
    if (pieces_.empty() || pieces_.back().is_chunk) {
      pieces_.emplace_back();
      pieces_.back().begin = end_;
    }
    pieces_.back().size += end - end_;
    end_ = end;
  }

  // Whether nothing of the header is lost when it is written anew: what a later version may keep in there is not ours.
  bool IsWhatWeWrite(const Chunk& chunk) const {
    unsigned char again[kChunkHeaderBytes];
    WriteHeader(chunk.header, again);
    return std::memcmp(again, At(chunk.offset), sizeof again) == 0;
  }

  void Take(const Chunk& chunk) {
    const ChunkHeader& header = chunk.header;
    const std::size_t size = kChunkHeaderBytes + header.body_bytes;
    const bool is_plain = header.flags == 0 && header.unpacked_bytes == header.body_bytes && IsWhatWeWrite(chunk);
    if (!is_plain) return Leave(chunk.offset + size);
    Piece piece;
    piece.begin = chunk.offset;
    piece.size = size;
    piece.header = header;
    piece.place = used_bytes_;
    piece.is_chunk = true;
    pieces_.push_back(piece);
    used_bytes_ += size;  // never more than that is stored in its place
    end_ += size;
  }

  void Pack(Packer* packer, Piece* piece) {
    if (!piece->is_chunk) return;
    unsigned char* const out = buffer_.get() + piece->place;
    ChunkHeader& header = piece->header;
    const std::size_t packed =
        packer->Pack(At(piece->begin) + kChunkHeaderBytes, header.body_bytes, out + kChunkHeaderBytes);
    if (packed == 0) return;
    header.flags |= trace::kChunkZstd;
    header.body_bytes = static_cast<uint32_t>(packed);
    header.body_crc = Checksum(out + kChunkHeaderBytes, packed);
    WriteHeader(header, out);
    piece->packed_bytes = kChunkHeaderBytes + packed;
  }

  void PackAll() {
    const std::size_t threads = std::min(packers_.size(), pieces_.size());
    std::atomic<std::size_t> next{0};
    ForEachSideBySide(threads, threads, [&](std::size_t thread) {
      for (std::size_t i = next++; i < pieces_.size(); i = next++) Pack(&packers_[thread], &pieces_[i]);
    });
  }

  void Finish() {
    PackAll();
    for (const Piece& piece : pieces_) {
      const bool is_packed = piece.packed_bytes != 0;
      const auto* const packed = reinterpret_cast<const char*>(buffer_.get() + piece.place);
      const std::string_view out =
          is_packed ? std::string_view(packed, piece.packed_bytes) : bytes_.substr(piece.begin, piece.size);
      write_(out);
      result_.bytes += out.size();
      result_.compressed_chunks += is_packed ? 1 : 0;
    }
    pieces_.clear();
    used_bytes_ = 0;
    done_ = end_;
    options_.progress(done_);
  }

  std::string_view bytes_;
  const CompressOptions& options_;
  const std::function<void(std::string_view)>& write_;
  std::vector<Packer> packers_;
  std::vector<Piece> pieces_;       // of the batch
  std::size_t done_ = 0, end_ = 0;  // of the trace: written, and in pieces
  std::unique_ptr<unsigned char[]> buffer_;
  std::size_t used_bytes_ = 0;  // of it
  CompressedTrace result_;
};

}  // namespace

CompressedTrace CompressTrace(std::string_view bytes, const CompressOptions& options,
                              const std::function<void(std::string_view)>& write) {
  return Compressor(bytes, options, write).Run();
}

}  // namespace gprof
