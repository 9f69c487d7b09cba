// NVTX payloads: what bytes and schemas become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "random_trace.h"
#include "trace_text.h"

namespace gprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string Quoted(std::string_view bytes) {
  std::string text = "\"";
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char c : bytes) {
    text += "\\x";
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text + "\"";
}

template <class T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr const char kSchema[] = "16777217";

// Entries as text lines of a schema with the number 16777217 in domain 3.
struct Layout {
  int schema_type = 1;  // static
  uint32_t size_bytes = 0;
  std::vector<std::string> entries;
  std::string more;
};

Trace TraceOf(const Layout& layout, std::string_view bytes, std::string_view schema = kSchema) {
  std::string text = "nvtx_schema domain=3 schema=16777217 schema_type=" + std::to_string(layout.schema_type) +
                     " size_bytes=" + std::to_string(layout.size_bytes) +
                     " entry_count=" + std::to_string(layout.entries.size()) + " name=\"Params\"\n";
  int index = 0;
  for (const std::string& entry : layout.entries) {
    text += "nvtx_schema_entry domain=3 schema=16777217 index=" + std::to_string(index++) + " " + entry + "\n";
  }
  text += layout.more;
  text += "nvtx time_ns=100 tid=7 event=2 domain=3 message=\"send\" payload_type=7\n";
  text += "nvtx time_ns=200 tid=7 event=3 domain=3\n";
  text +=
      "nvtx_payload time_ns=100 tid=7 domain=3 event=2 schema=" + std::string(schema) + " data=" + Quoted(bytes) + "\n";
  return LoadText(text);
}

using Values = std::vector<std::pair<std::string, std::string>>;

// An integer without a text reads as its digits.
Values ValuesOf(const Trace& t, std::size_t payload = 0) {
  Values values;
  if (payload >= t.payloads.size()) return {{"no payload", ""}};
  for (uint32_t i = t.payloads[payload].first_value; i < t.payloads[payload].last_value; ++i) {
    const PayloadValue& v = t.payload_values[i];
    std::string text(t.Text(v.text));
    if (v.is_integer) text += (text.empty() ? "" : "=") + std::to_string(v.integer);
    values.emplace_back(t.Text(v.key), text);
  }
  return values;
}

Values Decode(const Layout& layout, std::string_view bytes) { return ValuesOf(TraceOf(layout, bytes)); }

TEST(Payload, OfNcclIsNamesAndValues) {
  const Layout all_reduce{1,
                          24,
                          {"entry_type=18 offset_bytes=0 name=\"NCCL communicator ID\"",
                           "entry_type=22 offset_bytes=8 name=\"Message size [bytes]\"",
                           "entry_type=16777300 offset_bytes=16 name=\"Reduction operation\""},
                          "nvtx_enum domain=3 enumeration=16777300 value=0 name=\"Sum\"\n"
                          "nvtx_enum domain=3 enumeration=16777300 value=2 name=\"Max\"\n"};
  const Trace t = TraceOf(all_reduce, Bytes<uint64_t>(77) + Bytes<uint64_t>(4096) + Bytes<uint32_t>(2) + Bytes(0));
  EXPECT_THAT(ValuesOf(t), ElementsAre(Pair("NCCL communicator ID", "77"), Pair("Message size [bytes]", "4096"),
                                       Pair("Reduction operation", "Max=2")));
  ASSERT_EQ(t.payloads.size(), 1u);
  const NvtxPayload& p = t.payloads[0];
  ASSERT_EQ(p.range, 0u);
  EXPECT_EQ(t.Text(t.ranges[p.range].name), "send");
  EXPECT_EQ(p.mark, kNone);
  EXPECT_EQ(t.Text(p.schema), "Params");
  EXPECT_EQ(p.size_bytes, 24u);
}

TEST(Payload, OffsetsThatAreNotSaidFollowFromTheTypes) {
  struct {
    char c;
    int16_t s;
    double d;
    uint8_t u;
    float f;
  } data{-3, -300, 0.5, 200, 1.25f};
  EXPECT_THAT(Decode({1,
                      0,
                      {"entry_type=11 name=\"c\"", "entry_type=13 name=\"s\"", "entry_type=20 name=\"d\"",
                       "entry_type=12 name=\"u\"", "entry_type=19 name=\"f\""},
                      ""},
                     Bytes(data)),
              ElementsAre(Pair("c", "-3"), Pair("s", "-300"), Pair("d", "0.5"), Pair("u", "200"), Pair("f", "1.25")));
}

TEST(Payload, EveryIntegerTypeKeepsItsSignAndLength) {
  const std::string ones(16, '\xff');
  const std::map<int, std::string> expected = {{1, "-1"},
                                               {2, "255"},
                                               {3, "-1"},
                                               {4, "65535"},
                                               {5, "-1"},
                                               {6, "4294967295"},
                                               {7, "-1"},
                                               {8, "18446744073709551615"},
                                               {9, "-1"},
                                               {10, "18446744073709551615"},
                                               {11, "-1"},
                                               {12, "255"},
                                               {13, "-1"},
                                               {14, "65535"},
                                               {15, "-1"},
                                               {16, "4294967295"},
                                               {17, "-1"},
                                               {18, "18446744073709551615"},
                                               {22, "18446744073709551615"},
                                               {23, "0xffffffffffffffff"},
                                               {32, "0xff"},
                                               {33, "0x" + std::string(32, 'f')},
                                               {42, "0xffff"},
                                               {68, "4294967295"},
                                               {69, "0xffffffff"},
                                               {74, "18446744073709551615"}};
  for (const auto& [type, text] : expected) {
    EXPECT_THAT(Decode({1, 0, {"entry_type=" + std::to_string(type) + " name=\"v\""}, ""}, ones),
                ElementsAre(Pair("v", text)))
        << type;
  }
}

TEST(Payload, ArraysAreFixedTerminatedOrAsLongAsAnotherEntrySays) {
  const std::string three = Bytes<uint32_t>(1) + Bytes<uint32_t>(2) + Bytes<uint32_t>(3);
  EXPECT_THAT(Decode({1, 12, {"flags=16 entry_type=16 array_length=3 name=\"fixed\""}, ""}, three),
              ElementsAre(Pair("fixed", "1, 2, 3")));
  EXPECT_THAT(Decode({2, 0, {"flags=32 entry_type=16 name=\"ended\"", "entry_type=12 name=\"after\""}, ""},
                     three + Bytes<uint32_t>(0) + "\x09"),
              ElementsAre(Pair("ended", "1, 2, 3"), Pair("after", "9")));
  EXPECT_THAT(Decode({2,
                      0,
                      {"entry_type=16 name=\"n\"", "flags=48 entry_type=16 array_length=0 name=\"counted\"",
                       "entry_type=12 name=\"after\""},
                      ""},
                     Bytes<uint32_t>(2) + three),
              ElementsAre(Pair("n", "2"), Pair("counted", "1, 2"), Pair("after", "3")));
  EXPECT_THAT(Decode({1, 0, {"flags=16 entry_type=12 array_length=100 name=\"many\""}, ""}, std::string(100, '\1')),
              ElementsAre(Pair("many", "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …")));
  EXPECT_THAT(Decode({1, 0, {"flags=16 entry_type=1 array_length=8 name=\"text\""}, ""}, std::string("abc\0defg", 8)),
              ElementsAre(Pair("text", "abc")));
}

TEST(Payload, StringsLieInThePayload) {
  EXPECT_THAT(Decode({1, 0, {"entry_type=75 array_length=4 name=\"s\"", "entry_type=12 name=\"after\""}, ""}, "ab"),
              IsEmpty());
  EXPECT_THAT(Decode({1, 0, {"entry_type=75 array_length=4 name=\"s\"", "entry_type=12 name=\"after\""}, ""},
                     std::string("ab\0\0\7", 5)),
              ElementsAre(Pair("s", "ab"), Pair("after", "7")));
  EXPECT_THAT(Decode({2, 0, {"flags=32 entry_type=76 name=\"s\"", "entry_type=12 name=\"after\""}, ""},
                     std::string("caf\xC3\xA9\0\7", 7)),
              ElementsAre(Pair("s", "caf\xC3\xA9"), Pair("after", "7")));
  EXPECT_THAT(Decode({2, 0, {"flags=32 entry_type=77 name=\"s\""}, ""}, std::string("\xE9\0\xAC\x20\0\0", 6)),
              ElementsAre(Pair("s", "\xC3\xA9\xE2\x82\xAC")));
  EXPECT_THAT(
      Decode({2, 0, {"entry_type=12 name=\"n\"", "flags=48 entry_type=75 array_length=0 name=\"s\""}, ""}, "\2hello"),
      ElementsAre(Pair("n", "2"), Pair("s", "he")));
  const Values cut = Decode({2, 0, {"flags=32 entry_type=75 name=\"s\""}, ""}, std::string(5000, 'x'));
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].second, std::string(256, 'x') + "…");
}

TEST(Payload, PointersAndWhatIsHiddenAreSteppedOver) {
  EXPECT_THAT(Decode({1,
                      24,
                      {"flags=2 entry_type=75 name=\"pointer\"", "flags=512 entry_type=18 name=\"hidden\"",
                       "entry_type=18 name=\"shown\""},
                      ""},
                     Bytes<uint64_t>(1) + Bytes<uint64_t>(2) + Bytes<uint64_t>(3)),
              ElementsAre(Pair("shown", "3")));
}

TEST(Payload, FlagsOfAnEnumerationAreJoined) {
  const Layout layout{1,
                      0,
                      {"entry_type=16777300 size_bytes=1 name=\"f\""},
                      "nvtx_enum domain=3 enumeration=16777300 value=1 is_flag=1 name=\"read\"\n"
                      "nvtx_enum domain=3 enumeration=16777300 value=4 is_flag=1 name=\"write\"\n"};
  EXPECT_THAT(Decode(layout, "\5"), ElementsAre(Pair("f", "read | write=5")));
  EXPECT_THAT(Decode(layout, "\7"), ElementsAre(Pair("f", "read | write | 0x2=7")));
  EXPECT_THAT(Decode(layout, std::string("\0", 1)), ElementsAre(Pair("f", "0")));
  EXPECT_THAT(Decode(layout, "\2"), ElementsAre(Pair("f", "2")));
}

TEST(Payload, SchemasNest) {
  const Layout layout{1,
                      12,
                      {"entry_type=16777218 offset_bytes=0 name=\"pos\"", "entry_type=16 offset_bytes=8 name=\"id\""},
                      "nvtx_schema domain=3 schema=16777218 schema_type=1 size_bytes=8 entry_count=2\n"
                      "nvtx_schema_entry domain=3 schema=16777218 index=0 entry_type=16 name=\"x\"\n"
                      "nvtx_schema_entry domain=3 schema=16777218 index=1 entry_type=16 offset_bytes=4\n"};
  const std::string data = Bytes<uint32_t>(1) + Bytes<uint32_t>(2) + Bytes<uint32_t>(3);
  EXPECT_THAT(Decode(layout, data), ElementsAre(Pair("pos.x", "1"), Pair("pos.#1", "2"), Pair("id", "3")));
  Layout array = layout;
  array.entries = {"flags=16 entry_type=16777218 array_length=2 name=\"p\""};
  array.size_bytes = 16;
  EXPECT_THAT(Decode(array, data + Bytes<uint32_t>(4)),
              ElementsAre(Pair("p[0].x", "1"), Pair("p[0].#1", "2"), Pair("p[1].x", "3"), Pair("p[1].#1", "4")));
}

TEST(Payload, UnionsAndWhatIsNotKnownAreSteppedOverWhereTheirSizeIs) {
  const std::string data = Bytes<uint64_t>(1) + Bytes<uint32_t>(5);
  const std::string sized = "nvtx_schema domain=3 schema=16777218 schema_type=3 size_bytes=8 entry_count=0\n";
  EXPECT_THAT(Decode({1, 12, {"entry_type=16777218 name=\"u\"", "entry_type=16 name=\"n\""}, sized}, data),
              ElementsAre(Pair("n", "5")));
  const std::string unsized = "nvtx_schema domain=3 schema=16777218 schema_type=4 entry_count=0\n";
  EXPECT_THAT(
      Decode({1,
              12,
              {"entry_type=16777218 name=\"u\"", "entry_type=16 name=\"n\"", "entry_type=16 offset_bytes=8 name=\"m\""},
              unsized},
             data),
      ElementsAre(Pair("m", "5")));
  EXPECT_THAT(Decode({1, 12, {"entry_type=900 name=\"new\"", "entry_type=16 offset_bytes=8 name=\"m\""}, ""}, data),
              ElementsAre(Pair("m", "5")));
  EXPECT_THAT(Decode({1, 12, {"entry_type=16777999 size_bytes=8 name=\"lost\"", "entry_type=16 name=\"m\""}, ""}, data),
              ElementsAre(Pair("m", "5")));
}

TEST(Payload, WhatIsCutGivesWhatIsThere) {
  const Layout layout{1, 8, {"entry_type=16 offset_bytes=0 name=\"a\"", "entry_type=16 offset_bytes=4 name=\"b\""}, ""};
  EXPECT_THAT(Decode(layout, Bytes<uint32_t>(1) + "xyz"), ElementsAre(Pair("a", "1")));
  EXPECT_THAT(Decode(layout, ""), IsEmpty());
  EXPECT_THAT(
      Decode({1, 0, {"entry_type=16 name=\"a\"", "entry_type=16 offset_bytes=18446744073709551615 name=\"b\""}, ""},
             Bytes<uint32_t>(1)),
      ElementsAre(Pair("a", "1")));
  EXPECT_THAT(Decode({1, 0, {"flags=16 entry_type=18 array_length=18446744073709551615 name=\"a\""}, ""}, "12345678"),
              IsEmpty());
}

TEST(Payload, SchemasThatContainThemselvesEnd) {
  EXPECT_THAT(
      Decode({2,
              0,
              {"entry_type=16777217 name=\"me\"", "flags=16 entry_type=16777217 array_length=999999999 name=\"us\""},
              ""},
             "abc"),
      IsEmpty());
  std::string more;
  for (int i = 0; i < 2000; ++i) {
    const std::string schema = std::to_string(16777218 + i), next = std::to_string(16777219 + i);
    more += "nvtx_schema domain=3 schema=" + schema + " schema_type=1\n";
    more += "nvtx_schema_entry domain=3 schema=" + schema + " index=1 entry_type=" + next + "\n";
  }
  EXPECT_THAT(Decode({1, 0, {"entry_type=16777218"}, more}, "abc"), IsEmpty());
}

TEST(Payload, ManyEntriesAreCutOff) {
  Layout layout{1, 0, {}, ""};
  for (int i = 0; i < 300; ++i) layout.entries.push_back("entry_type=12 offset_bytes=0 name=\"e\"");
  EXPECT_EQ(Decode(layout, std::string(400, '\1')).size(), 64u);
}

TEST(Payload, PredefinedTypesNeedNoSchema) {
  EXPECT_THAT(ValuesOf(TraceOf({}, Bytes<int32_t>(-9), "15")), ElementsAre(Pair("value", "-9")));
  EXPECT_THAT(ValuesOf(TraceOf({}, "hello", "75")), ElementsAre(Pair("value", "hello")));
  EXPECT_THAT(ValuesOf(TraceOf({}, "hello", "1023")), IsEmpty());
  EXPECT_THAT(ValuesOf(TraceOf({}, "hello", "99999999")), IsEmpty());
  EXPECT_THAT(ValuesOf(TraceOf({}, "x", "18")), IsEmpty());
}

TEST(Payload, BelongsToItsEvent) {
  const Trace t = LoadText(
      "nvtx time_ns=10 tid=7 event=4 range=5 message=\"started\"\n"
      "nvtx time_ns=20 tid=7 event=1 message=\"later\"\n"
      "nvtx time_ns=12 tid=8 event=1 message=\"sooner\"\n"
      "nvtx time_ns=30 tid=7 event=2 message=\"pushed\"\n"
      "nvtx time_ns=40 tid=7 event=3\n"
      "nvtx time_ns=50 tid=8 event=5 range=5\n"
      "nvtx_payload time_ns=50 tid=8 event=5 range=5 schema=12 data=\"\\x05\"\n"
      "nvtx_payload time_ns=40 tid=7 event=3 schema=12 data=\"\\x04\"\n"
      "nvtx_payload time_ns=30 tid=7 event=2 schema=12 data=\"\\x03\"\n"
      "nvtx_payload time_ns=30 tid=8 event=2 schema=12 data=\"\\x09\"\n"
      "nvtx_payload time_ns=20 tid=7 event=1 schema=12 data=\"\\x02\"\n"
      "nvtx_payload time_ns=10 tid=7 event=4 range=5 schema=12 data=\"\\x01\"\n");
  std::map<std::string, std::string> owners;
  for (std::size_t i = 0; i < t.payloads.size(); ++i) {
    const NvtxPayload& p = t.payloads[i];
    std::string owner = "nobody";
    if (p.range != kNone) owner = std::string("range ") + std::string(t.Text(t.ranges[p.range].name));
    if (p.mark != kNone) owner = std::string("mark ") + std::string(t.Text(t.marks[p.mark].name));
    owners[ValuesOf(t, i).at(0).second] = owner;
  }
  EXPECT_THAT(owners, ElementsAre(Pair("1", "range started"), Pair("2", "mark later"), Pair("3", "range pushed"),
                                  Pair("4", "range pushed"), Pair("5", "range started"), Pair("9", "nobody")));
}

// Schemas and bytes that fit each other by chance only: whatever comes out, nothing else is read (sanitizers look).
TEST(Payload, AnyBytesWithAnySchemaAreSurvived) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const uint64_t types[] = {random.Below(110), 75 + random.Below(4), 16777217 + random.Below(4), random.Below(33)};
    std::string text;
    for (uint64_t s = 0; s < 4; ++s) {
      const std::string schema = " schema=" + std::to_string(16777217 + s);
      text += "nvtx_schema domain=3" + schema + " schema_type=" + std::to_string(random.Below(5)) +
              " size_bytes=" + std::to_string(random.Below(3) * random.Below(40)) + "\n";
      for (uint64_t i = 0; i < random.Below(8); ++i) {
        text += "nvtx_schema_entry domain=3" + schema + " index=" + std::to_string(i) +
                " flags=" + std::to_string(random.Below(5) << 4 | (random.Below(8) == 0 ? 2 : 0)) +
                " entry_type=" + std::to_string(types[random.Below(4)]) +
                " array_length=" + std::to_string(random.Below(4) == 0 ? random.Value() : random.Below(6)) +
                " offset_bytes=" + std::to_string(random.Below(3) == 0 ? random.Value() : 0) +
                " size_bytes=" + std::to_string(random.Below(20)) + " name=\"e\"\n";
      }
    }
    text +=
        "nvtx_enum domain=3 enumeration=16777220 value=" + std::to_string(random.Value()) + " is_flag=1 name=\"x\"\n";
    std::string bytes;
    for (uint64_t i = random.Below(200); i > 0; --i)
      bytes += static_cast<char>(random.Below(4) == 0 ? random.Next() : random.Below(3));
    text +=
        "nvtx_payload time_ns=1 tid=7 domain=3 schema=" + std::to_string(types[2]) + " data=" + Quoted(bytes) + "\n";
    const Trace t = LoadText(text);
    ASSERT_EQ(t.payloads.size(), 1u);
    ASSERT_LE(t.payload_values.size(), 64u);
    for (const PayloadValue& v : t.payload_values) ASSERT_LT(t.Text(v.text).size(), 4000u);
  }
}

}  // namespace
}  // namespace gprof
