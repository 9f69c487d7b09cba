// What the reader does by itself for speed, against the plain way of doing it in gprof/trace.
#include "trace/columns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chunks.h"
#include "gprof/trace/crc32.h"
#include "random_trace.h"
#include "trace/checksum.h"
#include "trace_text.h"

namespace gprof {
namespace {

constexpr std::size_t kRecords = 3000;

std::string Block(const std::vector<trace::ApiRecord>& calls) {
  std::string bytes(1u << 20, '\0');
  trace::ByteWriter out(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size());
  trace::EncodeBlock(calls.data(), calls.size(), out);
  bytes.resize(out.size());
  return bytes;
}

trace::BlockView ViewOf(const std::string& bytes) {
  trace::ByteReader body(AsBytes(bytes), bytes.size());
  trace::BlockView view;
  EXPECT_TRUE(NextBlock(body, &view));
  return view;
}

// Numbers of any length, in runs of lengths that are alike.
std::vector<trace::ApiRecord> Calls(Random& random) {
  std::vector<trace::ApiRecord> calls(kRecords);
  uint64_t most = 1;
  for (trace::ApiRecord& call : calls) {
    if (random.Below(8) == 0) most = uint64_t{1} << random.Below(64);
    call.start_ns = random.Next() % most;
    call.duration_ns = random.Next() % most;
    call.correlation = static_cast<uint32_t>(random.Below(3));
  }
  return calls;
}

TEST(Columns, NumbersOfAnyLengthAreWhatTheyWereAsRows) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    const std::vector<trace::ApiRecord> calls = Calls(random);
    const std::string bytes = Block(calls);
    BlockColumns<trace::ApiRecord> columns;
    ASSERT_TRUE(columns.Find(ViewOf(bytes)));
    std::vector<uint64_t> starts(kRecords), durations(kRecords), correlations(kRecords), tids(kRecords);
    ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::start_ns), starts.data(), kRecords));
    ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::duration_ns), durations.data(), kRecords));
    ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::correlation), correlations.data(), kRecords));
    ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::tid), tids.data(), kRecords));
    for (std::size_t i = 0; i < kRecords; ++i) {
      ASSERT_EQ(starts[i], calls[i].start_ns);
      ASSERT_EQ(durations[i], calls[i].duration_ns);
      ASSERT_EQ(correlations[i], calls[i].correlation);
      ASSERT_EQ(tids[i], 0u);
    }
  }
}

TEST(Columns, ANumberThatDoesNotEndIsDamage) {
  Random random(2);
  std::vector<uint64_t> out(kRecords);
  for (int round = 0; round < 50; ++round) {
    const std::string bytes = Block(Calls(random));
    BlockColumns<trace::ApiRecord> columns;
    ASSERT_TRUE(columns.Find(ViewOf(bytes)));
    ColumnView column = columns.Of(&trace::ApiRecord::duration_ns);
    ASSERT_EQ(column.encoding, trace::Encoding::kVarint);
    column.size_bytes -= 1;  // data of a column may be longer than it needs, never shorter
    EXPECT_FALSE(DecodeNumbers(column, out.data(), kRecords));
    column.size_bytes = 0;
    EXPECT_FALSE(DecodeNumbers(column, out.data(), kRecords));
  }
  const std::string endless(20, '\xFF');
  EXPECT_FALSE(DecodeNumbers({AsBytes(endless), endless.size(), trace::Encoding::kVarint, true}, out.data(), 1));
}

// The times of calls are looked at when their names and threads have been taken already.
TEST(Columns, ABlockWithDamagedTimesIsLeftOutAndTheRestIsRead) {
  std::vector<trace::ApiRecord> calls(100);
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].start_ns = 1000 + i * i, calls[i].tid = 7;
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kApi);
  header.record_count = static_cast<uint32_t>(calls.size());
  std::string body = Block(calls), damaged = body;
  BlockColumns<trace::ApiRecord> columns;
  ASSERT_TRUE(columns.Find(ViewOf(damaged)));
  const ColumnView& starts = columns.Of(&trace::ApiRecord::start_ns);
  damaged[static_cast<std::size_t>(starts.data - AsBytes(damaged)) + starts.size_bytes - 1] |= '\x80';
  std::string file = MakeChunk(header, body);
  for (header.sequence = 1; header.sequence < 3; ++header.sequence) file += MakeChunk(header, damaged + body);
  file += MakeChunk(header, body);

  const Trace t = LoadTraceFromMemory(file, "test");
  EXPECT_EQ(t.api_calls.size(), 200u);
  EXPECT_EQ(t.record_count, 200u);
  EXPECT_EQ(t.health.damaged_chunks, 2u);
  EXPECT_EQ(t.health.chunks, 2u);
}

TEST(Columns, ChecksumsOfAnyLengthAreThoseOfTheFormat) {
  Random random(3);
  std::string bytes(4200, '\0');
  for (char& c : bytes) c = static_cast<char>(random.Next());
  for (std::size_t size = 0; size < 4100; size += 1 + size / 200) {
    const unsigned char* at = AsBytes(bytes) + random.Below(64);
    ASSERT_EQ(Checksum(at, size), trace::Crc32(at, size)) << size;
  }
}

}  // namespace
}  // namespace gprof
