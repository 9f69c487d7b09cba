// Memory for thread logs and CUPTI buffers: fixed-size blocks, mapped when needed, recycled, bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

// A lock-free stack of blocks of one size. The links live beside the blocks, never in them, because CUPTI may still
// write to a block that somebody looks at. A tag in the head defeats ABA.
template <uint32_t kCapacity>
class BlockStack {
 public:
  void Push(uint32_t index) {
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      next_[index].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
      next = ((head >> 32) + 1) << 32 | (index + 1);
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_release, std::memory_order_relaxed));
  }
  // False: empty.
  bool Pop(uint32_t* index) {
    uint64_t head = head_.load(std::memory_order_acquire);
    uint64_t next;
    do {
      if (static_cast<uint32_t>(head) == 0) return false;
      *index = static_cast<uint32_t>(head) - 1;
      next = ((head >> 32) + 1) << 32 | next_[*index].load(std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_acquire, std::memory_order_acquire));
    return true;
  }
  void Clear() { head_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> head_{0};
  std::atomic<uint32_t> next_[kCapacity] = {};
};

inline constexpr std::size_t kPageBytes = 64 * 1024;
inline constexpr uint32_t kMaxPages = 4096;  // 256 MB of rows that nobody has written yet; beyond that rows are dropped

// Pages of the thread logs.
class PagePool {
 public:
  // [any thread] Null when the limit is reached or the system has no memory.
  unsigned char* Take(uint32_t* index);
  // [writer thread] The page can be taken again when some more were given back: by then the last reader's core has lost
  // it, and writing it is cheaper.
  void Give(uint32_t index);
  // Keeps two slabs' worth of pages free, so that no thread of the target has to make one: that takes a millisecond.
  // Until the first page is used, which in a short process none is, a small slab does. [writer thread]
  void PrepareSlab();
  uint32_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  void ResetAfterFork();

 private:
  bool Grow();
  // Two megabytes, so that the kernel can back a slab by one huge page: a storm of rows then costs one page fault where
  // it would cost five hundred.
  static constexpr uint32_t kPagesPerSlab = 32;
  static constexpr uint32_t kPagesOfFirstSlab = 4;
  static constexpr uint32_t kSpare = kPagesPerSlab * 2;
  static constexpr uint32_t kResting = 256;  // 16 MB, more than a core's second cache holds
  BlockStack<kMaxPages> free_;
  std::atomic<unsigned char*> slabs_[kMaxPages / kPagesPerSlab] = {};
  std::atomic<uint32_t> slab_count_{0};
  std::atomic<uint32_t> in_use_{0};
  // Given back and not free yet, the one that has waited longest at given_ % kResting. [writer thread]
  uint32_t resting_[kResting] = {};
  uint32_t given_ = 0;
};

PagePool& Pages();

}  // namespace gprof::tracer
