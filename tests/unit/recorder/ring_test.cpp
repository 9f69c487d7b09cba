#include "recorder/ring.h"

#include <sys/stat.h>

#include <set>

#include "recorded_file.h"

namespace gprof {
namespace {

TEST(Ring, FollowsWhatIsAppended) {
  RecordedFile file;
  const auto ring = Ring::Open(file.path(), {});
  ASSERT_TRUE(ring);
  ring->Follow();
  const std::size_t before = ring->Chunks().size();
  file.Add(Kernel(kSecond), trace::StreamRecord{});
  int seen = 0;
  ring->Follow([&seen](const RingChunk&) { ++seen; });
  EXPECT_EQ(seen, 1);  // that of events
  EXPECT_EQ(ring->Chunks().size(), before + 2);
  ring->Follow([&seen](const RingChunk&) { ++seen; });
  EXPECT_EQ(seen, 1);
}

TEST(Ring, ForgetsWhatIsOldAndKeepsWhatNames) {
  RecordedFile file;
  const auto ring = Ring::Open(file.path(), {.keep_ns = 10 * kSecond});
  file.Add(trace::StreamRecord{});
  for (int second = 1; second <= 60; ++second) file.Add(Kernel(second * kSecond));
  ring->Follow();
  ring->Forget(60 * kSecond);
  const std::vector<RingChunk> chunks = ring->Chunks();
  int kernels = 0, streams = 0;
  for (const RingChunk& chunk : chunks) {
    kernels += chunk.header.kind == static_cast<uint16_t>(trace::RecordKind::kKernel);
    streams += chunk.header.kind == static_cast<uint16_t>(trace::RecordKind::kStream);
  }
  EXPECT_EQ(streams, 1);
  EXPECT_EQ(kernels, 11);  // those of 50 to 60 s
  EXPECT_EQ(ring->forgotten_records(), 49u);
  EXPECT_EQ(ring->complete_since_ns(), static_cast<uint64_t>(49 * kSecond + 1000));
}

TEST(Ring, TakesNoMoreMemoryThanItMay) {
  RecordedFile file;
  constexpr uint64_t kLimit = 64u << 10;
  const auto ring = Ring::Open(file.path(), {.keep_ns = 3600 * kSecond, .memory_bytes = kLimit});
  uint64_t most = 0;
  struct stat status = {};
  for (int i = 0; i < 20'000; ++i) {
    file.Add(Kernel(i * kSecond / 100));
    if (i % 50 != 0) continue;
    ring->Follow();
    ring->Forget(i * kSecond / 100);
    most = std::max(most, ring->BytesInMemory());
  }
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  EXPECT_GT(status.st_size, 1 << 20);  // of which nearly all is holes
  EXPECT_LT(most, kLimit + (32u << 10));
  EXPECT_TRUE(ring->can_forget());
  // What is kept can be read.
  std::vector<unsigned char> body;
  for (const RingChunk& chunk : ring->Chunks()) EXPECT_TRUE(ring->Read(chunk, &body));
}

TEST(Ring, AnotherProcessFindsWhatIsLeft) {
  RecordedFile file;
  const auto ring = Ring::Open(file.path(), {.keep_ns = 10 * kSecond});
  const auto reader = Ring::OpenToRead(file.path());
  for (int second = 1; second <= 2000; ++second) {
    file.Add(Kernel(second * kSecond));
    if (second % 100 == 0) file.Add(trace::StreamRecord{});
    if (second % 300 == 0) reader->Follow();
  }
  ring->Follow();
  ring->Forget(2000 * kSecond);
  reader->Follow();
  reader->Overlook(1990 * kSecond);
  const auto later = Ring::OpenToRead(file.path());
  later->Follow();
  const auto sequences = [](const Ring& one) {
    std::multiset<uint64_t> numbers;
    for (const RingChunk& chunk : one.Chunks()) numbers.insert(chunk.header.sequence);
    return numbers;
  };
  EXPECT_EQ(sequences(*later), sequences(*ring));
  EXPECT_EQ(sequences(*reader), sequences(*ring));
  std::vector<unsigned char> body;
  for (const RingChunk& chunk : later->Chunks()) EXPECT_TRUE(later->Read(chunk, &body));
}

TEST(Ring, WhatLastsTakesNoPagesOfItsOwn) {
  RecordedFile file;
  const auto ring = Ring::Open(file.path(), {.keep_ns = kSecond});
  for (int second = 1; second <= 1000; ++second) {
    file.Add(Kernel(second * kSecond), trace::StreamRecord{});
    ring->Follow();
    ring->Forget(second * kSecond);
  }
  EXPECT_LT(ring->BytesInMemory(), ring->lasting_bytes() + (16u << 10));
}

TEST(Ring, WaitsForAChunkThatIsNotThereAsAWhole) {
  RecordedFile file;
  file.Add(Kernel(kSecond));
  struct stat status = {};
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  const off_t whole = status.st_size;
  ASSERT_EQ(truncate(file.path().c_str(), whole - 5), 0);
  const auto ring = Ring::Open(file.path(), {});
  int seen = 0;
  ring->Follow([&seen](const RingChunk&) { ++seen; });
  EXPECT_EQ(seen, 0);
  ASSERT_EQ(truncate(file.path().c_str(), whole), 0);
  ring->Follow([&seen](const RingChunk&) { ++seen; });
  EXPECT_EQ(seen, 1);
}

TEST(Ring, GoesOnBehindDamage) {
  RecordedFile file;
  file.Add(Kernel(kSecond));
  const int descriptor = open(file.path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string torn = std::string(1, '\xA9') + "gprof, but torn" + std::string(5000, '\0');
  ASSERT_EQ(write(descriptor, torn.data(), torn.size()), static_cast<ssize_t>(torn.size()));
  close(descriptor);
  file.Add(Kernel(2 * kSecond));
  const auto ring = Ring::Open(file.path(), {});
  ring->Follow();
  EXPECT_EQ(ring->Chunks().size(), 3u);
}

}  // namespace
}  // namespace gprof
