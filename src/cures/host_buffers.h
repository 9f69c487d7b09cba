// The large blocks of host memory that the program has from malloc, and which of them are pinned. A block is pinned
// only while it is one: whoever frees it waits until it is not. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>

#include "cures/driver.h"

namespace gprof::cures {

// Smaller ones are not worth it.
inline constexpr std::size_t kLeastBufferBytes = 65536;

// A block was allocated. The pages that it shares with others are not pinned.
void NoteBuffer(const void* address, std::size_t bytes, bool owns_its_pages);
// Before it is freed or moved. False: it cannot be unpinned now, so its memory must stay.
bool DropBuffer(const void* address, std::size_t* bytes = nullptr);
// Cheap: most addresses are of no buffer.
bool MayBeBuffer(const void* address);

// The block that a copy is about to use, which is not freed before it ends.
class BufferInUse {
 public:
  // Counts the bytes, and pins the block when it has been copied again and again.
  BufferInUse(const void* address, std::size_t bytes);
  ~BufferInUse();
  BufferInUse(const BufferInUse&) = delete;
  BufferInUse& operator=(const BufferInUse&) = delete;
  bool IsPinned() const { return pinned_begin_ != 0; }
  // How much from there on is alike, pinned or not: the driver refuses a copy that begins in pinned memory and ends
  // elsewhere.
  std::size_t BytesAlike(std::size_t offset, std::size_t bytes) const;

 private:
  void Pin(uintptr_t begin, uintptr_t end);

  const uintptr_t address_;
  uintptr_t base_ = 0;  // 0: it is in no block that we know
  uintptr_t pinned_begin_ = 0, pinned_end_ = 0;
};

// The program does more with the block at this address than to copy it: it is as the program made it from now on.
void LeaveBufferAlone(const void* address);
void UnpinAll();
// Nothing is pinned from here to there: a child of fork would share the pages with those who copy to them.
void HoldPinning();
void ReleasePinning();
// At the fork itself, so that the child finds whole lists; it forgets them.
void LockBuffers();
void UnlockBuffers();
void ForgetBuffers();

}  // namespace gprof::cures
