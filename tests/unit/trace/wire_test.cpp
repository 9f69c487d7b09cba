// Rows to columns and back, for every record kind.
#include "gprof/trace/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "chunks.h"
#include "random_trace.h"

namespace gprof {
namespace {

using trace::BlockView;
using trace::ByteReader;
using trace::ByteWriter;
using trace::Encoding;

// The encoding that a column of thread ids gets.
Encoding EncodingOf(const std::vector<uint32_t>& values, std::vector<uint32_t>* back) {
  std::vector<trace::ThreadRecord> rows(values.size()), read(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) rows[i].tid = values[i];
  std::vector<unsigned char> bytes(1 << 20);
  ByteWriter out(bytes.data(), bytes.size());
  EncodeBlock(rows.data(), rows.size(), out);
  ByteReader body(bytes.data(), out.size());
  BlockView block;
  EXPECT_TRUE(NextBlock(body, &block));
  EXPECT_TRUE(DecodeBlock(block, read.data()));
  for (const auto& r : read) back->push_back(r.tid);
  ByteReader columns = block.columns;
  return static_cast<Encoding>(columns.Byte());
}

TEST(Wire, ColumnsTakeTheShortestEncoding) {
  const auto check = [](const std::vector<uint32_t>& values, Encoding expected) {
    std::vector<uint32_t> back;
    EXPECT_EQ(EncodingOf(values, &back), expected);
    EXPECT_EQ(back, values);
  };
  check({0}, Encoding::kConstant);
  check({7, 7, 7, 7}, Encoding::kConstant);
  check({5, 90, 3, 77, 21, 60}, Encoding::kVarint);
  check({100000, 100300, 100200, 100900, 100100}, Encoding::kDelta);
  check(std::vector<uint32_t>(40, 1000), Encoding::kConstant);
  std::vector<uint32_t> runs(100, 3);
  runs.insert(runs.end(), 100, 900);
  check(runs, Encoding::kRuns);
  std::vector<uint32_t> steps;
  for (uint32_t i = 0; i < 300; ++i) steps.push_back(50000 + 2 * i);
  check(steps, Encoding::kDeltaRuns);
}

TEST(Wire, EdgesOfVarintsSurvive) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const int64_t off : {-1, 0, 1}) {
      const uint64_t v = (uint64_t{1} << bit) + static_cast<uint64_t>(off);
      unsigned char bytes[10];
      ByteWriter out(bytes, sizeof bytes);
      out.Varint(v);
      ASSERT_FALSE(out.overflow());
      ASSERT_EQ(out.size(), trace::VarintBytes(v));
      ByteReader in(bytes, out.size());
      EXPECT_EQ(in.Varint(), v);
      EXPECT_FALSE(in.failed());
      const auto s = static_cast<int64_t>(v);
      EXPECT_EQ(trace::UnZigZag(trace::ZigZag(s)), s);
    }
  }
}

TEST(Wire, ReadingPastTheEndFailsAndAnswersZero) {
  const unsigned char unfinished[] = {0x80, 0x80};
  ByteReader in(unfinished, sizeof unfinished);
  EXPECT_EQ(in.Varint(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.left(), 0u);
  EXPECT_EQ(in.Byte(), 0u);
  EXPECT_EQ(in.Bytes(1), nullptr);
  const unsigned char eleven[11] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01};
  ByteReader too_long(eleven, sizeof eleven);
  EXPECT_EQ(too_long.Varint(), 0u);
  EXPECT_TRUE(too_long.failed());
}

TEST(Wire, WritingPastTheEndIsRememberedAndStaysInside) {
  unsigned char bytes[4] = {1, 2, 3, 4};
  ByteWriter out(bytes, 3);
  out.Bytes("ab", 2);
  out.Varint(300);
  EXPECT_TRUE(out.overflow());
  EXPECT_EQ(bytes[3], 4);
}

template <class R>
class EveryKind : public testing::Test {};
template <class Tuple>
struct TypesOf;
template <class... R>
struct TypesOf<trace::RecordTypes<R...>> {
  using Type = testing::Types<R...>;
};
TYPED_TEST_SUITE(EveryKind, TypesOf<trace::AllRecords>::Type);

template <class R>
void ExpectSame(const R& a, const R& b) {
  std::vector<std::string> left, right;
  const auto collect = [](std::vector<std::string>* to) {
    return [to](const trace::FieldInfo& info, const auto& v) {
      using T = std::decay_t<decltype(v)>;
      if constexpr (std::is_same_v<T, trace::Text>) {
        to->push_back(std::string(info.name) + "=" + std::string(v.View()));
      } else if constexpr (std::is_integral_v<T>) {
        to->push_back(std::string(info.name) + "=" + std::to_string(v));
      } else {
        to->push_back(std::string(info.name) + "=" + std::to_string(v.value));
      }
    };
  };
  R::Fields(a, collect(&left));
  R::Fields(b, collect(&right));
  EXPECT_EQ(left, right);
}

TYPED_TEST(EveryKind, SurvivesARoundTripWithAnyValues) {
  using R = TypeParam;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    Dictionary dictionary;
    std::vector<R> rows(1 + random.Below(60));
    for (R& r : rows) r = RandomRecord<R>(random, dictionary);
    if (seed % 3 == 0) std::fill(rows.begin() + rows.size() / 2, rows.end(), rows.back());
    std::vector<unsigned char> bytes(1 << 20);
    ByteWriter out(bytes.data(), bytes.size());
    EncodeBlock(rows.data(), rows.size(), out);
    ASSERT_FALSE(out.overflow());
    ByteReader body(bytes.data(), out.size());
    BlockView block;
    ASSERT_TRUE(NextBlock(body, &block));
    EXPECT_EQ(block.kind, static_cast<uint16_t>(R::kKind));
    EXPECT_EQ(block.column_count, trace::FieldCount<R>());
    std::vector<R> read(block.record_count);
    ASSERT_TRUE(DecodeBlock(block, read.data()));
    ASSERT_EQ(read.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ExpectSame(rows[i], read[i]);
    EXPECT_FALSE(NextBlock(body, &block));
    EXPECT_FALSE(body.failed());
  }
}

TYPED_TEST(EveryKind, IsRefusedWhenCutAnywhere) {
  using R = TypeParam;
  Random random(1);
  Dictionary dictionary;
  std::vector<R> rows(5);
  for (R& r : rows) r = RandomRecord<R>(random, dictionary);
  std::vector<unsigned char> bytes(1 << 16);
  ByteWriter out(bytes.data(), bytes.size());
  EncodeBlock(rows.data(), rows.size(), out);
  for (std::size_t size = 1; size < out.size(); ++size) {
    const std::vector<unsigned char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ByteReader body(cut.data(), cut.size());
    BlockView block;
    EXPECT_FALSE(NextBlock(body, &block)) << size;
    EXPECT_TRUE(body.failed());
  }
}

TYPED_TEST(EveryKind, KeepsDefaultsOfColumnsThatAnOlderWriterDidNotHave) {
  using R = TypeParam;
  Random random(2);
  Dictionary dictionary;
  const R row = RandomRecord<R>(random, dictionary);
  std::vector<unsigned char> bytes(1 << 16);
  ByteWriter out(bytes.data(), bytes.size());
  EncodeBlock(&row, 1, out);
  ByteReader body(bytes.data(), out.size());
  BlockView block;
  ASSERT_TRUE(NextBlock(body, &block));
  block.column_count = 1;
  R read;
  ASSERT_TRUE(DecodeBlock(block, &read));
  std::size_t field = 0;
  R expected;
  R::Fields(expected, [&](const trace::FieldInfo& info, auto& v) {
    std::size_t other = 0;
    if (field++ > 0) return;
    R::Fields(row, [&](const trace::FieldInfo&, const auto& from) {
      using A = std::decay_t<decltype(v)>;
      using B = std::decay_t<decltype(from)>;
      if constexpr (std::is_same_v<A, B>) {
        if (other == 0) v = from;
      }
      ++other;
    });
    static_cast<void>(info);
  });
  ExpectSame(expected, read);
}

TEST(Wire, ColumnsOfANewerWriterAreSkipped) {
  trace::ThreadRecord row;
  row.tid = 9;
  unsigned char bytes[64];
  ByteWriter columns(bytes, sizeof bytes);
  for (const uint8_t value : {uint8_t{9}, uint8_t{0}, uint8_t{5}}) {  // tid, name, and one that is not known yet
    columns.Byte(static_cast<uint8_t>(Encoding::kConstant));
    columns.Varint(1);
    columns.Byte(value);
  }
  BlockView block;
  block.record_count = 1;
  block.column_count = 3;
  block.columns = ByteReader(bytes, columns.size());
  trace::ThreadRecord read;
  ASSERT_TRUE(DecodeBlock(block, &read));
  ExpectSame(row, read);
}

TEST(Wire, RunsThatAreLongerThanTheRecordsAreRefused) {
  unsigned char bytes[64];
  ByteWriter column(bytes, sizeof bytes);
  column.Byte(static_cast<uint8_t>(Encoding::kRuns));
  column.Varint(2);
  column.Varint(200);  // records
  column.Byte(1);
  BlockView block;
  block.record_count = 3;
  block.column_count = 1;
  block.columns = ByteReader(bytes, column.size());
  trace::ThreadRecord read[3];
  EXPECT_FALSE(DecodeBlock(block, read));
}

template <class R>
double BytesOfEach(const std::vector<R>& rows) {
  std::vector<unsigned char> bytes(1 << 20);
  ByteWriter out(bytes.data(), bytes.size());
  EncodeBlock(rows.data(), rows.size(), out);
  EXPECT_FALSE(out.overflow());
  return static_cast<double>(out.size()) / static_cast<double>(rows.size());
}

// Twelve sources at 1 kHz, percentages in hundredths: what an H200 is sampled with.
TEST(MetricBlocks, TakeThreeAndAHalfBytesASampleReadTogether) {
  Random random(3);
  std::vector<trace::MetricBlockRecord> rows;
  uint64_t start_ns = 1'000'000'000'000;
  for (int tick = 0; tick < 1000; ++tick) {
    const uint64_t duration_ns = 999'967 + random.Below(67);
    for (uint32_t source = 1; source <= 12; ++source) {
      trace::MetricBlockRecord r;
      r.start_ns = start_ns;
      r.duration_ns = duration_ns;
      r.source = source;
      r.value = static_cast<int64_t>(random.Below(10'001));
      rows.push_back(r);
    }
    start_ns += duration_ns;
  }
  EXPECT_LT(BytesOfEach(rows), 3.5);
}

// One source at 1 kHz, whose value changes little: its time is most of it.
TEST(MetricBlocks, TakeAtMostSixBytesASampleAlone) {
  Random random(3);
  std::vector<trace::MetricBlockRecord> rows(1000);
  uint64_t start_ns = 1'000'000'000'000;
  int64_t value = 5'000'000'000;
  for (trace::MetricBlockRecord& r : rows) {
    r.start_ns = start_ns += 1'000'000 + random.Below(2000);
    r.source = 1;
    r.value = value += static_cast<int64_t>(random.Below(4000));
  }
  EXPECT_LT(BytesOfEach(rows), 6);
}

// Four threads at 1 kHz each, in stacks that come again.
TEST(CpuSamples, TakeLessThanTwelveBytes) {
  Random random(4);
  std::vector<trace::CpuSampleRecord> rows(4000);
  uint64_t time_ns = 1'000'000'000'000;
  for (trace::CpuSampleRecord& r : rows) {
    r.time_ns = time_ns += random.Below(500'000);
    r.pid = 71234;
    r.tid = 71234 + static_cast<uint32_t>(random.Below(4));
    r.stack = 1 + static_cast<uint32_t>(random.Below(20'000));
    r.weight_ns = 1'000'000;
    r.cpu = 1 + static_cast<uint32_t>(random.Below(64));
    r.sample_kind = 1;
  }
  EXPECT_LT(BytesOfEach(rows), 12);
}

TEST(Switches, TakeLessThanElevenBytes) {
  Random random(5);
  std::vector<trace::SwitchRecord> rows(4000);
  uint64_t time_ns = 1'000'000'000'000;
  for (trace::SwitchRecord& r : rows) {
    r.start_ns = time_ns += random.Below(500'000);
    r.duration_ns = random.Below(100'000);
    r.pid = 71234;
    r.tid = 71234 + static_cast<uint32_t>(random.Below(4));
    r.cpu = 1 + static_cast<uint32_t>(random.Below(64));
    r.is_preempted = random.Below(10) == 0 ? 1 : 0;
  }
  EXPECT_LT(BytesOfEach(rows), 11);
}

}  // namespace
}  // namespace gprof
