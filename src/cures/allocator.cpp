// The allocator as the program calls it: the next one, that of libc or one that was preloaded, but that large blocks
// are noted (host_buffers.h).
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cures/driver.h"
#include "cures/host_buffers.h"
#include "cures/wanted_cures.h"

#define GPROF_EXPORT __attribute__((visibility("default")))

namespace gprof::cures {
namespace {

struct Allocator {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void (*free)(void*);
  pid_t (*fork)();
  bool is_of_libc;
};

// While the next allocator is looked up, the loader may want memory.
alignas(16) char first_bytes[16384];
std::atomic<std::size_t> first_bytes_taken{0};

void* TakeFirst(std::size_t bytes) {
  const std::size_t at = first_bytes_taken.fetch_add((bytes + 15) / 16 * 16);
  return at + bytes <= sizeof first_bytes ? first_bytes + at : nullptr;
}
bool IsFirst(const void* address) { return address >= first_bytes && address < first_bytes + sizeof first_bytes; }

constinit Allocator next{};
constinit std::atomic<int> progress{0};  // 1: the next allocator is being looked up, 2: it is known

template <class Function>
void Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(RealLookup(RTLD_NEXT, name));
}

bool AreOfOneLibrary(void* a, void* b) {
  Dl_info first, second;
  return dladdr(a, &first) != 0 && dladdr(b, &second) != 0 && first.dli_fbase == second.dli_fbase;
}

void FindNext() {
  Find("malloc", &next.malloc);
  Find("calloc", &next.calloc);
  Find("realloc", &next.realloc);
  Find("posix_memalign", &next.posix_memalign);
  Find("memalign", &next.memalign);
  Find("aligned_alloc", &next.aligned_alloc);
  Find("free", &next.free);
  Find("fork", &next.fork);
  next.is_of_libc = AreOfOneLibrary(reinterpret_cast<void*>(next.malloc), reinterpret_cast<void*>(next.fork));
}

// Null to a call of the lookup itself. A process has one thread when the first memory is asked for.
const Allocator* Next() {
  if (progress.load(std::memory_order_acquire) == 2) [[likely]]
    return &next;
  if (progress.exchange(1) == 1) return nullptr;
  FindNext();
  progress.store(2, std::memory_order_release);
  return &next;
}

// A chunk of glibc that is a mapping of its own says so in the word before it.
bool IsOwnMapping(const void* address) {
  constexpr std::size_t kIsMapped = 2;
  return next.is_of_libc && (static_cast<const std::size_t*>(address)[-1] & kIsMapped) != 0;
}

bool IsFollowed(std::size_t bytes) { return bytes >= kLeastBufferBytes && IsWanted(kPinCopies); }

void* NoteIfLarge(void* address, std::size_t bytes) {
  if (address != nullptr && IsFollowed(bytes)) NoteBuffer(address, bytes, IsOwnMapping(address));
  return address;
}

// A block that cannot be unpinned now is left where it is, and its content copied.
void* MoveBuffer(void* from, std::size_t old_bytes, std::size_t bytes) {
  void* const to = next.malloc(bytes);
  if (to != nullptr) std::memcpy(to, from, old_bytes < bytes ? old_bytes : bytes);
  return to;
}

void* Reallocate(void* address, std::size_t bytes) {
  std::size_t old_bytes = 0;
  if (!DropBuffer(address, &old_bytes)) return MoveBuffer(address, old_bytes, bytes);
  void* const moved = next.realloc(address, bytes);
  // What could not be moved is a block like before, but for its being pinned.
  if (moved == nullptr && bytes != 0 && old_bytes != 0) NoteBuffer(address, old_bytes, false);
  return NoteIfLarge(moved, bytes);
}

__attribute__((constructor)) void FollowForks() { pthread_atfork(LockBuffers, UnlockBuffers, ForgetBuffers); }

}  // namespace
}  // namespace gprof::cures

extern "C" {
using namespace gprof::cures;  // NOLINT: the functions below are C symbols in the global namespace

GPROF_EXPORT void* malloc(std::size_t bytes) {
  const Allocator* const to = Next();
  if (to == nullptr) return TakeFirst(bytes);
  return NoteIfLarge(to->malloc(bytes), bytes);
}

GPROF_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
  const Allocator* const to = Next();
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return errno = ENOMEM, nullptr;
  if (to == nullptr) return TakeFirst(all);  // never used before, so it is zero
  return NoteIfLarge(to->calloc(count, bytes), all);
}

GPROF_EXPORT void free(void* address) {
  if (address == nullptr || IsFirst(address)) return;
  if (MayBeBuffer(address) && !DropBuffer(address)) return;
  if (const Allocator* const to = Next()) to->free(address);
}

GPROF_EXPORT void* realloc(void* address, std::size_t bytes) {
  if (address == nullptr) return malloc(bytes);
  const Allocator* const to = Next();
  if (to == nullptr || IsFirst(address)) {
    void* const moved = malloc(bytes);
    const std::size_t left = static_cast<std::size_t>(first_bytes + sizeof first_bytes - static_cast<char*>(address));
    if (moved != nullptr) std::memcpy(moved, address, bytes < left ? bytes : left);
    return moved;
  }
  if (!MayBeBuffer(address)) return NoteIfLarge(to->realloc(address, bytes), bytes);
  return Reallocate(address, bytes);
}

GPROF_EXPORT void* reallocarray(void* address, std::size_t count, std::size_t bytes) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) return errno = ENOMEM, nullptr;
  return realloc(address, all);
}

GPROF_EXPORT int posix_memalign(void** address, std::size_t alignment, std::size_t bytes) {
  const Allocator* const to = Next();
  if (to == nullptr) return ENOMEM;
  const int failed = to->posix_memalign(address, alignment, bytes);
  if (failed == 0) NoteIfLarge(*address, bytes);
  return failed;
}

GPROF_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  const Allocator* const to = Next();
  return to == nullptr ? nullptr : NoteIfLarge(to->memalign(alignment, bytes), bytes);
}

GPROF_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const Allocator* const to = Next();
  return to == nullptr ? nullptr : NoteIfLarge(to->aligned_alloc(alignment, bytes), bytes);
}

GPROF_EXPORT pid_t fork() {
  const Allocator* const to = Next();
  HoldPinning();
  const pid_t child = to->fork();
  if (child != 0) ReleasePinning();
  return child;
}
}
