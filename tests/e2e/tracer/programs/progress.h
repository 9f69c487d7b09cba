// What a program has done, kept in a file that is mapped shared: the test reads it after any death of the program. A
// count of `begun` is raised before a call and one of `done` after it, so what is recorded must lie between the two.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "facts.h"

namespace progress {

constexpr unsigned kSlots = 16, kSyncs = 64;

struct Sync {
  uint64_t time_ns, launches, graphs;  // all of these had finished on the GPU at that time
};

struct Counter {
  std::atomic<uint64_t> begun, done;
};

// Of one thread; a slot is written by its thread alone.
struct Slot {
  Counter marks, ranges, pops, launches, graphs;
  std::atomic<uint64_t> marks_at_end;  // what was done when the program began to end
  std::atomic<uint64_t> captured;      // launches that only made nodes of a graph
  std::atomic<uint32_t> pid, tid;
  std::atomic<uint64_t> sync_count;
  Sync syncs[kSyncs];
};
static_assert(sizeof(Slot) == 8 * 14 + sizeof(Sync) * kSyncs);

struct Page {
  Slot slots[kSlots];
};

inline Page* Open(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(Page)) != 0) std::abort();
  void* page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) std::abort();
  close(file);
  return static_cast<Page*>(page);
}

inline uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

template <class Call>
void Count(Counter& counter, Call call) {
  counter.begun.fetch_add(1, std::memory_order_seq_cst);
  call();
  counter.done.fetch_add(1, std::memory_order_seq_cst);
}

}  // namespace progress
