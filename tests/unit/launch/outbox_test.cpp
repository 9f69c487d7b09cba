#include "gprof/trace/outbox.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "fake_arena.h"
#include "gprof/trace/file.h"
#include "gprof/trace/record.h"
#include "launch/salvage/outbox_taker.h"

namespace gprof {
namespace {

constexpr uint64_t kRun = 4711, kStartTicks = 17;
constexpr uint64_t kCapacity = 4096 - sizeof(trace::Outbox);

// One without records.
std::string ChunkOf(uint64_t sequence, uint32_t pid, uint64_t run = kRun) {
  trace::ChunkHeader header;
  header.kind = static_cast<uint16_t>(trace::RecordKind::kNotice);
  header.record_count = 1;
  header.process = {1, kStartTicks, pid, 4};
  header.sequence = sequence;
  header.run = run;
  header.body_crc = trace::Crc32(nullptr, 0);
  unsigned char bytes[trace::kChunkHeaderBytes];
  trace::WriteHeader(header, bytes);
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}

class OutboxTest : public testing::Test {
 protected:
  void SetUp() override {
    first_ = ChunkOf(0, 1);
    std::ofstream(trace_.path) << first_;
    traces_.Add(trace_);
    void* const page =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, arena_.descriptor(), trace::kOutboxPageBytes);
    ASSERT_NE(page, MAP_FAILED);
    outbox_ = static_cast<trace::Outbox*>(page);
    outbox_->capacity = kCapacity;
    arena_.header().outbox_page.store(1);
  }
  void TearDown() override { munmap(outbox_, 4096); }

  void Put(const std::string& bytes) {
    auto* const ring = reinterpret_cast<char*>(outbox_ + 1);
    uint64_t at = outbox_->added.load();
    for (const char byte : bytes) ring[at++ % kCapacity] = byte;
    outbox_->added.store(at);
  }
  TakenChunks Take() { return TakeOutbox(ArenasIn(folder_.path()).at(0), traces_); }
  std::string Recorded() const { return ReadWhole(trace_.path).substr(first_.size()); }

  const uint32_t pid_ = static_cast<uint32_t>(getpid());
  TemporaryFolder folder_;
  FakeArena arena_{folder_.path(), getpid(), kStartTicks};
  TraceFile trace_{folder_.path() + "/run.trace", 0, 0, kRun};
  RunTraces traces_;
  std::string first_;
  trace::Outbox* outbox_ = nullptr;
};

TEST_F(OutboxTest, ChunksAreInTheTraceOnceWhereverTheRingEnds) {
  outbox_->added = outbox_->taken = kCapacity - 100;
  std::string all;
  for (uint64_t i = 1; i <= 90; i += 3) {
    const std::string chunks = ChunkOf(i, pid_) + ChunkOf(i + 1, pid_) + ChunkOf(i + 2, pid_);
    Put(chunks);
    all += chunks;
    EXPECT_EQ(Take().error, 0);
    EXPECT_EQ(Recorded(), all);
    EXPECT_EQ(outbox_->taken.load(), outbox_->added.load());
  }
  Take();
  EXPECT_EQ(Recorded(), all);
}

TEST_F(OutboxTest, WhatCannotBeWrittenStaysAndIsCounted) {
  std::filesystem::rename(trace_.path, folder_.path() + "/kept");
  Put(ChunkOf(1, pid_) + ChunkOf(2, pid_));
  const TakenChunks taken = Take();
  EXPECT_EQ(taken.error, ENOENT);
  EXPECT_EQ(taken.left_records, 2u);
  std::filesystem::rename(folder_.path() + "/kept", trace_.path);
  EXPECT_EQ(Take().left_records, 0u);
  EXPECT_EQ(Recorded(), ChunkOf(1, pid_) + ChunkOf(2, pid_));
}

TEST_F(OutboxTest, OnlyChunksOfTheProcessAreTaken) {
  Put(ChunkOf(1, pid_) + ChunkOf(2, pid_ + 1) + ChunkOf(3, pid_));
  EXPECT_EQ(Take().error, EPROTO);
  EXPECT_EQ(Recorded(), ChunkOf(1, pid_));
}

TEST_F(OutboxTest, ChunksOfACancelledTraceAreDropped) {
  Put(ChunkOf(1, pid_, kRun + 1) + ChunkOf(2, pid_));
  EXPECT_EQ(Take().error, 0);
  EXPECT_EQ(Recorded(), ChunkOf(2, pid_));
}

TEST_F(OutboxTest, NonsenseIsNotRead) {
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 20}) {
    outbox_->capacity = capacity;
    outbox_->added = outbox_->taken + 500'000;
    Take();
    EXPECT_EQ(Recorded(), "");
  }
}

}  // namespace
}  // namespace gprof
