#include "tracer/store/memory/page_pool.h"

#include <sched.h>

#include <algorithm>

#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {
constinit PagePool pool GPROF_IN_ARENA;
}

PagePool& Pages() { return pool; }

unsigned char* PagePool::Take(uint32_t* index) {
  // Hundreds of threads may come at once and each begin a slab: then there are enough, but the last of these threads
  // find them on their way.
  constexpr int kPatience = 1000;
  for (int tries = 0; !free_.Pop(index); ++tries) {
    if (Grow()) continue;
    if (in_use_.load(std::memory_order_relaxed) + kResting >= kMaxPages || tries == kPatience) return nullptr;
    if (slab_count_.load(std::memory_order_relaxed) < kMaxPages / kPagesPerSlab) return nullptr;  // no memory
    sched_yield();
  }
  in_use_.fetch_add(1, std::memory_order_relaxed);
  unsigned char* slab = slabs_[*index / kPagesPerSlab].load(std::memory_order_acquire);
  return slab + (*index % kPagesPerSlab) * kPageBytes;
}

void PagePool::Give(uint32_t index) {
  in_use_.fetch_sub(1, std::memory_order_relaxed);
  uint32_t& place = resting_[given_ % kResting];
  if (given_ >= kResting) free_.Push(place);
  place = index;
  ++given_;
}

// Memory is touched here for the first time, which is slow; so the writer thread does it before it is needed.
void PagePool::PrepareSlab() {
  const uint32_t used = in_use_.load(std::memory_order_relaxed) + std::min(given_, kResting);
  // A process with few rows needs no more than the first slab, but that it needs in the middle of its work.
  const uint32_t wanted = used == 0 ? kPagesOfFirstSlab : used + kSpare;
  const uint32_t slabs = slab_count_.load(std::memory_order_relaxed);
  if (slabs == 0 || kPagesOfFirstSlab + (slabs - 1) * kPagesPerSlab < wanted) Grow();
}

bool PagePool::Grow() {
  constexpr uint32_t kMaxSlabs = kMaxPages / kPagesPerSlab;
  uint32_t slab = slab_count_.load(std::memory_order_relaxed);
  do {
    if (slab >= kMaxSlabs) return false;
  } while (!slab_count_.compare_exchange_weak(slab, slab + 1, std::memory_order_acq_rel));
  const uint32_t pages = slab == 0 ? kPagesOfFirstSlab : kPagesPerSlab;
  auto* at = static_cast<unsigned char*>(KeepMemory(pages * kPageBytes, Region::kRows, pages * kPageBytes));
  if (at == nullptr) {
    // Where somebody took the number after ours in the meantime, ours stays a hole.
    uint32_t taken = slab + 1;
    slab_count_.compare_exchange_strong(taken, slab, std::memory_order_acq_rel);
    return false;
  }
  slabs_[slab].store(at, std::memory_order_release);
  for (uint32_t i = 0; i < pages; ++i) free_.Push(slab * kPagesPerSlab + i);
  return true;
}

// The child of a fork starts with new pages: the parent's are full of rows that the parent writes itself.
void PagePool::ResetAfterFork() {
  free_.Clear();
  for (auto& slab : slabs_) slab.store(nullptr, std::memory_order_relaxed);
  slab_count_.store(0, std::memory_order_relaxed);
  in_use_.store(0, std::memory_order_relaxed);
  given_ = 0;
}

}  // namespace gprof::tracer
