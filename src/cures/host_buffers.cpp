#include "cures/host_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "cures/captures.h"
#include "cures/spin_lock.h"
#include "cures/wanted_cures.h"

namespace gprof::cures {
namespace {

// A block is pinned when so many times its size was copied, as what pinning costs is one copy or more.
constexpr uint64_t kCopiesBefore = 4;
constexpr uintptr_t kPage = 4096;

enum class State : uint8_t { kPageable, kBeingPinned, kPinned, kBeingUnpinned };

struct Buffer {
  uintptr_t base = 0, end = 0;
  uint64_t copied_bytes = 0;
  Context context = nullptr;
  uint32_t users = 0;  // copies that are under way
  State state = State::kPageable;
  bool owns_its_pages = false;
  bool may_be_pinned = true;
};

// Sorted by address.
constexpr std::size_t kMostBuffers = 4096;
Buffer buffers[kMostBuffers];
std::size_t buffer_count = 0;
uint64_t pinned_bytes = 0;
uint32_t holders = 0;  // nothing is pinned while there are any
SpinLock lock;

// How many buffers share a number, which is made from the address; 0: no buffer is there.
constexpr std::size_t kNumbers = 8192;
std::atomic<uint16_t> by_number[kNumbers];
std::atomic<uint16_t>& NumberOf(uintptr_t address) {
  return by_number[(address >> 4 ^ address >> 16 ^ address >> 28) % kNumbers];
}

uintptr_t PageOf(uintptr_t address) { return address & ~(kPage - 1); }
uintptr_t PinnedBegin(const Buffer& b) { return PageOf(b.owns_its_pages ? b.base : b.base + kPage - 1); }
uintptr_t PinnedEnd(const Buffer& b) { return PageOf(b.owns_its_pages ? b.end + kPage - 1 : b.end); }

// The first that ends behind the address.
std::size_t PlaceOf(uintptr_t address) {
  std::size_t low = 0, high = buffer_count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (buffers[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Buffer* Containing(uintptr_t address) {
  const std::size_t at = PlaceOf(address);
  return at < buffer_count && buffers[at].base <= address ? &buffers[at] : nullptr;
}

uint64_t MostPinnedBytes() {
  static const uint64_t most =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 4;
  return most;
}

bool IsWorthPinning(const Buffer& b) {
  const uint64_t size = b.end - b.base;
  return b.may_be_pinned && b.state == State::kPageable && holders == 0 && b.copied_bytes >= kCopiesBefore * size &&
         pinned_bytes + size <= MostPinnedBytes() && IsWanted(kPinCopies) && !IsCapturing();
}

// The memory stays pinned after these alone; after all others there is nothing left that it is pinned for.
bool StaysPinnedAfter(int result) {
  return result == kNotPermitted || (result >= kFirstOfCapture && result <= kLastOfCapture);
}

// The lock is held when this is called, left while the driver is called, and held again afterwards: the buffer may be
// at another place by then. False: it stays pinned.
bool UnpinLocked(uintptr_t base) {
  for (Buffer* b = Containing(base); b != nullptr; b = Containing(base)) {
    if (b->state == State::kPageable) return true;
    if (b->state == State::kPinned && b->users == 0) break;
    lock.Leave();  // somebody else is about to change it
    sched_yield();
    lock.Take();
  }
  Buffer* b = Containing(base);
  if (b == nullptr) return true;
  b->state = State::kBeingUnpinned;
  const Context context = b->context;
  void* const first = reinterpret_cast<void*>(PinnedBegin(*b));
  lock.Leave();
  int result = kSuccess;
  {
    const InContext in_context(context);
    result = TheDriver()->cuMemHostUnregister(first);
  }
  lock.Take();
  b = Containing(base);
  if (StaysPinnedAfter(result)) return b->state = State::kPinned, false;
  b->state = State::kPageable;
  pinned_bytes -= b->end - b->base;
  return true;
}

enum class Busy : bool { kAwait, kPassOver };

// What stays pinned is passed over; what others change meanwhile is found again by its address.
void UnpinEach(Busy busy) {
  const Holding holding(lock);
  for (uintptr_t behind = 0; pinned_bytes > 0;) {
    std::size_t at = PlaceOf(behind);
    const auto is_left = [busy](const Buffer& b) {
      return b.state == State::kPageable || (busy == Busy::kPassOver && (b.users != 0 || b.state != State::kPinned));
    };
    while (at < buffer_count && is_left(buffers[at])) ++at;
    if (at == buffer_count) return;
    behind = buffers[at].end;
    UnpinLocked(buffers[at].base);
  }
}

// The driver goes away before the program's last destructors: buffers that they free are not pinned any more. Threads
// that are in the midst of a copy, perhaps for ever, are not waited for.
void UnpinAtExit() {
  GiveUp(kPinCopies);
  UnpinEach(Busy::kPassOver);
}

}  // namespace

bool MayBeBuffer(const void* address) {
  return NumberOf(reinterpret_cast<uintptr_t>(address)).load(std::memory_order_relaxed) != 0;
}

void NoteBuffer(const void* address, std::size_t bytes, bool owns_its_pages) {
  const auto base = reinterpret_cast<uintptr_t>(address);
  const Holding holding(lock);
  if (buffer_count == kMostBuffers) return;
  const std::size_t at = PlaceOf(base);
  std::memmove(static_cast<void*>(&buffers[at + 1]), &buffers[at], (buffer_count - at) * sizeof(Buffer));
  ++buffer_count;
  buffers[at] = Buffer{.base = base, .end = base + bytes, .owns_its_pages = owns_its_pages};
  NumberOf(base).fetch_add(1, std::memory_order_relaxed);
}

bool DropBuffer(const void* address, std::size_t* bytes) {
  const auto base = reinterpret_cast<uintptr_t>(address);
  const int kept_errno = errno;
  const Holding holding(lock);
  const Buffer* b = Containing(base);
  if (b == nullptr || b->base != base) return true;
  if (bytes != nullptr) *bytes = b->end - b->base;
  if (!UnpinLocked(base)) return false;
  const std::size_t at = PlaceOf(base);
  std::memmove(static_cast<void*>(&buffers[at]), &buffers[at + 1], (buffer_count - at - 1) * sizeof(Buffer));
  --buffer_count;
  NumberOf(base).fetch_sub(1, std::memory_order_relaxed);
  errno = kept_errno;
  return true;
}

BufferInUse::BufferInUse(const void* address, std::size_t bytes) : address_(reinterpret_cast<uintptr_t>(address)) {
  uintptr_t begin = 0, end = 0;
  {
    const Holding holding(lock);
    Buffer* const b = Containing(address_);
    if (b == nullptr || address_ + bytes > b->end) return;
    base_ = b->base;
    ++b->users;
    b->copied_bytes += bytes;
    begin = PinnedBegin(*b);
    end = PinnedEnd(*b);
    if (b->state == State::kPinned) pinned_begin_ = begin, pinned_end_ = end;
    if (!IsWorthPinning(*b)) return;
    b->state = State::kBeingPinned;
  }
  Pin(begin, end);
}

void BufferInUse::Pin(uintptr_t begin, uintptr_t end) {
  constexpr unsigned kPortable = 1;  // for all contexts
  const Context context = CurrentContext();
  int result = kNotFound;
  if (context != nullptr) {
    const InContext in_context(context);
    result = TheDriver()->cuMemHostRegister(reinterpret_cast<void*>(begin), end - begin, kPortable);
  }
  static constinit std::atomic<bool> is_told_of_exit{false};
  if (result == kSuccess && !is_told_of_exit.exchange(true)) atexit(UnpinAtExit);
  const Holding holding(lock);
  Buffer* const b = Containing(base_);
  b->state = result == kSuccess ? State::kPinned : State::kPageable;
  b->may_be_pinned = result == kSuccess;
  b->context = context;
  if (result != kSuccess) return;
  pinned_begin_ = begin, pinned_end_ = end;
  pinned_bytes += b->end - b->base;
}

std::size_t BufferInUse::BytesAlike(std::size_t offset, std::size_t bytes) const {
  const uintptr_t from = address_ + offset, end = from + bytes;
  for (const uintptr_t border : {pinned_begin_, pinned_end_}) {
    if (from < border && border < end) return border - from;
  }
  return bytes;
}

BufferInUse::~BufferInUse() {
  if (base_ == 0) return;
  const Holding holding(lock);
  if (Buffer* const b = Containing(base_)) --b->users;
}

void LeaveBufferAlone(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const Holding holding(lock);
  Buffer* const b = Containing(at);
  if (b == nullptr) return;
  b->may_be_pinned = false;
  UnpinLocked(b->base);
}

void UnpinAll() { UnpinEach(Busy::kAwait); }

void HoldPinning() {
  {
    const Holding holding(lock);
    ++holders;
  }
  UnpinAll();
}

void ReleasePinning() {
  const Holding holding(lock);
  --holders;
}

void LockBuffers() { lock.Take(); }
void UnlockBuffers() { lock.Leave(); }

void ForgetBuffers() {
  buffer_count = 0;
  pinned_bytes = 0;
  for (std::atomic<uint16_t>& number : by_number) number.store(0, std::memory_order_relaxed);
  GiveUp(kPinCopies);
  UnlockBuffers();
}

}  // namespace gprof::cures
