#include "trace/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gprof/error.h"
#include "gprof/trace.h"
#include "trace/builder.h"
#include "trace/foreign.h"
#include "trace/mapped_file.h"
#include "trace/rows.h"
#include "trace/saturate.h"
#include "trace/survey.h"

namespace gprof {
namespace {

std::string_view Magic() {
  return {reinterpret_cast<const char*>(trace::kChunkMagic), sizeof trace::kChunkMagic};
}

[[noreturn]] void FailAsForeign(std::string_view bytes, const std::string& path) {
  const ForeignFile file = RecogniseForeign(bytes, path);
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot read '{}': not a trace of gprof-cli, the file is {}", path, file.what),
              std::string(file.hint));
}

bool StartsLikeTrace(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), Magic().size());
  return bytes.substr(0, size) == Magic().substr(0, size);
}

}  // namespace

// Indexes of the model are 32 bits wide; kNone is taken.
void CheckSize(const RecordCounts& counts, const std::string& path) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum = AddSaturating(sum, count);
  if (sum < kNone) return;
  throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': {} records are more than fit in memory", path, sum),
              "record less at a time: --delay and --duration, or a capture range");
}

void CheckStart(std::string_view bytes, const std::string& path) {
  if (bytes.empty()) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': the file is empty", path),
                "the program that was to be recorded ended before anything was, or the disk is full; record it again");
  }
  if (IsSurelyForeign(bytes)) FailAsForeign(bytes, path);
}

void CheckIsTrace(const Reader& reader, std::string_view bytes, const std::string& path) {
  if (reader.health().chunks > 0) return;
  if (reader.newer_version() != 0) {
    throw Error(
        ExitCode::kUnreadable,
        fmt::format("cannot read '{}': written by a newer gprof-cli (format version {}, this one reads up to {})", path,
                    reader.newer_version(), trace::kFormatVersion),
        "use the gprof-cli that wrote it, or a newer one");
  }
  if (!reader.has_found_header() && !StartsLikeTrace(bytes)) FailAsForeign(bytes, path);
}

namespace {

// Takes the blocks of a chunk: calls, operations and NVTX events are surveyed, all else is given to the builder.
class ChunkSink {
 public:
  ChunkSink(TraceBuilder& builder, Survey& survey, const DamagedBlocks& damaged, const Chunk& chunk, std::string_view file)
      : builder_(builder), survey_(survey), damaged_(damaged), body_(chunk.body.next()) {
    bulk_.offset = chunk.offset;
    bulk_.stored = file.substr(chunk.offset + trace::kChunkHeaderBytes, chunk.header.body_bytes);
    bulk_.unpacked_bytes = chunk.header.unpacked_bytes;
    bulk_.is_packed = (chunk.header.flags & trace::kChunkZstd) != 0;
    bulk_.process = builder.process();
  }

  template <class R>
  void operator()(std::span<const R> rows) {
    builder_.AddRows(rows);
  }

  template <class R>
    requires kIsBulk<R>
  bool TakeBlock(const trace::BlockView& block, const R*) {
    if (block.record_count == 0) return true;
    if (damaged_.count({bulk_.offset, bulk_.blocks.size()}) != 0) return false;
    BulkBlock bulk;
    if (!survey_.Take<R>(block, [&](const R& r) { return builder_.FactsOf(r); }, &bulk)) return false;
    bulk.first_byte = static_cast<uint32_t>(block.columns.next() - body_);
    bulk.size_bytes = static_cast<uint32_t>(block.columns.left());
    builder_.CountRecords(block.record_count);
    bulk_.blocks.push_back(std::move(bulk));
    return true;
  }

  void MoveTo(std::vector<BulkChunk>* chunks) {
    if (!bulk_.blocks.empty()) chunks->push_back(std::move(bulk_));
  }

 private:
  TraceBuilder& builder_;
  Survey& survey_;
  const DamagedBlocks& damaged_;
  const unsigned char* body_;
  BulkChunk bulk_;
};

// Nothing: blocks were found to be damaged when the names and numbers in them had been taken already. They are in
// `damaged` now. is_read() is called when the bytes are not needed any more.
std::optional<Trace> TryToLoad(std::string_view bytes, const std::string& path, const std::function<void()>& is_read,
                               DamagedBlocks* damaged) {
  TraceBuilder builder(path);
  Reader reader(bytes);
  RowDecoder decoder;
  Survey survey;
  std::vector<BulkChunk> bulk;
  uint64_t unknown_records = 0;
  for (Chunk chunk; reader.Next(&chunk);) {
    if (chunk.is_duplicate) continue;
    builder.BeginChunk(chunk.header);
    ChunkSink sink(builder, survey, *damaged, chunk, bytes);
    const BodyResult body = decoder.Decode(chunk, sink);
    sink.MoveTo(&bulk);
    builder.EndChunk();
    unknown_records = AddSaturating(unknown_records, body.unknown_records);
    if (!body.is_good) reader.RejectLast();
  }
  CheckIsTrace(reader, bytes, path);
  TraceHealth health = reader.health();
  health.unknown_records = AddSaturating(health.unknown_records, unknown_records);
  if (!builder.Fill(std::move(bulk), damaged)) return std::nullopt;
  is_read();
  return builder.Finish(health);
}

Trace Load(std::string_view bytes, const std::string& path, const std::function<void()>& is_read) {
  CheckStart(bytes, path);
  CheckSize(CountRecords(bytes), path);
  DamagedBlocks damaged;
  for (;;) {
    if (std::optional<Trace> trace = TryToLoad(bytes, path, is_read, &damaged)) return std::move(*trace);
  }
}

}  // namespace

Trace LoadTraceFromMemory(std::string_view bytes, const std::string& path) {
  return Load(bytes, path, [] {});
}

Trace LoadTrace(const std::string& path) {
  const MappedFile file(path);
  return Load(file.bytes(), path, [&] { file.DropPages(); });
}

}  // namespace gprof
