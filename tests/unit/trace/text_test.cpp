// The text form: dump, assemble, and that each is the inverse of the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chunks.h"
#include "gprof/error.h"
#include "random_trace.h"
#include "trace/text/record_text.h"
#include "trace_text.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

TEST(Text, DumpAssembleDumpIsAFixpointForAnyTrace) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const std::string dump = DumpText(RandomTrace(seed));
    const std::string bytes = AssembleTrace(dump);
    ASSERT_EQ(DumpText(bytes), dump) << "seed " << seed;
    ASSERT_EQ(AssembleTrace(DumpText(bytes)), bytes) << "seed " << seed;
  }
}

TEST(Text, ChunksHoldWhatIsLongAndAreSplitWhereTheyGetTooLarge) {
  const auto threads = [](std::size_t count, std::size_t name_bytes) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += "thread tid=" + std::to_string(i + 1) + " name=\"" + std::string(name_bytes, static_cast<char>('a' + i)) +
              "\"\n";
    }
    return text;
  };
  const auto chunks_of = [](const std::string& text) {
    const std::string bytes = AssembleTrace(text);
    DumpOptions options;
    options.has_chunk_lines = false;
    EXPECT_TRUE(DumpText(bytes, options) == text);
    return SplitChunks(bytes).size();
  };
  EXPECT_EQ(chunks_of(threads(2, 5'000)), 1u);
  EXPECT_EQ(chunks_of(threads(2, 300'000)), 1u);
  EXPECT_EQ(chunks_of(threads(4, 3'000'000)), 2u);
  EXPECT_THROW(AssembleTrace(threads(1, 9'000'000)), Error);
}

TEST(Text, FieldsWithDefaultsCanBeShown) {
  DumpOptions options;
  options.has_all_fields = true;
  const std::string bytes = AssembleTrace("kernel start_ns=5 name=\"k\"\nnvtx tid=1\nstream stream=7 priority=-2\n");
  const std::string dump = DumpText(bytes, options);
  EXPECT_THAT(dump, HasSubstr("kernel start_ns=5 duration_ns=0 device=0"));
  EXPECT_THAT(dump, HasSubstr("message=\"\""));
  EXPECT_THAT(dump, HasSubstr("priority=-2"));
  EXPECT_EQ(DumpText(AssembleTrace(dump)), DumpText(bytes));
}

TEST(Text, KindsAndChunkLinesCanBeLeftOut) {
  DumpOptions options;
  options.kinds = {trace::RecordKind::kThread};
  const std::string bytes = AssembleTrace("thread tid=1\nkernel start_ns=5\nthread tid=2\n");
  EXPECT_EQ(DumpText(bytes, options), "chunk kind=thread pid=1\nthread tid=1\nthread tid=2\n");
  options.has_chunk_lines = false;
  EXPECT_EQ(DumpText(bytes, options), "thread tid=1\nthread tid=2\n");
}

TEST(Text, DamageBecomesComments) {
  std::vector<std::string> chunks = SplitChunks(AssembleTrace("thread tid=1\nkernel start_ns=5\nend time_ns=9\n"));
  chunks[1].back() = static_cast<char>(chunks[1].back() ^ 1);
  const std::string dump = DumpText("xyz" + Join(chunks) + chunks[0].substr(0, 20));
  EXPECT_THAT(dump, HasSubstr("# damaged chunks: 1\n# skipped bytes: 3\n# the file ends within a chunk\n"));
  EXPECT_EQ(DumpText(AssembleTrace(dump)),
            "chunk kind=thread pid=1\nthread tid=1\n"
            "chunk kind=end pid=1 sequence=2\nend time_ns=9\n# missing chunks: 1\n");
}

TEST(Text, DumpOfSomethingElseThrows) { EXPECT_THROW(DumpText("{}"), Error); }

TEST(Text, ChunkLinesGiveTheHeader) {
  const std::string line = "chunk kind=thread pid=4 sequence=9 host=7 start_ticks=8 image=2\nthread tid=1\n";
  const std::string bytes = AssembleTrace(line);
  const trace::ChunkHeader h = HeaderOf(bytes);
  EXPECT_EQ(h.process.pid, 4u);
  EXPECT_EQ(h.process.host, 7u);
  EXPECT_EQ(h.process.start_ticks, 8u);
  EXPECT_EQ(h.process.image, 2u);
  EXPECT_EQ(h.sequence, 9u);
  EXPECT_EQ(DumpText(bytes).substr(0, line.size()), line);
}

TEST(Text, ProcessZeroIsNotTheDefaultProcess) {
  EXPECT_EQ(DumpText(AssembleTrace("chunk pid=0\nthread tid=1\n")), "chunk kind=thread pid=0\nthread tid=1\n");
}

TEST(Text, HeadersHoldTheTimesOfTheirRecords) {
  const trace::ChunkHeader h =
      HeaderOf(AssembleTrace("kernel start_ns=50 duration_ns=7\nkernel start_ns=20 duration_ns=100\n"));
  EXPECT_EQ(h.first_ns, 20u);
  EXPECT_EQ(h.last_ns, 120u);
  EXPECT_EQ(h.record_count, 2u);
}

TEST(Text, SequencesCountForEachProcess) {
  const std::string bytes = AssembleTrace(
      "thread tid=1\nend time_ns=5\nchunk pid=2\nthread tid=2\nchunk pid=1\nthread tid=3\nchunk pid=2 sequence=8\n"
      "thread tid=4\nchunk pid=2\nthread tid=5\n");
  std::vector<uint64_t> sequences;
  for (const std::string& chunk : SplitChunks(bytes)) sequences.push_back(HeaderOf(chunk).sequence);
  EXPECT_THAT(sequences, testing::ElementsAre(0, 1, 0, 2, 8, 9));
}

TEST(Text, ALaterChunkMayHaveSequenceZero) {
  const std::string dump = DumpText(AssembleTrace("chunk pid=5\nthread tid=6\nchunk pid=5 sequence=0\nthread tid=7\n"));
  EXPECT_EQ(dump,
            "chunk kind=thread pid=5\nthread tid=6\nchunk kind=thread pid=5 sequence=0\nthread tid=7\n"
            "# chunks read twice: 1\n");
  EXPECT_EQ(DumpText(AssembleTrace(dump)), dump);
}

TEST(Text, ManyRecordsBecomeSeveralChunks) {
  std::string text;
  for (int i = 1; i <= 20000; ++i) text += "thread tid=" + std::to_string(i) + "\n";
  const std::vector<std::string> chunks = SplitChunks(AssembleTrace(text));
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(HeaderOf(chunks[0]).record_count, trace::kMaxChunkRecords);
  EXPECT_EQ(HeaderOf(chunks[1]).record_count, 20000 - trace::kMaxChunkRecords);
}

TEST(Text, LongTextsSplitChunksToo) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += "thread name=\"" + std::string(3'000'000, static_cast<char>('a' + i)) + "\"\n";
  const std::string bytes = AssembleTrace(text);
  EXPECT_GT(SplitChunks(bytes).size(), 2u);
  EXPECT_EQ(LoadTraceFromMemory(bytes, "t").health.missing_strings, 0u);
  EXPECT_THROW(AssembleTrace("thread name=\"" + std::string(9'000'000, 'x') + "\"\n"), Error);
}

TEST(Text, CompressedChunksAreWrittenOnRequest) {
  std::string text = "chunk zstd=1\n";
  for (int i = 1; i <= 500; ++i) text += "thread tid=" + std::to_string(i * i % 1000) + " name=\"same\"\n";
  const std::string bytes = AssembleTrace(text);
  const trace::ChunkHeader h = HeaderOf(bytes);
  EXPECT_EQ(h.flags, trace::kChunkZstd);
  EXPECT_LT(h.body_bytes, h.unpacked_bytes);
  EXPECT_TRUE(LoadTraceFromMemory(bytes, "t").health.damaged_chunks == 0);
  EXPECT_THAT(DumpText(bytes), HasSubstr("zstd=1"));
}

TEST(Text, IdsWithoutTextStayWithoutText) {
  const std::string dump =
      "chunk kind=thread pid=1\nthread tid=1 name=#1\nthread tid=2 name=\"one\"\n"
      "chunk kind=kernel pid=1 sequence=1\nkernel start_ns=4 shape=#1\nkernel start_ns=5 "
      "shape={grid_x=2}\n";
  EXPECT_EQ(DumpText(AssembleTrace(dump)), dump);
}

TEST(Text, BlanksCommentsAndLineEndsAreFree) {
  EXPECT_EQ(DumpText(AssembleTrace("# a comment\r\n\r\n\tthread   tid=0x10  name=\"a b\"\t\r\n")),
            "chunk kind=thread pid=1\nthread tid=16 name=\"a b\"\n");
  EXPECT_EQ(DumpText(AssembleTrace("thread tid=1")), "chunk kind=thread pid=1\nthread tid=1\n");
  EXPECT_EQ(AssembleTrace("# nothing\n"), "");
}

void ExpectError(std::string_view text, std::string_view message) {
  try {
    AssembleTrace(text);
    ADD_FAILURE() << "no error for: " << text;
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr(std::string(message)));
  }
}

TEST(Text, ErrorsNameTheLineAndTheWayOut) {
  ExpectError("thread tid=1\n\nkernle start_ns=1\n", "line 3: no record kind 'kernle'; there are string kernel_shape");
  ExpectError("thread tod=1", "line 1: thread has no field 'tod'; there are tid name");
  ExpectError("thread tid", "line 1: expected name=value");
  ExpectError("thread tid=", "tid= needs a number");
  ExpectError("thread tid=12x", "tid= needs a number, not '12x'");
  ExpectError("thread tid=4294967296", "tid=4294967296 is out of range (0 to 4294967295)");
  ExpectError("api domain=256", "out of range (0 to 255)");
  ExpectError("stream priority=-2147483649", "out of range (-2147483648 to 2147483647)");
  ExpectError("thread tid=-1", "tid= needs a number");
  ExpectError("thread name=main", "name: expected a string in double quotes");
  ExpectError("thread name=\"main", "name: string without a closing quote");
  ExpectError("thread name=\"a\\q\"", "unknown escape");
  ExpectError("thread name=\"\\x4\"", "two hexadecimal digits");
  ExpectError("thread name=\"a\\", "ends in a backslash");
  ExpectError("kernel shape=4", "shape= needs {");
  ExpectError("kernel shape={grid_x=1", "without its }");
  ExpectError("kernel shape={grid_w=1}", "shape has no field 'grid_w'");
  ExpectError("kernel shape={id=1}", "shape has no field 'id'");
  ExpectError("chunk pod=1", "a chunk line has no field 'pod'; there are kind pid sequence");
  ExpectError("chunk kind=kernle", "no record kind 'kernle'");
  ExpectError("thread tid=1 2", "expected name=value");
}

TEST(Quoting, GivesTheSameBytesBack) {
  Random random(9);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (uint64_t n = random.Below(12); n > 0; --n) {
      text += random.Below(2) == 0 ? static_cast<char>(random.Below(256)) : "\"\\\n\tax"[random.Below(6)];
    }
    std::string quoted, back;
    AppendQuoted(text, &quoted);
    ASSERT_EQ(quoted.find('\n'), std::string::npos);
    std::size_t at = 0;
    ASSERT_EQ(ReadQuoted(quoted, &at, &back), nullptr);
    ASSERT_EQ(at, quoted.size());
    ASSERT_EQ(back, text);
  }
}

TEST(Quoting, KeepsUtf8AndEscapesTheRest) {
  const auto quoted = [](std::string_view text) {
    std::string out;
    AppendQuoted(text, &out);
    return out;
  };
  EXPECT_EQ(quoted("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"), "\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  EXPECT_EQ(quoted("a\"b\\c\n\t\x01\x7F"), "\"a\\\"b\\\\c\\n\\t\\x01\\x7f\"");
  EXPECT_EQ(quoted("\xC0\x80"), "\"\\xc0\\x80\"");                    // overlong
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"\\xed\\xa0\\x80\"");           // surrogate
  EXPECT_EQ(quoted("\xE2\x82"), "\"\\xe2\\x82\"");                    // cut
  EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"");  // beyond U+10FFFF
}

}  // namespace
}  // namespace gprof
