// Framing: the header byte for byte, and the checksum.
#include "gprof/trace/file.h"

#include <gtest/gtest.h>

#include <vector>

#include "chunks.h"

namespace gprof {
namespace {

using trace::ChunkHeader;
using trace::Crc32;
using trace::HeaderStatus;
using trace::kChunkHeaderBytes;

TEST(Crc, AgreesWithKnownValues) {
  EXPECT_EQ(Crc32(AsBytes(""), 0), 0u);
  EXPECT_EQ(Crc32(AsBytes("a"), 1), 0xE8B7BE43u);
  EXPECT_EQ(Crc32(AsBytes("123456789"), 9), 0xCBF43926u);
  const std::string_view text = "The quick brown fox jumps over the lazy dog";
  EXPECT_EQ(Crc32(AsBytes(text), text.size()), 0x414FA339u);
  EXPECT_EQ(Crc32(AsBytes(std::string(32, '\0')), 32), 0x190A55ADu);
  EXPECT_EQ(Crc32(AsBytes(std::string(32, '\xFF')), 32), 0xFF6CAB0Bu);
}

TEST(Crc, CanBeContinued) {
  const std::string_view text = "123456789";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = Crc32(AsBytes(text), cut);
    EXPECT_EQ(Crc32(AsBytes(text) + cut, text.size() - cut, first), 0xCBF43926u);
  }
}

ChunkHeader SomeHeader() {
  ChunkHeader h;
  h.flags = trace::kChunkZstd;
  h.kind = 10;
  h.record_count = 0x0201;
  h.body_bytes = 0x030201;
  h.unpacked_bytes = 0x040302;
  h.process.pid = 0x11223344;
  h.process.host = 0x0102030405060708;
  h.process.start_ticks = 0x1112131415161718;
  h.process.image = 3;
  h.sequence = 0x2122232425262728;
  h.first_ns = 0x3132333435363738;
  h.last_ns = 0x4142434445464748;
  h.body_crc = 0x51525354;
  return h;
}

TEST(Header, HasTheDocumentedLayout) {
  unsigned char b[kChunkHeaderBytes];
  WriteHeader(SomeHeader(), b);
  const auto at = [&](std::size_t offset, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; ++i) v |= uint64_t{b[offset + static_cast<std::size_t>(i)]} << (8 * i);
    return v;
  };
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(b), 8), std::string_view("\xA9gprof\r\n", 8));
  EXPECT_EQ(at(8, 2), trace::kFormatVersion);
  EXPECT_EQ(at(10, 2), 1u);
  EXPECT_EQ(at(12, 2), 10u);
  EXPECT_EQ(at(14, 2), 96u);
  EXPECT_EQ(at(16, 4), 0x0201u);
  EXPECT_EQ(at(20, 4), 0x030201u);
  EXPECT_EQ(at(24, 4), 0x040302u);
  EXPECT_EQ(at(28, 4), 0x11223344u);
  EXPECT_EQ(at(32, 8), 0x0102030405060708u);
  EXPECT_EQ(at(40, 8), 0x1112131415161718u);
  EXPECT_EQ(at(48, 4), 3u);
  EXPECT_EQ(at(52, 4), 0u);
  EXPECT_EQ(at(56, 8), 0x2122232425262728u);
  EXPECT_EQ(at(64, 8), 0x3132333435363738u);
  EXPECT_EQ(at(72, 8), 0x4142434445464748u);
  EXPECT_EQ(at(80, 8), 0u);
  EXPECT_EQ(at(88, 4), 0x51525354u);
  EXPECT_EQ(at(92, 4), Crc32(b, 92));
}

TEST(Header, ReadsBackWhatWasWritten) {
  unsigned char b[kChunkHeaderBytes], again[kChunkHeaderBytes];
  const ChunkHeader written = SomeHeader();
  WriteHeader(written, b);
  ChunkHeader read;
  ASSERT_EQ(ReadHeader(b, &read), HeaderStatus::kGood);
  EXPECT_TRUE(read.process == written.process);
  EXPECT_EQ(read.sequence, written.sequence);
  WriteHeader(read, again);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(b), sizeof b),
            std::string(reinterpret_cast<char*>(again), sizeof again));
}

TEST(Header, EveryFlippedBitIsNoticed) {
  unsigned char b[kChunkHeaderBytes];
  WriteHeader(SomeHeader(), b);
  for (std::size_t bit = 0; bit < 8 * sizeof b; ++bit) {
    b[bit / 8] = static_cast<unsigned char>(b[bit / 8] ^ (1u << (bit % 8)));
    ChunkHeader h;
    const HeaderStatus status = ReadHeader(b, &h);
    EXPECT_EQ(status, bit < 64 ? HeaderStatus::kNotAChunk : HeaderStatus::kBadChecksum) << bit;
    b[bit / 8] = static_cast<unsigned char>(b[bit / 8] ^ (1u << (bit % 8)));
  }
}

TEST(Header, BoundsAreKept) {
  const auto status = [](auto change) {
    ChunkHeader h = SomeHeader();
    change(h);
    unsigned char b[kChunkHeaderBytes];
    WriteHeader(h, b);
    ChunkHeader read;
    return ReadHeader(b, &read);
  };
  EXPECT_EQ(status([](ChunkHeader& h) { h.record_count = trace::kMaxChunkRecords; }), HeaderStatus::kGood);
  EXPECT_EQ(status([](ChunkHeader& h) { h.record_count = trace::kMaxChunkRecords + 1; }), HeaderStatus::kNonsense);
  EXPECT_EQ(status([](ChunkHeader& h) { h.body_bytes = trace::kMaxBodyBytes; }), HeaderStatus::kGood);
  EXPECT_EQ(status([](ChunkHeader& h) { h.body_bytes = trace::kMaxBodyBytes + 1; }), HeaderStatus::kNonsense);
  EXPECT_EQ(status([](ChunkHeader& h) { h.unpacked_bytes = trace::kMaxBodyBytes + 1; }), HeaderStatus::kNonsense);
  EXPECT_EQ(status([](ChunkHeader& h) { h.version = trace::kFormatVersion + 1; }), HeaderStatus::kTooNew);
}

}  // namespace
}  // namespace gprof
