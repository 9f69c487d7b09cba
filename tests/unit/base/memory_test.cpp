#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/machine/process_memory.h"

namespace gprof {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOwnHeap = true;
#else
constexpr bool kHasOwnHeap = false;
#endif

// What the kernel says of the mapping that has the address: VmFlags of /proc/self/smaps.
std::string FlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(address);
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) is_there = first <= at && at < last;
    if (is_there && line.starts_with("VmFlags:")) return line + " ";
  }
  return "";
}

bool HasLargePages() {
  constexpr std::size_t kBytes = 4 << 20;
  void* const block = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return false;
  const bool has = madvise(block, kBytes, MADV_HUGEPAGE) == 0 && FlagsOf(block).find(" hg ") != std::string::npos;
  munmap(block, kBytes);
  return has;
}

TEST(Memory, WhatIsExpectedComesInLargePages) {
  if (kHasOwnHeap) GTEST_SKIP() << "sanitizers have a heap of their own";
  if (!HasLargePages()) GTEST_SKIP() << "this kernel has no large pages";
  KeepFreedMemory();
  ExpectMemory(std::size_t{64} << 20);
  char* const block = static_cast<char*>(std::malloc(std::size_t{32} << 20));
  ASSERT_NE(block, nullptr);
  EXPECT_NE(FlagsOf(block + (std::size_t{16} << 20)).find(" hg "), std::string::npos);
  std::memset(block, 1, std::size_t{32} << 20);
  std::free(block);
}

TEST(Memory, MoreThanThereIsCanBeExpected) {
  if (kHasOwnHeap) GTEST_SKIP() << "sanitizers touch an eighth of what is asked for";
  ExpectMemory(SIZE_MAX);
  void* const block = std::malloc(1 << 20);
  EXPECT_NE(block, nullptr);
  std::free(block);
}

}  // namespace
}  // namespace gprof
