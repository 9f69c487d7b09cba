#include "trace/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "gprof/error.h"
#include "gprof/trace.h"
#include "trace/builder.h"
#include "trace/foreign.h"
#include "trace/mapped_file.h"
#include "trace/rows.h"
#include "trace/saturate.h"

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

Trace LoadTraceFromMemory(std::string_view bytes, const std::string& path) {
  CheckStart(bytes, path);
  const RecordCounts counts = CountRecords(bytes);
  CheckSize(counts, path);
  TraceBuilder builder(path);
  builder.Reserve(counts);
  Reader reader(bytes);
  RowDecoder decoder;
  uint64_t unknown_records = 0;
  for (Chunk chunk; reader.Next(&chunk);) {
    if (chunk.is_duplicate) continue;
    builder.BeginChunk(chunk.header);
    const BodyResult body = decoder.Decode(chunk, [&](auto rows) { builder.AddRows(rows); });
    builder.EndChunk();
    unknown_records = AddSaturating(unknown_records, body.unknown_records);
    if (!body.is_good) reader.RejectLast();
  }
  CheckIsTrace(reader, bytes, path);
  TraceHealth health = reader.health();
  health.unknown_records = AddSaturating(health.unknown_records, unknown_records);
  return builder.Finish(health);
}

Trace LoadTrace(const std::string& path) {
  const MappedFile file(path);
  return LoadTraceFromMemory(file.bytes(), path);
}

}  // namespace gprof
