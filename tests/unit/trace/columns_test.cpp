// What the reader does by itself for speed, against the plain way of doing it in gprof/trace.
#include "trace/file/columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chunks.h"
#include "gprof/trace/crc32.h"
#include "random_trace.h"
#include "trace/file/checksum.h"
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

// Counters that step evenly, or stay what they are, for a while.
std::vector<trace::ApiRecord> CallsInRuns(Random& random, std::size_t count) {
  std::vector<trace::ApiRecord> calls(count);
  uint64_t counter = 0, step = 0, left = 0;
  uint32_t same = 0;
  for (trace::ApiRecord& call : calls) {
    if (left-- == 0) {
      left = random.Below(random.Below(4) == 0 ? 300 : 6);
      step = random.Below(8) == 0 ? random.Next() : random.Below(5) - 2;
      same = static_cast<uint32_t>(random.Below(2) == 0 ? random.Below(4) : random.Next());
    }
    call.start_ns = counter += step;
    call.correlation = same;
  }
  return calls;
}

void ExpectRuns(const std::vector<trace::ApiRecord>& calls) {
  const std::string bytes = Block(calls);
  BlockColumns<trace::ApiRecord> columns;
  ASSERT_TRUE(columns.Find(ViewOf(bytes)));
  constexpr uint64_t kBehind = 0x1234;
  std::vector<uint64_t> starts(calls.size() + 1, kBehind), correlations(calls.size() + 1, kBehind);
  ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::start_ns), starts.data(), calls.size()));
  ASSERT_TRUE(DecodeNumbers(columns.Of(&trace::ApiRecord::correlation), correlations.data(), calls.size()));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(starts[i], calls[i].start_ns);
    ASSERT_EQ(correlations[i], calls[i].correlation);
  }
  EXPECT_EQ(starts.back(), kBehind);
  EXPECT_EQ(correlations.back(), kBehind);
}

TEST(Columns, RunsAreWhatTheyWereAndNothingIsWrittenBehindThem) {
  Random random(4);
  for (std::size_t count = 1; count < 40; ++count) ExpectRuns(CallsInRuns(random, count));
  for (int round = 0; round < 20; ++round) ExpectRuns(CallsInRuns(random, kRecords));
}

// The same runs without their values written out one by one.
TEST(Columns, ListsOfRunsAreWhatTheirValuesAre) {
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(kRecords, '\0');
    for (char& c : bytes) c = static_cast<char>(random.Below(40) == 0 ? random.Next() : 1 + random.Below(6));
    const ColumnView column{AsBytes(bytes), random.Below(bytes.size()), trace::Encoding::kRuns, true};
    const std::size_t count = 1 + random.Below(kRecords);
    std::vector<uint64_t> out(count);
    constexpr uint32_t kBehind = 77'777;
    std::vector<ColumnRun> runs(std::min(count, MostRuns(column)));
    runs.push_back({0, kBehind});
    const std::size_t found = DecodeRunList(column, runs.data(), count);
    ASSERT_EQ(runs.back().end, kBehind);
    ASSERT_EQ(found != 0, DecodeNumbers(column, out.data(), count));
    for (std::size_t run = 0, i = 0; run < found; ++run) {
      ASSERT_LT(i, runs[run].end);
      for (; i < runs[run].end; ++i) ASSERT_EQ(out[i], runs[run].value);
      ASSERT_EQ(i == count, run + 1 == found);
    }
  }
}

TEST(Columns, ARunThatIsTooLongIsDamage) {
  std::vector<uint64_t> out(8);
  std::vector<ColumnRun> runs(8);
  for (const trace::Encoding encoding : {trace::Encoding::kRuns, trace::Encoding::kDeltaRuns}) {
    const auto is_good = [&](const std::string& bytes) {
      const ColumnView column{AsBytes(bytes), bytes.size(), encoding, true};
      const bool are_numbers = DecodeNumbers(column, out.data(), out.size());
      EXPECT_EQ(are_numbers, DecodeRunList(column, runs.data(), runs.size()) != 0);
      return are_numbers;
    };
    EXPECT_TRUE(is_good(std::string("\x05\x01\x03\x02", 4)));
    EXPECT_FALSE(is_good(std::string("\x05\x01\x04\x02", 4)));
    EXPECT_FALSE(is_good(std::string("\x05\x01\x00\x02", 4)));
    EXPECT_FALSE(is_good(std::string("\x05\x01\x03", 3)));
    EXPECT_FALSE(is_good(std::string("\x05\x01\x03\x82", 4)));
    EXPECT_FALSE(is_good(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 11)));
  }
}

// Any bytes at all are the same numbers, or the same damage, to both ways.
TEST(Columns, NumbersAreTheSameOnAnyProcessor) {
  Random random(5);
  constexpr std::size_t kMost = 200;
  std::vector<uint64_t> fast(kMost), plain(kMost);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random.Below(kMost), '\0');
    const uint64_t long_ones = random.Below(5);
    for (char& c : bytes)
      c = static_cast<char>(random.Below(4) < long_ones ? random.Next() | 0x80 : random.Below(0x80));
    const trace::Encoding encoding = random.Below(2) == 0 ? trace::Encoding::kVarint : trace::Encoding::kDelta;
    const ColumnView column{AsBytes(bytes), bytes.size(), encoding, true};
    const std::size_t count = random.Below(kMost);
    const bool is_good = DecodeNumbers(column, fast.data(), count);
    ASSERT_EQ(is_good, DecodeNumbersPlainly(column, plain.data(), count));
    if (is_good) {
      ASSERT_TRUE(std::equal(fast.begin(), fast.begin() + static_cast<std::ptrdiff_t>(count), plain.begin()));
    }
  }
}

// Numbers of few bytes are taken many at a time, and differently where neighbours have equally many.
TEST(Columns, NeighboursOfAnyLengthsAreWhatTheyWere) {
  Random random(7);
  std::vector<uint64_t> numbers(kRecords), sums(kRecords), out(kRecords + 1);
  for (int round = 0; round < 40; ++round) {
    unsigned bits = 7;
    uint64_t left = 0, sum = 0;
    std::string bytes(10 * kRecords, '\0');
    trace::ByteWriter writer(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size());
    for (std::size_t i = 0; i < kRecords; ++i) {
      if (left-- == 0) bits = 7 * static_cast<unsigned>(1 + random.Below(round < 20 ? 4 : 10)), left = random.Below(30);
      numbers[i] = bits > 63 ? random.Next() : (uint64_t{1} << bits) - 1 - random.Below(uint64_t{1} << (bits - 1));
      sums[i] = sum += static_cast<uint64_t>(trace::UnZigZag(numbers[i]));
      writer.Varint(numbers[i]);
    }
    for (const bool is_sum : {false, true}) {
      const ColumnView column{AsBytes(bytes), writer.size(),
                              is_sum ? trace::Encoding::kDelta : trace::Encoding::kVarint, true};
      const std::vector<uint64_t>& expected = is_sum ? sums : numbers;
      out.back() = 0x1234;
      ASSERT_TRUE(DecodeNumbers(column, out.data(), kRecords));
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin())) << round;
      ASSERT_TRUE(DecodeNumbersPlainly(column, out.data(), kRecords));
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin())) << round;
      ASSERT_EQ(out.back(), 0x1234u);
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

// Copies of which some are alike, each by itself or some neighbours at a time.
std::vector<trace::MemcpyRecord> Copies(Random& random, unsigned size_bits, uint64_t most_alike) {
  std::vector<trace::MemcpyRecord> copies(2000);
  uint64_t alike_sizes = 0, alike_streams = 0, size_bytes = 0, stream = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    trace::MemcpyRecord& copy = copies[i];
    copy.start_ns = 1000 + 10 * i, copy.duration_ns = 5, copy.correlation = static_cast<uint32_t>(i + 1);
    if (alike_streams-- == 0) alike_streams = random.Below(most_alike), stream = random.Below(3);
    if (alike_sizes-- == 0) {
      alike_sizes = random.Below(most_alike);
      size_bytes = random.Below(2) == 0 ? random.Next() >> (64 - size_bits) : random.Below(2);
    }
    copy.stream = static_cast<uint32_t>(stream);
    copy.size_bytes = size_bytes;
  }
  return copies;
}

void ExpectCopies(const std::vector<trace::MemcpyRecord>& copies) {
  std::string body(1u << 20, '\0');
  trace::ByteWriter out(reinterpret_cast<unsigned char*>(body.data()), body.size());
  trace::EncodeBlock(copies.data(), copies.size(), out);
  body.resize(out.size());
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kMemcpy);
  header.record_count = static_cast<uint32_t>(copies.size());
  const Trace t = LoadTraceFromMemory(MakeChunk(header, body), "test");
  ASSERT_EQ(t.ops.size(), copies.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const GpuOp op = t.ops[i];
    ASSERT_EQ(op.correlation, copies[i].correlation);
    ASSERT_EQ(op.size_bytes, copies[i].size_bytes);
    ASSERT_EQ(op.stream == kNone ? 0 : t.streams[op.stream].id, copies[i].stream);
  }
}

// What many records have in common is found by numbers that fit side by side, or do not, record by record or run by
// run.
TEST(Columns, WhatRecordsHaveInCommonIsWhatEachOfThemHad) {
  Random random(6);
  for (const unsigned size_bits : {1u, 8u, 30u, 61u, 64u}) {
    for (const uint64_t most_alike : {1u, 3u, 12u, 100u, 3000u}) ExpectCopies(Copies(random, size_bits, most_alike));
  }
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
