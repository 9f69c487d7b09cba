// Where the members of C structs lie, and how long structs are, as the compiler says.
#include "tracer/nvtx/payload_layout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace gprof::tracer {
namespace {

using Entry = nvtxPayloadSchemaEntry_t;

Entry Of(uint64_t type, uint64_t length = 0, uint64_t flags = 0, uint64_t offset = 0) {
  Entry e{};
  e.type = type;
  e.arrayOrUnionDetail = length;
  e.flags = flags;
  e.offset = offset;
  return e;
}

struct Placed {
  std::vector<uint64_t> offsets;
  uint64_t bytes;
};

Placed Place(const std::vector<Entry>& entries, uint64_t type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, uint64_t pack = 0) {
  Walk walk(type, pack);
  Placed placed;
  for (const Entry& e : entries) placed.offsets.push_back(walk.Place(e, ExtentOf(e, {})));
  placed.bytes = walk.Whole().bytes;
  return placed;
}

TEST(PayloadLayout, PlacesMembersAsTheCompilerDoes) {
  struct Mixed {
    char letter;
    double wide;
    short small;
    int numbers[3];
    char text[5];
    void* pointer;
    bool last;
  };
  const Placed placed = Place(
      {Of(NVTX_PAYLOAD_ENTRY_TYPE_CHAR), Of(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE), Of(NVTX_PAYLOAD_ENTRY_TYPE_SHORT),
       Of(NVTX_PAYLOAD_ENTRY_TYPE_INT, 3, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE),
       Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 5), Of(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS), Of(NVTX_PAYLOAD_ENTRY_TYPE_UINT8)});
  const std::vector<uint64_t> expected = {offsetof(Mixed, letter),  offsetof(Mixed, wide), offsetof(Mixed, small),
                                          offsetof(Mixed, numbers), offsetof(Mixed, text), offsetof(Mixed, pointer),
                                          offsetof(Mixed, last)};
  EXPECT_EQ(placed.offsets, expected);
  EXPECT_EQ(placed.bytes, sizeof(Mixed));
}

TEST(PayloadLayout, PackedStructsHaveNoPadding) {
  const std::vector<Entry> entries = {Of(NVTX_PAYLOAD_ENTRY_TYPE_CHAR), Of(NVTX_PAYLOAD_ENTRY_TYPE_INT64),
                                      Of(NVTX_PAYLOAD_ENTRY_TYPE_INT16)};
  EXPECT_EQ(Place(entries, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 1).bytes, 11u);
  EXPECT_EQ(Place(entries, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 2).offsets, (std::vector<uint64_t>{0, 2, 10}));
  EXPECT_EQ(Place(entries).bytes, 24u);
}

TEST(PayloadLayout, GivenOffsetsAreKept) {
  const Placed placed =
      Place({Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, 0, 0), Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, 0, 100)});
  EXPECT_EQ(placed.offsets, (std::vector<uint64_t>{0, 100}));
  EXPECT_EQ(placed.bytes, 104u);
}

TEST(PayloadLayout, MembersOfUnionsLieOnEachOther) {
  for (const uint64_t type : {NVTX_PAYLOAD_SCHEMA_TYPE_UNION, NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR}) {
    const Placed placed = Place({Of(NVTX_PAYLOAD_ENTRY_TYPE_INT8), Of(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE)}, type);
    EXPECT_EQ(placed.offsets, (std::vector<uint64_t>{0, 0}));
    EXPECT_EQ(placed.bytes, 8u);
  }
}

TEST(PayloadLayout, WhatIsNotFixedHasNoLength) {
  const Entry number = Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32);
  const Entry unfixed[] = {Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED),
                           Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX),
                           Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 1, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX),
                           Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE),
                           Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING),
                           Of(1u << 25),
                           Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, ~0ull, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)};
  for (const Entry& e : unfixed) EXPECT_EQ(Place({number, e, number}).bytes, 0u);
  EXPECT_EQ(Place({number, number}, NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC).bytes, 0u);
}

TEST(PayloadLayout, NestedLayoutsTakeTheirLength) {
  const Entry nested = Of(1u << 25, 3, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
  EXPECT_EQ(ExtentOf(nested, {16, 8}).bytes, 48u);
  // Three halves of a word after one letter: at the next even place.
  Walk walk(NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 0);
  const Entry letter = Of(NVTX_PAYLOAD_ENTRY_TYPE_CHAR), halves = Of(1u << 25);
  EXPECT_EQ(walk.Place(letter, ExtentOf(letter, {})), 0u);
  EXPECT_EQ(walk.Place(halves, ExtentOf(halves, {6, 2})), 2u);
  EXPECT_EQ(walk.Whole().bytes, 8u);
  EXPECT_EQ(walk.Whole().alignment, 2u);
}

TEST(PayloadLayout, FindsTheMessage) {
  constexpr uint64_t kMessage = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 16)), MessageForm::kNone);
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 16, kMessage)), MessageForm::kInside);
  EXPECT_EQ(MessageFormOf(
                Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8, 0, kMessage | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED)),
            MessageForm::kInside);
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, kMessage | NVTX_PAYLOAD_ENTRY_FLAG_POINTER)),
            MessageForm::kPointer);
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, 0, kMessage)),
            MessageForm::kRegistered);
  // Nothing says how long these are, or that they are text that we can read.
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 0, kMessage)), MessageForm::kNone);
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, 8, kMessage)), MessageForm::kNone);
  EXPECT_EQ(MessageFormOf(Of(NVTX_PAYLOAD_ENTRY_TYPE_INT32, 0, kMessage)), MessageForm::kNone);
}

}  // namespace
}  // namespace gprof::tracer
