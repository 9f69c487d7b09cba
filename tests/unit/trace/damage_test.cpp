// What a damaged trace loses, and that everything else is read and the loss is counted.
#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "chunks.h"
#include "gprof/error.h"
#include "gprof/trace/wire.h"
#include "random_trace.h"
#include "trace_text.h"

namespace gprof {
namespace {

Trace Load(std::string_view bytes) { return LoadTraceFromMemory(bytes, "test.trace"); }

// A chunk of every kind, two records each, from one process.
std::string EveryKindTrace() {
  Random random(3);
  Dictionary dictionary;
  ChunkWriterOptions options;
  options.process.pid = 5;
  ChunkWriter writer(&dictionary, options);
  trace::ForEachKind([&](auto* null_record) {
    using R = std::decay_t<decltype(*null_record)>;
    for (int i = 0; i < 2; ++i) writer.Add(RandomRecord<R>(random, dictionary));
  });
  std::string bytes;
  writer.Take(&bytes);
  return bytes;
}

// Four chunks: small enough to be flipped bit by bit.
constexpr char kFourChunks[] = R"(
chunk pid=7
process start_ns=100 pid=7 name="app"
api start_ns=200 duration_ns=50 tid=70 correlation=5 function="cudaLaunchKernel" domain=1
kernel start_ns=300 duration_ns=100 context=1 stream=13 correlation=5 name="saxpy"
end time_ns=1000 reason=1
)";

TEST(Damage, ACutAtEveryByteCostsOnlyTheChunkThatIsCut) {
  const std::string bytes = EveryKindTrace();
  std::vector<std::size_t> ends;
  for (const std::string& chunk : SplitChunks(bytes)) ends.push_back((ends.empty() ? 0 : ends.back()) + chunk.size());
  ASSERT_EQ(ends.size(), trace::AllRecords::kCount);
  std::size_t whole = 0;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    while (ends[whole] <= size) ++whole;
    const bool is_cut = whole == 0 || size != ends[whole - 1];
    const TraceHealth h = Load(bytes.substr(0, size)).health;
    ASSERT_EQ(h.chunks, whole) << size;
    ASSERT_EQ(h.is_truncated, is_cut) << size;
    ASSERT_EQ(h.damaged_chunks + h.skipped_bytes + h.missing_chunks, 0u) << size;
    ASSERT_FALSE(h.IsComplete() && is_cut) << size;
  }
}

TEST(Damage, EveryFlippedBitCostsOneChunkAndIsCounted) {
  const std::string good = AssembleTrace(kFourChunks);
  ASSERT_TRUE(Load(good).health.IsComplete());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    const TraceHealth h = Load(bytes).health;
    ASSERT_EQ(h.chunks, 3u) << bit;
    ASSERT_FALSE(h.IsComplete()) << bit;
    ASSERT_GT(h.damaged_chunks + h.skipped_bytes, 0u) << bit;
  }
}

TEST(Damage, EveryWrongByteInEveryKindCostsOneChunk) {
  const std::string good = EveryKindTrace();
  const uint64_t chunks = Load(good).health.chunks;
  Random random(4);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ static_cast<char>(1 + random.Below(255)));
    ASSERT_EQ(Load(bytes).health.chunks, chunks - 1) << i;
  }
}

TEST(Damage, GarbageBetweenChunksIsSkippedAndCounted) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  const std::string magic(reinterpret_cast<const char*>(trace::kChunkMagic), 8);
  for (const std::string& garbage :
       {std::string("x"), std::string(95, 'y'), std::string(1000, '\xA9'), magic, magic.substr(0, 4),
        magic + std::string(200, '\0'), std::string(chunks[1].substr(0, 96)).replace(20, 1, "?")}) {
    for (std::size_t at = 0; at < chunks.size(); ++at) {
      std::vector<std::string> parts = chunks;
      parts[at].insert(0, garbage);
      const TraceHealth h = Load(Join(parts)).health;
      EXPECT_EQ(h.chunks, 4u);
      EXPECT_EQ(h.skipped_bytes, garbage.size());
      EXPECT_EQ(h.damaged_chunks + h.missing_chunks, 0u);
      EXPECT_FALSE(h.is_truncated);
    }
  }
}

TEST(Damage, BytesAtTheEndAreSkippedUnlessTheyBeginAChunk) {
  const std::string good = AssembleTrace(kFourChunks);
  EXPECT_EQ(Load(good + "some more bytes").health.skipped_bytes, 15u);
  EXPECT_FALSE(Load(good + "some more bytes").health.is_truncated);
  const TraceHealth h = Load(good + "xy" + good.substr(0, 50)).health;
  EXPECT_EQ(h.skipped_bytes, 2u);
  EXPECT_TRUE(h.is_truncated);
}

TEST(Damage, ATornWriteCostsItsChunkOnly) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  for (std::size_t kept = 1; kept < chunks[1].size(); ++kept) {
    const std::string bytes = chunks[0] + chunks[1].substr(0, kept) + chunks[2] + chunks[3];
    const TraceHealth h = Load(bytes).health;
    ASSERT_EQ(h.chunks, 3u) << kept;
    ASSERT_EQ(h.damaged_chunks, kept < trace::kChunkHeaderBytes ? 0u : 1u) << kept;
    ASSERT_EQ(h.missing_chunks, kept < trace::kChunkHeaderBytes ? 1u : 0u) << kept;
    ASSERT_FALSE(h.is_truncated);
  }
}

TEST(Damage, AMissingChunkIsAHole) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  for (std::size_t missing = 0; missing < 3; ++missing) {
    std::vector<std::string> rest = chunks;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(missing));
    const TraceHealth h = Load(Join(rest)).health;
    EXPECT_EQ(h.missing_chunks, 1u);
    EXPECT_FALSE(h.IsComplete());
  }
}

TEST(Damage, ALostLastChunkLeavesTheProcessUnfinished) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  const Trace t = Load(chunks[0] + chunks[1] + chunks[2]);
  EXPECT_EQ(t.health.unfinished_processes, 1u);
  EXPECT_FALSE(t.processes[0].has_end);
  EXPECT_FALSE(t.health.IsComplete());
}

TEST(Damage, AChunkReadTwiceCountsOnce) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  const Trace t = Load(Join(chunks) + chunks[2] + chunks[1]);
  EXPECT_EQ(t.health.duplicate_chunks, 2u);
  EXPECT_EQ(t.health.chunks, 4u);
  EXPECT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.api_calls.size(), 1u);
  EXPECT_EQ(t.health.missing_chunks, 0u);
}

TEST(Damage, AGoodCopyReplacesADamagedChunk) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  std::string bad = chunks[2];
  bad.back() = static_cast<char>(bad.back() ^ 1);
  const Trace t = Load(chunks[0] + chunks[1] + bad + chunks[3] + chunks[2]);
  EXPECT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.health.duplicate_chunks, 1u);
  EXPECT_EQ(t.health.damaged_chunks, 0u);
}

// As when a process is killed within a write, and what it left is recovered.
TEST(Damage, ATornChunkThatWasWrittenAgainIsNoLoss) {
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  for (std::size_t kept = trace::kChunkHeaderBytes; kept < chunks[1].size(); ++kept) {
    const std::string torn = chunks[1].substr(0, kept);
    const TraceHealth h = Load(chunks[0] + torn + torn + chunks[1] + chunks[2] + chunks[3]).health;
    ASSERT_EQ(h.chunks, 4u) << kept;
    ASSERT_EQ(h.damaged_chunks + h.missing_chunks + h.skipped_bytes, 0u) << kept;
    ASSERT_EQ(h.duplicate_chunks, 2u) << kept;
    ASSERT_TRUE(h.IsComplete()) << kept;
  }
}

TEST(Damage, ChunksOfSeveralProcessesMayComeInAnyOrder) {
  std::string other(kFourChunks);
  other.replace(other.find("pid=7"), 5, "pid=8");
  const std::vector<std::string> a = SplitChunks(AssembleTrace(kFourChunks)), b = SplitChunks(AssembleTrace(other));
  const std::string mixed = b[2] + a[0] + b[0] + a[3] + b[3] + a[2] + a[1] + b[1];
  const Trace t = Load(mixed);
  EXPECT_TRUE(t.health.IsComplete());
  EXPECT_EQ(t.processes.size(), 2u);
  ASSERT_EQ(t.ops.size(), 2u);
  for (const GpuOp& op : t.ops) {
    ASSERT_NE(op.api, kNone);
    EXPECT_EQ(t.api_calls[op.api].process, op.process);
    EXPECT_EQ(t.Text(op.name), "saxpy");
  }
  EXPECT_EQ(t.health.unmatched_ops, 0u);
}

TEST(Damage, ChunksOfUnknownKindsAreCountedAndSkipped) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  chunks[2] = WithHeader(chunks[2], [](trace::ChunkHeader& h) { h.kind = 999, h.record_count = 12; });
  const TraceHealth h = Load(Join(chunks)).health;
  EXPECT_EQ(h.unknown_chunks, 1u);
  EXPECT_EQ(h.unknown_records, 12u);
  EXPECT_EQ(h.chunks, 3u);
  EXPECT_EQ(h.missing_chunks, 0u);
  EXPECT_FALSE(h.IsComplete());
}

TEST(Damage, ChunksWithUnknownFlagsAreCountedAndSkipped) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  chunks[2] = WithHeader(chunks[2], [](trace::ChunkHeader& h) { h.flags = 1u << 15; });
  EXPECT_EQ(Load(Join(chunks)).health.unknown_chunks, 1u);
}

TEST(Damage, ChunksOfANewerVersionAmongOthersAreSkipped) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  chunks[1] = WithHeader(chunks[1], [](trace::ChunkHeader& h) { h.version = 2; });
  const TraceHealth h = Load(Join(chunks)).health;
  EXPECT_EQ(h.unknown_chunks, 1u);
  EXPECT_EQ(h.chunks, 3u);
  EXPECT_EQ(h.skipped_bytes, 0u);
}

std::string Body(const std::function<void(trace::ByteWriter&)>& write) {
  std::vector<unsigned char> bytes(1 << 16);
  trace::ByteWriter out(bytes.data(), bytes.size());
  write(out);
  EXPECT_FALSE(out.overflow());
  return {reinterpret_cast<const char*>(bytes.data()), out.size()};
}

trace::ChunkHeader ThreadHeader(uint32_t records) {
  trace::ChunkHeader h;
  h.kind = static_cast<uint16_t>(trace::RecordKind::kThread);
  h.process.pid = 7;
  h.record_count = records;
  return h;
}

TEST(Damage, BlocksOfUnknownKindsWithinAChunkAreSkipped) {
  const std::string body = Body([](trace::ByteWriter& out) {
    out.Varint(4000), out.Varint(3), out.Varint(1), out.Varint(2), out.Byte(0), out.Byte(0);
    trace::ThreadRecord r;
    r.tid = 9;
    EncodeBlock(&r, 1, out);
  });
  const Trace t = Load(MakeChunk(ThreadHeader(1), body));
  EXPECT_EQ(t.health.unknown_records, 3u);
  EXPECT_EQ(t.health.damaged_chunks, 0u);
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.threads[0].tid, 9u);
}

TEST(Damage, ABodyThatAsksForMoreRecordsThanAChunkMayHoldIsDamaged) {
  const std::string body = Body([](trace::ByteWriter& out) {
    for (int i = 0; i < 1000; ++i) {  // 16 million records in 7 kB
      out.Varint(4), out.Varint(trace::kMaxChunkRecords), out.Varint(1), out.Varint(3);
      out.Byte(0), out.Byte(1), out.Byte(5);
    }
  });
  const Trace t = Load(MakeChunk(ThreadHeader(1), body));
  EXPECT_EQ(t.health.damaged_chunks, 1u);
  EXPECT_LE(t.record_count, trace::kMaxChunkRecords);
}

TEST(Damage, ABodyThatDoesNotDecodeIsDamaged) {
  for (const std::string& body : {std::string("\x04\x01\x02\x7F", 4), std::string("\x04\x01\x01\x02\x09\x00", 6),
                                  std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 11)}) {
    const Trace t = Load(MakeChunk(ThreadHeader(1), body));
    EXPECT_EQ(t.health.damaged_chunks, 1u);
    EXPECT_EQ(t.health.chunks, 0u);
  }
}

std::string Compressed(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

TEST(Damage, CompressedBodiesMustHaveTheSizeThatTheHeaderSays) {
  trace::ThreadRecord r;
  r.tid = 9;
  const std::string body = Body([&](trace::ByteWriter& out) { EncodeBlock(&r, 1, out); });
  const auto damaged = [&](std::string_view packed, std::size_t unpacked) {
    trace::ChunkHeader h = ThreadHeader(1);
    h.flags = trace::kChunkZstd;
    h.unpacked_bytes = static_cast<uint32_t>(unpacked);
    return Load(MakeChunk(h, packed)).health.damaged_chunks;
  };
  const std::string packed = Compressed(body);
  EXPECT_EQ(damaged(packed, body.size()), 0u);
  EXPECT_EQ(damaged(packed, body.size() - 1), 1u);
  EXPECT_EQ(damaged(packed, body.size() + 1), 1u);
  EXPECT_EQ(damaged(packed.substr(0, packed.size() - 1), body.size()), 1u);
  EXPECT_EQ(damaged("not zstd", body.size()), 1u);
  EXPECT_EQ(damaged(Compressed(std::string(64 << 20, 'x')), 100), 1u);  // 64 MiB in a few kB
}

TEST(Damage, AHeaderWithSizesOutOfBoundsIsDamaged) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  chunks[1] = WithHeader(chunks[1], [](trace::ChunkHeader& h) { h.body_bytes = trace::kMaxBodyBytes + 1; });
  const TraceHealth h = Load(Join(chunks)).health;
  EXPECT_EQ(h.damaged_chunks, 1u);
  EXPECT_EQ(h.chunks, 3u);
}

TEST(Damage, ManyHeadersThatClaimTheSameBytesDoNotMakeReadingQuadratic) {
  // Each of 40,000 headers claims 8 MB of body: 320 GB of checksums, were there no budget.
  trace::ChunkHeader h = ThreadHeader(1);
  h.body_bytes = trace::kMaxBodyBytes;
  unsigned char head[trace::kChunkHeaderBytes];
  WriteHeader(h, head);
  std::string bytes;
  for (int i = 0; i < 40000; ++i) bytes.append(reinterpret_cast<const char*>(head), sizeof head);
  bytes.append(trace::kMaxBodyBytes, '\0');
  const TraceHealth health = Load(bytes).health;
  EXPECT_GT(health.damaged_chunks, 0u);
  EXPECT_LT(health.damaged_chunks, 1000u);
}

TEST(Damage, SequenceNumbersAreNeverTrustedForAllocation) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace(kFourChunks));
  chunks[3] = WithHeader(chunks[3], [](trace::ChunkHeader& h) { h.sequence = ~uint64_t{0}; });
  EXPECT_EQ(Load(Join(chunks)).health.missing_chunks, ~uint64_t{0} - 3);
}

}  // namespace
}  // namespace gprof
