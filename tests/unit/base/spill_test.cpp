// Blocks of all sizes keep what is in them while their pages are taken from the process again and again.
#include "base/machine/spill.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kResident = std::size_t{8} << 20, kLargest = std::size_t{3} << 20;

// Once in this process, as a command does it. Where the system has no place for it there is nothing to test.
bool CanSpill() {
  static const bool can = [] {
    try {
      StartSpilling("/var/tmp", kResident);
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return can;
}

struct Block {
  unsigned char* at;
  std::size_t bytes;
  unsigned char mark;
};

Block Make(std::size_t bytes, unsigned char mark) {
  auto* const at = static_cast<unsigned char*>(TakeSpilled(bytes));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % 16, 0u) << bytes;
  std::memset(at, mark, bytes);
  return {at, bytes, mark};
}

// All bytes are looked at: a neighbour that begins too early shows at the end of a block.
bool IsWhole(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; ++i) {
    if (block.at[i] != block.mark) return false;
  }
  return true;
}

TEST(Spill, BlocksOfEverySizeAreTheirOwn) {
  if (!CanSpill()) GTEST_SKIP() << "/var/tmp is no folder on a disk";
  std::vector<Block> blocks;
  for (std::size_t bytes = 1; bytes <= kLargest; bytes += 1 + bytes / 7) {
    for (const std::size_t size : {bytes, bytes})
      blocks.push_back(Make(size, static_cast<unsigned char>(blocks.size() * 37 + 1)));
  }
  for (const Block& block : blocks) EXPECT_TRUE(IsWhole(block)) << block.bytes;
  for (const Block& block : blocks) EXPECT_TRUE(GiveBackSpilled(block.at)) << block.bytes;
}

TEST(Spill, SmallBlocksAreUsedAgain) {
  if (!CanSpill()) GTEST_SKIP() << "/var/tmp is no folder on a disk";
  void* const first = TakeSpilled(100);
  GiveBackSpilled(first);
  EXPECT_EQ(TakeSpilled(112), first);  // the same class
  EXPECT_TRUE(GiveBackSpilled(first));
  int other = 0;
  EXPECT_FALSE(GiveBackSpilled(&other));
}

// Each thread takes and gives back blocks at random, some 60 MB at a time with what the others have: seven times what
// the process may keep.
void TakeAndGiveBack(unsigned seed, bool* is_whole) {
  std::mt19937 random(seed);
  std::vector<Block> blocks;
  *is_whole = true;
  for (int i = 0; i < 1500; ++i) {
    const std::size_t bytes = std::size_t{1} << random() % 21;
    blocks.push_back(
        Make(bytes + random() % bytes, static_cast<unsigned char>(seed * 64 + static_cast<unsigned>(i) % 64)));
    if (blocks.size() < 200) continue;
    std::swap(blocks[random() % blocks.size()], blocks.back());
    *is_whole = *is_whole && IsWhole(blocks.back());
    GiveBackSpilled(blocks.back().at);
    blocks.pop_back();
  }
  for (const Block& block : blocks) {
    *is_whole = *is_whole && IsWhole(block);
    GiveBackSpilled(block.at);
  }
}

TEST(Spill, ThreadsDoNotDisturbEachOther) {
  if (!CanSpill()) GTEST_SKIP() << "/var/tmp is no folder on a disk";
  bool is_whole[3] = {};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) threads.emplace_back(TakeAndGiveBack, t, &is_whole[t]);
  for (std::thread& thread : threads) thread.join();
  for (const bool whole : is_whole) EXPECT_TRUE(whole);
}

TEST(Spill, WhatIsTooMuchIsRefusedWithItsReason) {
  if (!CanSpill()) GTEST_SKIP() << "/var/tmp is no folder on a disk";
  EXPECT_THROW(TakeSpilled(std::size_t{1} << 62), std::bad_alloc);
  EXPECT_NE(WhySpillingFailed().find("MB in '/var/tmp': no addresses"), std::string::npos) << WhySpillingFailed();
}

}  // namespace
}  // namespace gprof
