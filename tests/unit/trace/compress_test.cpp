// Compressed traces hold what the plain ones do, and as much damage.
#include "trace/write/compress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "chunks.h"
#include "gprof/error.h"
#include "random_trace.h"
#include "trace_text.h"

namespace gprof {
namespace {

std::string Compressed(std::string_view bytes, CompressOptions options = {}, CompressedTrace* result = nullptr) {
  std::string out;
  const CompressedTrace got = CompressTrace(bytes, options, [&out](std::string_view piece) { out.append(piece); });
  EXPECT_EQ(got.bytes, out.size());
  EXPECT_LE(out.size(), bytes.size());
  if (result != nullptr) *result = got;
  return out;
}

// Every record and every count of damage; the flag of a chunk is the one thing that may differ.
std::string TextOf(std::string_view bytes) {
  std::string text;
  try {
    text = DumpText(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  for (std::size_t at = 0; (at = text.find(" zstd=1", at)) != std::string::npos;) text.erase(at, 7);
  return text;
}

void ExpectSameHealth(const TraceHealth& a, const TraceHealth& b) {
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.damaged_chunks, b.damaged_chunks);
  EXPECT_EQ(a.missing_chunks, b.missing_chunks);
  EXPECT_EQ(a.duplicate_chunks, b.duplicate_chunks);
  EXPECT_EQ(a.unknown_chunks, b.unknown_chunks);
  EXPECT_EQ(a.unknown_records, b.unknown_records);
  EXPECT_EQ(a.skipped_bytes, b.skipped_bytes);
  EXPECT_EQ(a.is_truncated, b.is_truncated);
  EXPECT_EQ(a.IsComplete(), b.IsComplete());
}

void ExpectSame(std::string_view plain, std::string_view compressed) {
  EXPECT_EQ(TextOf(plain), TextOf(compressed));
  ExpectSameHealth(LoadTraceFromMemory(plain, "t").health, LoadTraceFromMemory(compressed, "t").health);
}

// `chunks` chunks of kernels that compress well, and others that are too small to.
std::string KernelTrace(int chunks) {
  std::string text = "chunk pid=7\nprocess start_ns=100 pid=7 name=\"app\"\n";
  for (int c = 0; c < chunks; ++c) {
    text += "chunk kind=kernel pid=7\n";
    for (int i = 0; i < 500; ++i) {
      const std::string start = std::to_string(1000 * (500 * c + i) + i % 7 * 13);
      text += "kernel start_ns=" + start + " duration_ns=" + std::to_string(200 + i % 5) +
              " stream=" + std::to_string(i % 3) + " correlation=" + std::to_string(i + 1) + " name=\"k" +
              std::to_string(i % 11) + "\"\n";
    }
  }
  return AssembleTrace(text + "chunk pid=7\nend time_ns=900000000 reason=1\n");
}

TEST(Compress, HoldsTheSameInLess) {
  const std::string plain = KernelTrace(20);
  CompressedTrace result;
  const std::string compressed = Compressed(plain, {}, &result);
  EXPECT_GE(result.compressed_chunks, 20u);
  EXPECT_LT(result.compressed_chunks, SplitChunks(plain).size());
  EXPECT_LT(compressed.size(), plain.size() * 3 / 4);
  EXPECT_NE(DumpText(compressed).find(" zstd=1"), std::string::npos);
  ExpectSame(plain, compressed);
}

TEST(Compress, HeadersKeepAllButWhatIsStored) {
  const std::vector<std::string> plain = SplitChunks(KernelTrace(3)), compressed = SplitChunks(Compressed(Join(plain)));
  ASSERT_EQ(plain.size(), compressed.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const trace::ChunkHeader is = HeaderOf(compressed[i]);
    trace::ChunkHeader expected = HeaderOf(plain[i]);
    EXPECT_EQ(is.body_crc, trace::Crc32(AsBytes(BodyOf(compressed[i])), is.body_bytes));
    expected.flags = is.flags;
    expected.body_bytes = is.body_bytes;
    expected.body_crc = is.body_crc;
    EXPECT_EQ(WithHeader(plain[i], [&](trace::ChunkHeader& h) { h = expected; }).substr(0, trace::kChunkHeaderBytes),
              compressed[i].substr(0, trace::kChunkHeaderBytes));
  }
}

TEST(Compress, ChunksOfAnyKindsAndProcesses) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::string plain = RandomTrace(seed), compressed = Compressed(plain);
    ASSERT_EQ(TextOf(plain), TextOf(compressed)) << seed;
    ASSERT_EQ(Compressed(compressed), compressed) << seed;  // what is compressed stays as it is
  }
}

TEST(Compress, BytesDoNotDependOnThreadsAndBatches) {
  const std::string plain = KernelTrace(20), compressed = Compressed(plain);
  for (const std::size_t threads : {1, 2, 7}) {
    for (const std::size_t batch : {std::size_t{1}, std::size_t{5000}, plain.size()}) {
      CompressOptions options;
      options.threads = threads;
      options.batch_bytes = batch;
      EXPECT_EQ(Compressed(plain, options), compressed) << threads << " " << batch;
    }
  }
}

TEST(Compress, NothingToCompress) {
  for (const std::string& bytes :
       {std::string(), std::string("no trace at all"), std::string(100'000, '\xA9'), AssembleTrace("thread tid=3\n")}) {
    CompressedTrace result;
    EXPECT_EQ(Compressed(bytes, {}, &result), bytes);
    EXPECT_EQ(result.compressed_chunks, 0u);
  }
}

TEST(Compress, ADamagedChunkStaysWhatItIs) {
  std::vector<std::string> chunks = SplitChunks(KernelTrace(4));
  chunks[2][trace::kChunkHeaderBytes + 50] ^= 1;
  const std::string plain = Join(chunks), compressed = Compressed(plain);
  EXPECT_NE(compressed.find(chunks[2]), std::string::npos);
  EXPECT_LT(compressed.size(), plain.size());
  ExpectSame(plain, compressed);
}

TEST(Compress, UnknownKindsFlagsAndVersionsStayWhatTheyAre) {
  const std::function<void(trace::ChunkHeader&)> changes[] = {
      [](trace::ChunkHeader& h) { h.kind = 999; },
      [](trace::ChunkHeader& h) { h.flags = 2; },
      [](trace::ChunkHeader& h) { h.version = 2; },
      [](trace::ChunkHeader& h) { h.flags = trace::kChunkZstd; },  // its body is no zstd
      [](trace::ChunkHeader& h) { h.unpacked_bytes += 1; },
  };
  for (const auto& change : changes) {
    std::vector<std::string> chunks = SplitChunks(KernelTrace(4));
    chunks[2] = WithHeader(chunks[2], change);
    const std::string plain = Join(chunks), compressed = Compressed(plain);
    EXPECT_NE(compressed.find(chunks[2]), std::string::npos);
    EXPECT_LT(compressed.size(), plain.size());
    ExpectSame(plain, compressed);
  }
}

TEST(Compress, WhatALaterVersionKeepsInAHeaderStays) {
  std::vector<std::string> chunks = SplitChunks(KernelTrace(3));
  auto* const header = reinterpret_cast<unsigned char*>(chunks[1].data());
  header[52] = 77;  // reserved
  unsigned char* crc = header + trace::kChunkHeaderBytes - 4;
  trace::file_detail::Put(crc, trace::Crc32(header, trace::kChunkHeaderBytes - 4), 4);
  const std::string plain = Join(chunks), compressed = Compressed(plain);
  EXPECT_NE(compressed.find(chunks[1]), std::string::npos);
  ExpectSame(plain, compressed);
}

TEST(Compress, GarbageDuplicatesAndCutsAreCountedAsBefore) {
  const std::vector<std::string> chunks = SplitChunks(KernelTrace(4));
  const std::string all = Join(chunks);
  const std::string magic(reinterpret_cast<const char*>(trace::kChunkMagic), 8);
  const std::string torn = chunks[1].substr(0, chunks[1].size() / 2);
  for (const std::string& bytes : {
           "xyz" + all,
           chunks[0] + magic + std::string(300, 'z') + chunks[1] + chunks[2],
           chunks[0] + torn + chunks[2] + chunks[3] + chunks[4],  // the rest lies in what the torn one should have had
           all.substr(0, all.size() - 10),
           all + chunks[2] + chunks[3],
           all + "some more bytes",
           all + magic,
           chunks[0] + chunks[2] + chunks[4],
       }) {
    CompressOptions options;
    options.batch_bytes = 3000;
    ExpectSame(bytes, Compressed(bytes, options));
  }
}

TEST(Compress, EveryWrongByteIsCountedAsBefore) {
  const std::string good = KernelTrace(2);
  Random random(11);
  for (std::size_t i = 0; i < good.size(); i += 1 + random.Below(12)) {
    std::string plain = good;
    plain[i] = static_cast<char>(plain[i] ^ static_cast<char>(1 + random.Below(255)));
    const std::string compressed = Compressed(plain);
    const TraceHealth a = LoadTraceFromMemory(plain, "t").health, b = LoadTraceFromMemory(compressed, "t").health;
    ASSERT_EQ(a.chunks, b.chunks) << i;
    ASSERT_EQ(a.damaged_chunks, b.damaged_chunks) << i;
    ASSERT_EQ(a.skipped_bytes, b.skipped_bytes) << i;
    ASSERT_EQ(a.missing_chunks, b.missing_chunks) << i;
    ASSERT_EQ(a.is_truncated, b.is_truncated) << i;
  }
}

// Changed bytes, cuts, pieces twice and pieces elsewhere, several of them in each trace.
TEST(Compress, AnyDamageIsCountedAsBefore) {
  const std::string kernels = KernelTrace(2);
  Random random(2026);
  uint64_t compressed_chunks = 0;
  for (int round = 0; round < 300; ++round) {
    std::string plain =
        RandomTrace(static_cast<uint64_t>(round)) + kernels + RandomTrace(static_cast<uint64_t>(round) + 1);
    for (uint64_t n = 1 + random.Below(5); n > 0; --n) {
      const std::size_t at = random.Below(plain.size()), to = random.Below(plain.size());
      const std::string piece = plain.substr(at, 1 + random.Below(random.Below(2) == 0 ? 60 : 3000));
      switch (random.Below(4)) {
        case 0:
          plain[at] = static_cast<char>(plain[at] ^ (1 << random.Below(8)));
          break;
        case 1:
          plain.erase(at, piece.size());
          break;
        case 2:
          plain.insert(at, piece);
          break;
        default:
          plain.insert(to, piece);
          break;
      }
    }
    CompressedTrace result;
    CompressOptions options;
    options.batch_bytes = 1 + random.Below(8000);
    const std::string compressed = Compressed(plain, options, &result);
    compressed_chunks += result.compressed_chunks;
    ASSERT_EQ(TextOf(plain), TextOf(compressed)) << round;
    ExpectSameHealth(LoadTraceFromMemory(plain, "t").health, LoadTraceFromMemory(compressed, "t").health);
    ASSERT_FALSE(HasFailure()) << round;
  }
  EXPECT_GT(compressed_chunks, 300u);
}

TEST(Compress, ProgressGoesToTheEndAndMayEndTheWork) {
  const std::string plain = KernelTrace(20);
  CompressOptions options;
  options.batch_bytes = 1000;
  std::vector<uint64_t> done;
  options.progress = [&](uint64_t bytes) { done.push_back(bytes); };
  Compressed(plain, options);
  ASSERT_GT(done.size(), 5u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), plain.size());

  struct Enough {};
  options.progress = [](uint64_t) { throw Enough{}; };
  std::size_t written = 0;
  EXPECT_THROW(CompressTrace(plain, options, [&](std::string_view piece) { written += piece.size(); }), Enough);
  EXPECT_LT(written, plain.size() / 4);
}

}  // namespace
}  // namespace gprof
