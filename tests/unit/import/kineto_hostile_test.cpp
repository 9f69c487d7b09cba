// Trace Event JSON that is cut, damaged, foreign, or made to do harm: an error that says so, or a trace and what it
// lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "gprof/error.h"
#include "import/shared/byte_window.h"
#include "kineto_capture.h"

namespace gprof {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view bytes) {
  try {
    ReadKineto(bytes, "bad.json");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kUnreadable);
    EXPECT_THAT(e.what(), HasSubstr("bad.json"));
    return std::string(e.what()) + " | " + e.hint();
  }
  return "was read";
}

std::string Packed(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Whole() { return Document(kCapture, kMembers); }

TEST(HostileJson, WhatIsNoTraceIsNamed) {
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("without traceEvents"));
  EXPECT_THAT(ErrorOf(R"({"name": "package", "version": 2})"), HasSubstr("without traceEvents"));
  EXPECT_THAT(ErrorOf(R"({"traceEvents": 7})"), HasSubstr("without traceEvents"));
  EXPECT_THAT(ErrorOf(R"({"a": )"), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf("{dear diary"), HasSubstr("invalid JSON at byte 1"));
  EXPECT_THAT(ErrorOf("[1, 2, 3]"), HasSubstr("no trace events"));
  EXPECT_THAT(ErrorOf(std::string(5'000'000, '[')), HasSubstr("no trace events"));
  EXPECT_THAT(ErrorOf(Packed("dear diary")), HasSubstr("invalid JSON"));
  EXPECT_THAT(ErrorOf(Packed(R"({"schema": "gprof.runs/1"})")), HasSubstr("gprof-cli document"));
  EXPECT_THAT(ErrorOf("\x1F\x8B not packed"), HasSubstr("damaged"));
}

TEST(HostileJson, EmptyTracesAreEmpty) {
  for (const char* text : {"[]", "[", R"({"traceEvents": []})", R"({"traceEvents": [{}]})"}) {
    const Trace t = ReadKineto(text, "empty.json");
    EXPECT_TRUE(t.ops.empty());
    EXPECT_TRUE(t.health.IsComplete()) << text;
  }
}

TEST(HostileJson, CutFilesAreReadAsFarAsTheyGo) {
  const std::string whole = Whole();
  std::size_t last = 0;
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const std::string cut = whole.substr(0, size);
    if (size < whole.find("\"ts\"")) continue;
    const Trace t = ReadKineto(cut, "cut.json");
    EXPECT_TRUE(t.health.is_truncated) << size;
    EXPECT_FALSE(t.health.IsComplete());
    EXPECT_GE(t.ops.size(), last);
    last = t.ops.size();
  }
  EXPECT_EQ(last, 3u);
  const std::string packed = Packed(whole);
  for (std::size_t size = 0; size < packed.size(); size += 5) {
    const std::string said = ErrorOf(packed.substr(0, size));  // an error or a trace, no crash
    EXPECT_THAT(said, testing::AnyOf(HasSubstr("was read"), HasSubstr("bad.json"))) << size;
  }
}

TEST(HostileJson, PackedFilesAreTheSameTrace) {
  const Trace plain = ReadKineto(Whole(), "x"), packed = ReadKineto(Packed(Whole()), "x");
  EXPECT_EQ(packed.ops.size(), plain.ops.size());
  EXPECT_EQ(packed.record_count, plain.record_count);
  EXPECT_TRUE(packed.health.IsComplete());
  // Several packed files one after the other are one text.
  const std::string whole = Whole();
  const std::string pieces = Packed(whole.substr(0, 1000)) + Packed(whole.substr(1000, 7)) + Packed(whole.substr(1007));
  EXPECT_EQ(ReadKineto(pieces, "x").record_count, plain.record_count);
}

TEST(HostileJson, EventsAcrossTheEndOfTheWindowAreWhole) {
  std::string events;
  constexpr int kCount = 60'000;  // more than two windows of text
  for (int i = 0; i < kCount; ++i) {
    events += R"({"ph": "X", "cat": "kernel", "name": "kernel_)" + std::to_string(i % 10) +
              R"(", "pid": 0, "tid": 7, "ts": )" + std::to_string(100 + 2 * i) + R"(, "dur": 1.5, "args": {"pad": ")" +
              std::string(static_cast<std::size_t>(i % 97), 'x') + "\"}},\n";
  }
  const Trace t = ReadKineto(Packed(Document(events)), "x");
  EXPECT_EQ(t.ops.size(), static_cast<std::size_t>(kCount));
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(HostileJson, ABadEventCostsNoOther) {
  const std::string good = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1})";
  for (const char* bad : {R"({"ph": "X", "name": "a"b", "ts": 1})", R"({"ph": )", "7", "\"text\"", "{]}",
                          R"({"ph": "X", "args": {"x": [1, 2}}})", R"({"ph": truth})", "null"}) {
    const Trace t = ReadEvents(good + ",\n" + bad + ",\n" + good + ",\n" + good);
    EXPECT_GE(t.ops.size(), 2u) << bad;
    EXPECT_EQ(t.health.lost_records, 1u) << bad;
    EXPECT_FALSE(t.health.IsComplete());
  }
}

TEST(HostileJson, ValuesOfWrongTypesDoNoHarm) {
  for (const char* key : {"ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "id", "id2", "s"}) {
    for (const char* value : {"null", "[]", "{}", "true", "-1", "1e400", "\"\"", "[[[[]]]]", R"({"a": {"b": []}})",
                              "123456789012345678901234567890", "NaN"}) {
      for (const char* phase : {"X", "B", "E", "b", "e", "s", "f", "M", "i", "C", "N", "Q"}) {
        const std::string event = R"({"ph": ")" + std::string(phase) +
                                  R"(", "cat": "kernel", "name": "process_name", "pid": 0,
"tid": 7, "ts": 5, "dur": 1, "args": {"name": "x"}, ")" +
                                  key + "\": " + value + "}";
        EXPECT_EQ(ErrorOf(Document(event)), "was read") << event;
      }
    }
  }
  for (const char* argument : {"device", "context", "stream", "correlation", "bytes", "registers per thread", "grid",
                               "block", "graph id", "graph node id", "result", "kind", "fromDevice", "toDevice"}) {
    for (const char* value :
         {"null", "[]", "[[],{},null,1,2,3]", "-1", "1e400", "\"x\"", "99999999999", "1.5", "NaN"}) {
      const std::string event =
          R"({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP ) -> (", "pid": 0, "tid": 7, "ts": 5,
"dur": 1, "args": {")" +
          std::string(argument) + "\": " + value + "}}";
      EXPECT_EQ(ReadEvents(event).ops.size(), 1u) << event;
    }
  }
}

TEST(HostileJson, DeepNestingIsRefusedWithItsEvent) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const Trace t = ReadEvents(R"({"ph": "X", "name": "a", "args": {"x": )" + deep + R"(}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1})");
  EXPECT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.health.lost_records, 1u);
}

TEST(HostileJson, BombsAreRefusedInBoundedMemory) {
  // A gibibyte of blanks, of which gzip makes a mebibyte; unpacked window by window.
  const std::string blanks = Packed(std::string(1 << 25, ' '));
  std::string bomb = Packed("[");
  for (int i = 0; i < 32; ++i) bomb += blanks;
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("times its size"));
}

TEST(HostileJson, EventsThatTakeNoBytesAreRefused) {
  std::string events = "[";
  while (events.size() < (std::size_t{20} << 20)) events += R"({"ph":"B","ts":1},)";
  EXPECT_THAT(ErrorOf(Packed(events)), HasSubstr("it would take more than 10"));
}

TEST(HostileJson, NamesThatTakeNoBytesAreRefused) {
  std::string events = "[";
  const std::string name(1 << 20, 'n');
  for (int i = 0; i < 64; ++i) events += R"({"ph":"X","ts":1,"dur":1,"name":")" + std::to_string(i) + name + R"("},)";
  EXPECT_THAT(ErrorOf(Packed(events)), HasSubstr("it would take more than 10"));
  // The same bytes that are really there are read.
  EXPECT_NE(ErrorOf(events), ErrorOf(Packed(events)));
}

TEST(HostileJson, OneValueThatTakesNoBytesIsRefused) {
  const std::string text = R"([{"ph":"X","ts":1,"dur":1,"name":")" + std::string(64 << 20, 'n') + R"("}])";
  EXPECT_THAT(ErrorOf(Packed(text)), HasSubstr("it would take more than 10"));
}

TEST(HostileJson, AWindowGrowsOnlyAsFarAsOneValueNeeds) {
  const std::string text(20 << 20, 'x'), packed = Packed(text);
  ByteWindow window(packed);
  std::size_t largest = 0;
  uint64_t total = 0;
  do {
    largest = std::max(largest, window.bytes().size());
    total += window.bytes().size();
    window.Consume(window.bytes().size());
  } while (window.More());
  EXPECT_EQ(total, text.size());
  EXPECT_LE(largest, std::size_t{8} << 20);
}

TEST(HostileJson, BytesThatAreNoUtf8StayInNames) {
  const Trace t = ReadEvents(
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\xFF\xC3\", \"pid\": 0, \"tid\": 7, \"ts\": 5, \"dur\": 1}");
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.Text(t.ops[0].name), "k\xFF\xC3");
}

}  // namespace
}  // namespace gprof
