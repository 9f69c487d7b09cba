#include "trace/load/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/machine/parallel.h"
#include "base/saturate.h"
#include "gprof/error.h"
#include "gprof/trace.h"
#include "trace/builder/builder.h"
#include "trace/file/file_kind.h"
#include "trace/file/mapped_file.h"
#include "trace/file/memory_budget.h"
#include "trace/file/typed_rows.h"
#include "trace/load/count_pass.h"
#include "trace/load/lacking_facts.h"

namespace gprof {
namespace {

[[noreturn]] void FailAsForeign(std::string_view bytes, const std::string& path) {
  const ForeignFile file = RecogniseForeign(bytes, path);
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot read '{}': not a gprof-cli trace, the file is {}", path, file.what),
              std::string(file.hint));
}

bool StartsLikeTrace(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), ChunkMagic().size());
  return bytes.substr(0, size) == ChunkMagic().substr(0, size);
}

bool IsOnlyFirstChunk(std::string_view bytes) {
  trace::ChunkHeader header;
  return bytes.size() == trace::kChunkHeaderBytes &&
         ReadHeader(reinterpret_cast<const unsigned char*>(bytes.data()), &header) == trace::HeaderStatus::kGood &&
         header.process.image == trace::kFirstChunkImage;
}

// Indexes of the model are 32 bits wide; kNone is taken.
void CheckRecordCount(uint64_t count, const std::string& path) {
  if (count < kNone) return;
  throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': {} records do not fit in memory", path, count),
              "record a shorter range: --delay and --duration, or a capture range");
}

}  // namespace

void CheckSize(const RecordCounts& counts, const std::string& path) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum = AddSaturating(sum, count);
  CheckRecordCount(sum, path);
}

void CheckStart(std::string_view bytes, const std::string& path) {
  if (bytes.empty()) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': the file is empty", path),
                "the program ended before anything was recorded, or the disk was full; record it again");
  }
  if (IsOnlyFirstChunk(bytes)) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': nothing has been recorded into it", path),
                "either the program is still running and nothing has been written yet, or it ended before anything was "
                "recorded");
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

// By the headers of the chunks, which say nothing of what else is in them.
uint64_t ExpectedMemory(std::string_view bytes) {
  uint64_t sum = 0;
  ForEachHeader(bytes, [&sum](const trace::ChunkHeader& header) {
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if (static_cast<uint16_t>(R::kKind) == header.kind) sum += header.record_count * kMemoryBytes<R>;
    });
  });
  return sum;
}

// A chunk whose calls, operations and NVTX events were counted.
struct CountedChunk {
  Chunk chunk;
  std::vector<CountedBlock> blocks;
};

// Takes the blocks of a chunk in order. The builder gives numbers to what is counted, and gets all else as it is.
class ChunkSink {
 public:
  ChunkSink(TraceBuilder& builder, const DamagedBlocks& damaged, CountedChunk& counted, std::string_view file,
            MemoryBudget& budget)
      : builder_(builder), damaged_(damaged), counted_(counted.blocks), budget_(budget) {
    const Chunk& chunk = counted.chunk;
    if ((chunk.header.flags & trace::kChunkZstd) != 0) budget_.Take(chunk.header.unpacked_bytes);  // texts, in the main
    bulk_.offset = chunk.offset;
    bulk_.stored = file.substr(chunk.offset + trace::kChunkHeaderBytes, chunk.header.body_bytes);
    bulk_.unpacked_bytes = chunk.header.unpacked_bytes;
    bulk_.is_packed = (chunk.header.flags & trace::kChunkZstd) != 0;
    bulk_.process = builder.process();
  }

  template <class R>
  void operator()(std::span<const R> rows) {
    budget_.Take(rows.size() * kMemoryBytes<R>);
    builder_.AddRows(rows);
  }

  template <class R>
  requires kIsBulk<R>
  bool TakeBlock(const trace::BlockView& block, const R*) {
    if (block.record_count == 0) return true;
    if (builder_.IsOfCollector()) return true;  // such a process makes no calls
    budget_.Take(block.record_count * kMemoryBytes<R>);
    if (damaged_.count({bulk_.offset, bulk_.blocks.size()}) != 0) return false;
    CountedBlock counted = std::move(counted_.at(bulk_.blocks.size()));  // there is one: it ends where this does
    if (!counted.is_good) return false;
    std::vector<BulkBlock::Common>& commons = counted.block.commons;
    for (std::size_t i = 0; i < commons.size(); ++i) commons[i].traits = builder_.RecentTraitsOf(counted.Row<R>(i));
    builder_.CountRecords(block.record_count);
    bulk_.blocks.push_back(std::move(counted.block));
    return true;
  }

  void MoveTo(std::vector<BulkChunk>* chunks) {
    if (!bulk_.blocks.empty()) chunks->push_back(std::move(bulk_));
  }

 private:
  TraceBuilder& builder_;
  const DamagedBlocks& damaged_;
  std::vector<CountedBlock>& counted_;
  MemoryBudget& budget_;
  BulkChunk bulk_;
};

// Some chunks at a time: checksums are computed and what is in bodies counted on all cores, then they are taken in
// their order.
class CountedChunks {
 public:
  CountedChunks(Reader& reader, std::string_view file) : reader_(reader), file_(file), cores_(ReadersOf(file.size())) {}

  // The next chunks. None: that was the last one.
  std::vector<CountedChunk>& Next() {
    chunks_.clear();
    bool is_end = false;
    while (chunks_.empty() && !is_end) {
      if (reader_.offset() >= ahead_end_) OpenAhead();
      is_end = ahead_.empty() ? !TakeOne() : !TakeAhead();
    }
    return chunks_;
  }

 private:
  struct Worker {
    BlockCounter counter;
    std::unique_ptr<Unpacker> unpacker = std::make_unique<Unpacker>();
  };
  static constexpr std::size_t kAtOnce = 256, kAtOnceOnOneCore = 16, kWorthThreads = 16;
  static constexpr std::size_t kMostBytes = 64u << 20;

  void OpenAhead() {
    ahead_ = reader_.LookAhead(cores_ == 1 ? kAtOnceOnOneCore : kAtOnce, kMostBytes);
    ahead_end_ = ahead_.empty() ? 0 : ahead_.back().end();
    const std::size_t cores = ahead_.size() >= kWorthThreads ? cores_ : 1;
    while (workers_.size() < cores) workers_.emplace_back();
    if (unpacked_.size() < ahead_.size()) unpacked_.resize(ahead_.size());
    blocks_.clear();
    blocks_.resize(ahead_.size());
    std::atomic<std::size_t> next{0};
    ForEachSideBySide(cores, cores, [&](std::size_t core) {
      Worker& worker = workers_[core];
      for (std::size_t i = next++; i < ahead_.size(); i = next++) {
        ahead_[i].Open(file_, *worker.unpacker, &unpacked_[i]);
        if (ahead_[i].body().has_value()) blocks_[i] = worker.counter.Read(*ahead_[i].body());
      }
    });
  }

  // These return false at the end of the file.
  bool TakeOne() {
    Chunk chunk;
    if (!reader_.Next(&chunk)) return false;
    if (!chunk.is_duplicate) chunks_.push_back({chunk, workers_.front().counter.Read(chunk.body)});
    return true;
  }
  bool TakeAhead() {
    for (Chunk chunk; reader_.offset() < ahead_end_;) {
      if (!reader_.Next(&chunk, ahead_)) return false;
      if (chunk.is_duplicate) continue;
      const ChunkAhead* const opened = FindAhead(ahead_, chunk.offset);
      if (opened == nullptr) {  // found behind damage; its body is good until the next call
        chunks_.push_back({chunk, workers_.front().counter.Read(chunk.body)});
        break;
      }
      chunks_.push_back({chunk, std::move(blocks_[static_cast<std::size_t>(opened - ahead_.data())])});
    }
    return true;
  }

  Reader& reader_;
  std::string_view file_;
  const std::size_t cores_;
  std::vector<Worker> workers_{1};  // one for each core
  std::vector<ChunkAhead> ahead_;
  uint64_t ahead_end_ = 0;  // in the file
  std::vector<std::vector<unsigned char>> unpacked_;
  std::vector<std::vector<CountedBlock>> blocks_;
  std::vector<CountedChunk> chunks_;
};

// The first pass: all of the file but what is left in the blocks that it returns. What it works with is gone when it
// returns, as the second pass needs as much on each core.
std::vector<BulkChunk> TakeChunks(Reader& reader, std::string_view bytes, const std::string& path,
                                  const DamagedBlocks& damaged, TraceBuilder& builder, uint64_t* unknown_records) {
  RowDecoder decoder;
  CountedChunks counter(reader, bytes);
  std::vector<BulkChunk> bulk;
  MemoryBudget budget(path, bytes.size());
  const auto take = [&](CountedChunk& counted) {
    builder.BeginChunk(counted.chunk.header);
    ChunkSink sink(builder, damaged, counted, bytes, budget);
    const BodyResult body = decoder.Decode(counted.chunk, sink);
    sink.MoveTo(&bulk);
    builder.EndChunk();
    CheckRecordCount(builder.record_count(), path);  // places are counted in 32 bits
    *unknown_records = AddSaturating(*unknown_records, body.unknown_records);
    if (!body.is_good) reader.RejectOne();
  };
  for (;;) {
    std::vector<CountedChunk>& chunks = counter.Next();
    if (chunks.empty()) return bulk;
    for (CountedChunk& chunk : chunks) take(chunk);
  }
}

// Nothing: blocks were found to be damaged when the names and numbers in them had been taken already. They are in
// `damaged` now. is_read() is called when the bytes are not needed any more.
std::optional<Trace> TryToLoad(std::string_view bytes, const std::string& path, const std::function<void()>& is_read,
                               DamagedBlocks* damaged) {
  TraceBuilder builder(path);
  Reader reader(bytes);
  uint64_t unknown_records = 0;
  std::vector<BulkChunk> bulk = TakeChunks(reader, bytes, path, *damaged, builder, &unknown_records);
  CheckIsTrace(reader, bytes, path);
  TraceHealth health = reader.health();
  health.unknown_records = AddSaturating(health.unknown_records, unknown_records);
  if (!builder.Fill(std::move(bulk), damaged)) return std::nullopt;
  constexpr std::size_t kWorthAThreadBytes = 1u << 20;
  std::optional<Trace> trace;
  ForEachSideBySide(2, bytes.size() >= kWorthAThreadBytes ? UsableCores() : 1,
                    [&](std::size_t part) { part == 0 ? is_read() : void(trace.emplace(builder.Finish(health))); });
  return trace;
}

Trace Load(std::string_view bytes, const std::string& path, const std::function<void()>& is_read) {
  CheckStart(bytes, path);
  // As early as headers tell. They may say less than there is: records that are all alike take no bytes of their own.
  if (bytes.size() >= kNone) CheckSize(CountRecords(bytes), path);
  MemoryBudget(path, bytes.size()).Expect(ExpectedMemory(bytes));
  DamagedBlocks damaged;
  for (;;) {
    std::optional<Trace> trace = TryToLoad(bytes, path, is_read, &damaged);
    if (!trace) continue;
    trace->lacks = LackingFactsOf(*trace);
    return std::move(*trace);
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
