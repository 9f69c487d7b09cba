// Memory on disk, for `--low-memory`: blocks lie in a file without a name that is mapped shared, so the kernel can
// write them out where it needs the room, which it cannot do with ordinary memory on a machine without swap. Pages are
// taken from this process (not from the kernel's cache of the file) before it holds more than it may.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gprof {

// From now on TakeSpilled gives blocks, and this process keeps no more than `resident_bytes` of such pages in its
// memory. `folder` is that of the file, empty for $TMPDIR or /var/tmp. Throws Error: no such folder, nothing may be
// written there, or it lies in memory itself. Takes SIGALRM and SIGPROF for itself. To be called once.
void StartSpilling(const std::string& folder, std::size_t resident_bytes);
bool IsSpilling();

// Of any size, aligned to 16 bytes. nullptr where nothing is spilled, and for 256 KiB or less when the disk has no room
// for it. Larger ones throw std::bad_alloc then.
void* TakeSpilled(std::size_t bytes);

// False: it is none of TakeSpilled.
bool GiveBackSpilled(void* block) noexcept;

// Why TakeSpilled threw last, in words: "no room for … in …"; empty when it did not.
std::string WhySpillingFailed();

// A file that is only read, and is mapped: its pages are taken from this process, too. Until Forget.
void RememberMapped(const void* begin, std::size_t bytes);
void ForgetMapped(const void* begin);

namespace spill_detail {
inline constinit std::atomic<uintptr_t> region{0};
inline constinit std::atomic<std::size_t> region_bytes{0};
bool GiveBack(void* block) noexcept;
}  // namespace spill_detail

inline bool GiveBackSpilled(void* block) noexcept {
  const uintptr_t at = reinterpret_cast<uintptr_t>(block) - spill_detail::region.load(std::memory_order_relaxed);
  return at < spill_detail::region_bytes.load(std::memory_order_relaxed) && spill_detail::GiveBack(block);
}

}  // namespace gprof
