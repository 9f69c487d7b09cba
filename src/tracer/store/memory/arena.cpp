#include "tracer/store/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/env.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/largest_page.h"
#include "tracer/store/memory/process_key.h"
#include "tracer/system/memory_calls.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

// The linker marks the ends of a section whose name is a C identifier.
extern "C" {
extern unsigned char __start_gprof_arena[] __attribute__((visibility("hidden")));
extern unsigned char __stop_gprof_arena[] __attribute__((visibility("hidden")));
extern const unsigned char __ehdr_start[] __attribute__((visibility("hidden")));
}

namespace gprof::tracer {

bool is_salvage = false;

namespace {

constexpr std::size_t kHuge = 2u << 20;
// Pages are made in steps of this size, so that a process that records little pays for little.
constexpr std::size_t kStep = 64 * 1024;
// Of the file: 256 MB of rows, 512 MB of CUPTI's buffers, and names. Under a tight `ulimit -v` smaller ones are tried.
constexpr std::size_t kSizes[] = {trace::kSpareBytes, 256u << 20, 64u << 20, 16u << 20};
// Far from where programs, stacks, sanitizers and the driver put things, so that salvage finds the place free, and what
// follows a heap, too: it is mapped as it grows, because a program may limit its own address space. The second is for
// machines whose addresses have 39 bits.
constexpr uintptr_t kFirstPlaces[] = {0x3C0000000000u, 0x3C00000000u};
constexpr int kPlaces = 8;

struct Heap {
  std::atomic<uint64_t> used{0};    // offset of the next block
  std::atomic<uint64_t> backed{0};  // up to here there are pages: a store cannot fail for want of room
  uint64_t end = 0;
  std::atomic<uint32_t> has_overflowed{0};  // into private memory
};

Heap heaps[2] GPROF_IN_ARENA = {};
unsigned char* section_there GPROF_IN_ARENA = nullptr;  // its address in the process that records
trace::ArenaHeader own_header;                          // without a file
trace::ArenaHeader* header = &own_header;
unsigned char* base = nullptr;  // of the mapped file
bool is_file = false;           // whether `base` is a file, or the private copy of a forked child
uint64_t mapped_ends[2] = {};   // of each heap, as an offset; the first is mapped from the header on
char file_path[4096];
uint64_t opened_ns = 0;
Lock lock;

std::size_t SectionBytes() { return static_cast<std::size_t>(__stop_gprof_arena - __start_gprof_arena); }
std::size_t HeapOffset() { return (kLargestPage + SectionBytes() + kStep - 1) / kStep * kStep; }
// Salvage refuses the arena of another build. The begin of the library has its build id.
uint64_t Layout() { return HashBytes(__ehdr_start, 4096); }

void SplitHeap(std::size_t size) {
  const std::size_t start = HeapOffset();
  const std::size_t border = size / 4;
  heaps[0].used = heaps[0].backed = start;
  heaps[0].end = border;
  heaps[1].used = heaps[1].backed = border;
  heaps[1].end = size;
}

bool HasRoom(std::size_t bytes) {
  struct statfs fs;
  if (statfs(file_path, &fs) != 0) return true;  // chroot: what is mapped can still be backed
  if (fs.f_blocks == 0) return true;
  const auto block = static_cast<uint64_t>(fs.f_bsize);
  return fs.f_bavail * block >= bytes + BytesLeftToProgram(fs.f_blocks * block);
}

// Grows the mapping in place, which takes no descriptor. Salvage has mapped all.
bool MapUpTo(std::size_t heap, uint64_t end) {
  if (is_salvage || end <= mapped_ends[heap]) return true;
  const uint64_t begin = heap == 0 ? 0 : heaps[0].end;
  if (SystemMremap(base + begin, mapped_ends[heap] - begin, end - begin, 0, nullptr) == MAP_FAILED) return false;
  mapped_ends[heap] = end;
  return true;
}

// Gives pages to a part of the mapping, or says that there are none: a store into a hole of a full file system is
// SIGBUS.
bool Back(unsigned char* at, std::size_t bytes) {
  if (!is_file) return true;
  if (!HasRoom(bytes)) return false;
#ifdef MADV_POPULATE_WRITE
  if (SystemMadvise(at, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
#endif
  const int fd = open(file_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);  // a kernel before 5.14
  if (fd < 0) return false;
  const bool good = posix_fallocate(fd, at - base, static_cast<off_t>(bytes)) == 0;
  close(fd);
  return good;
}

void MakePath(bool is_among_others) {
  const char* folder = Setting(trace::env::kRunFolder);
  file_path[0] = 0;
  if (folder == nullptr || folder[0] != '/' || std::strlen(folder) > sizeof file_path - 80) return;
  snprintf(file_path, sizeof file_path, "%s/%s%s%u-%llu%s", folder, is_among_others ? trace::kOthersFolder : "",
           is_among_others ? "/" : "", static_cast<unsigned>(getpid()), static_cast<unsigned long long>(opened_ns),
           trace::kArenaSuffix);
}

bool Allows(__rlimit_resource_t resource, std::size_t bytes) {
  rlimit limit;
  return getrlimit(resource, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

int CreateEmptyFile() { return open(file_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); }

// One that the launcher has made for processes whose files may not grow.
int TakeSpare(std::size_t size) {
  const char* const folder = Setting(trace::env::kRunFolder);
  if (folder == nullptr || size != trace::kSpareBytes) return -1;
  for (uint32_t i = 0; i < trace::kSpareArenas; ++i) {
    char spare[sizeof file_path];
    snprintf(spare, sizeof spare, "%s/%s%u", folder, trace::kSpareFile, i);
    if (rename(spare, file_path) == 0) return open(file_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  }
  return -1;
}

int CreateFile(std::size_t size, std::size_t backed) {
  // Where address space is limited, the program needs it.
  if (!Allows(RLIMIT_AS, size * 16)) return -1;
  // Growing a file beyond the limit would send the program SIGXFSZ.
  const bool may_grow = Allows(RLIMIT_FSIZE, size);
  int fd = may_grow ? CreateEmptyFile() : TakeSpare(size);
  if (fd < 0 && errno == EACCES && may_grow) {
    MakePath(true);
    fd = CreateEmptyFile();
  }
  if (fd < 0) return -1;
  const bool good = (!may_grow || ftruncate(fd, static_cast<off_t>(size)) == 0) && HasRoom(backed) &&
                    posix_fallocate(fd, 0, static_cast<off_t>(backed)) == 0;
  if (good) return fd;
  close(fd);
  unlink(file_path);
  return -1;
}

// At this very place, or nowhere. It is a hint, which the kernel takes where that is free: sanitizers put 0 in place of
// addresses that are not theirs to give, and with MAP_FIXED_NOREPLACE root would get the page at 0.
bool MapAt(unsigned char* place, std::size_t bytes, int flags, int fd, uint64_t offset) {
  void* at = SystemMmap(place, bytes, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
  if (at == place) return true;
  if (at != MAP_FAILED) SystemMunmap(at, bytes);
  return false;
}

// The begin of the second heap, from which it grows.
bool MapSecondHeap(unsigned char* at, int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  const uint64_t offset = heaps[0].end;
  if (!MapAt(at + offset, kLargestPage, flags, fd, fd < 0 ? 0 : offset)) return false;
  mapped_ends[1] = offset + kLargestPage;
  return true;
}

// Null where none of the places is free.
unsigned char* MapFile(int fd) {
  const std::size_t bytes = HeapOffset();
  for (const uintptr_t first : kFirstPlaces) {
    for (int i = 0; i < kPlaces; ++i) {
      auto* place = reinterpret_cast<unsigned char*>(first + static_cast<uintptr_t>(i) * (kSizes[0] * 4));
      if (!MapAt(place, bytes, MAP_SHARED, fd, 0)) continue;
      mapped_ends[0] = bytes;
      if (MapSecondHeap(place, fd)) return place;
      SystemMunmap(place, bytes);
    }
  }
  return nullptr;
}

// Pages of the file are zero as they are, and cost what is stored in them.
void CopySection(unsigned char* to) {
  static const unsigned char kZeros[kLargestPage] = {};
  for (std::size_t at = 0; at < SectionBytes(); at += kLargestPage) {
    if (std::memcmp(__start_gprof_arena + at, kZeros, kLargestPage) == 0) continue;
    std::memcpy(to + at, __start_gprof_arena + at, kLargestPage);
  }
}

bool MapSection(int fd) {
  return SystemMmap(__start_gprof_arena, SectionBytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                    kLargestPage) != MAP_FAILED;
}

void FillHeader(std::size_t size) {
  header->layout = Layout();
  header->base = reinterpret_cast<uint64_t>(base);
  header->size_bytes = size;
  header->pid = static_cast<uint32_t>(getpid());
  header->magic = trace::kArenaMagic;
}

// Set while the section is already shared and `base` does not say so yet: a child forked then has no copy of the names.
constinit std::atomic<bool> is_creating{false};

bool CreateArena(std::size_t size) {
  const int fd = CreateFile(size, kLargestPage + SectionBytes());
  if (fd < 0) return false;
  SplitHeap(size);
  unsigned char* at = MapFile(fd);
  if (at != nullptr) {
    section_there = __start_gprof_arena;
    CopySection(at + kLargestPage);
    if (MapSection(fd)) {
      base = at;
      is_file = true;
      header = reinterpret_cast<trace::ArenaHeader*>(base);
      FillHeader(size);
    } else {
      SystemMunmap(at, mapped_ends[0]);
      SystemMunmap(at + heaps[0].end, kLargestPage);
      at = nullptr;
    }
  }
  close(fd);
  if (at == nullptr) unlink(file_path);
  return at != nullptr;
}

// What the parent has mapped since the fork is not mapped in the child. Of a file any part can be had again, with the
// length of now.
void CopyNamesOfParent(unsigned char* to, uint64_t end, bool is_of_file) {
  void* const all = is_of_file ? SystemMremap(base, 0, end, MREMAP_MAYMOVE, nullptr) : MAP_FAILED;
  const auto* from = all == MAP_FAILED ? base : static_cast<const unsigned char*>(all);
  const uint64_t there = all == MAP_FAILED && end > mapped_ends[0] ? mapped_ends[0] : end;
  std::memcpy(to + HeapOffset(), from + HeapOffset(), there - HeapOffset());
  if (all != MAP_FAILED) SystemMunmap(all, end);
}

// Puts a copy of the parent's section and names, which it goes on changing, in the place of its shared memory. With a
// file the copy is the child's own arena.
void LeaveParentsArena() {
  lock.ResetAfterFork();
  const std::size_t size = header->size_bytes;
  auto* section = static_cast<unsigned char*>(MapMemory(SectionBytes()));
  if (section == nullptr) return;
  // The section first: whatever it points to lies before what is used after it was copied.
  std::memcpy(section, __start_gprof_arena, SectionBytes());
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const uint64_t used = heaps[0].used.load(std::memory_order_acquire);
  const uint64_t backed = (used + kLargestPage - 1) / kLargestPage * kLargestPage;
  const int fd = file_path[0] == 0 ? -1 : CreateFile(size, backed);
  const bool was_file = is_file;
  is_file = fd >= 0;
  const int flags = is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* copy = SystemMmap(nullptr, backed, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (copy == MAP_FAILED) return;
  auto* bytes = static_cast<unsigned char*>(copy);
  std::memcpy(bytes + kLargestPage, section, SectionBytes());
  CopyNamesOfParent(bytes, used, was_file);
  if (!is_file || !MapSection(fd)) {
    SystemMremap(section, SectionBytes(), SectionBytes(), MREMAP_MAYMOVE | MREMAP_FIXED, __start_gprof_arena);
  }
  SystemMunmap(base, size);
  SystemMremap(copy, backed, backed, MREMAP_MAYMOVE | MREMAP_FIXED, base);
  mapped_ends[0] = backed;
  mapped_ends[1] = 0;
  MapSecondHeap(base, fd);
  if (is_file) close(fd);
  heaps[0].used = used;
  heaps[0].backed = backed;
  heaps[1].used = heaps[1].backed = heaps[0].end;
  FillHeader(size);
}

unsigned char* TakeFrom(Region region, std::size_t bytes, std::size_t alignment) {
  const LockGuard guard(lock);
  Heap& heap = heaps[static_cast<uint32_t>(region)];
  const uint64_t start = (heap.used.load(std::memory_order_relaxed) + alignment - 1) / alignment * alignment;
  const uint64_t end = start + bytes;
  if (end > heap.end) return nullptr;
  uint64_t backed = heap.backed.load(std::memory_order_relaxed);
  if (end > backed) {
    // From `start`, so that what alignment skips takes no memory.
    const uint64_t from = start > backed ? start / kLargestPage * kLargestPage : backed;
    uint64_t to = (end + kStep - 1) / kStep * kStep;
    if (to > heap.end) to = heap.end;
    if (!MapUpTo(static_cast<uint32_t>(region), to) || !Back(base + from, to - from)) return nullptr;
    heap.backed.store(to, std::memory_order_relaxed);
  }
  heap.used.store(end, std::memory_order_relaxed);
  return base + start;
}

}  // namespace

trace::ArenaHeader& Header() { return *header; }
bool IsArenaShared() { return is_file; }
bool NamesAreWhole() { return heaps[0].has_overflowed.load(std::memory_order_relaxed) == 0; }

void OpenArena() {
  const uint64_t now = MonotonicNs();
  opened_ns = now;
  MakePath(false);
  if (is_creating.load(std::memory_order_relaxed)) heaps[0].has_overflowed.store(1, std::memory_order_relaxed);
  is_creating.store(true, std::memory_order_relaxed);
  if (base != nullptr) {
    LeaveParentsArena();
  } else if (file_path[0] != 0 &&
             (SectionBytes() + reinterpret_cast<uintptr_t>(__start_gprof_arena)) % kLargestPage == 0) {
    for (const std::size_t size : kSizes) {
      if (CreateArena(size)) break;
    }
  }
  is_creating.store(false, std::memory_order_relaxed);
  const trace::ProcessKey key = OwnKey(now);
  header->host = key.host;
  header->start_ticks = key.start_ticks;
  header->image = key.image;
  header->pid = key.pid;
  header->start_ns = now;
}

void* KeepMemory(std::size_t bytes, Region region, std::size_t alignment) {
  if (base != nullptr) {
    void* at = TakeFrom(region, bytes, alignment);
    if (at != nullptr) return at;
    heaps[static_cast<uint32_t>(region)].has_overflowed.store(1, std::memory_order_relaxed);
  }
  return alignment >= kHuge ? MapHuge(bytes) : MapMemory(bytes);
}

void LockArena() {
  if (!is_file) return;
  const int fd = open(file_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) header->is_locked.store(1, std::memory_order_release);
}

void FinishArena(bool leaves_rest) {
  header->state.store(static_cast<uint32_t>(trace::ArenaState::kFinished), std::memory_order_release);
  if (is_file && !leaves_rest) unlink(file_path);
}

int AdoptArena(int fd) {
  is_salvage = true;
  trace::ArenaHeader found = {};
  snprintf(file_path, sizeof file_path, "/proc/self/fd/%d", fd);
  if (pread(fd, static_cast<void*>(&found), sizeof found, 0) != static_cast<ssize_t>(sizeof found)) return EIO;
  if (found.magic != trace::kArenaMagic || found.layout != Layout()) return EPROTO;
  void* place = reinterpret_cast<void*>(found.base);
  void* at = SystemMmap(place, found.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (at != place) return EEXIST;
  if (!MapSection(fd)) return errno;
  base = static_cast<unsigned char*>(at);
  is_file = true;
  header = static_cast<trace::ArenaHeader*>(at);
  return 0;
}

void* Relocated(void* at) {
  const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(at) - section_there);
  if (section_there != nullptr && offset < SectionBytes()) return __start_gprof_arena + offset;
  return IsKept(at, sizeof(uint64_t)) ? at : nullptr;
}

bool IsKept(const void* at, std::size_t bytes) {
  if (!is_salvage) return at != nullptr;
  const auto offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(base);
  for (const Heap& heap : heaps) {
    const uint64_t first = &heap == &heaps[0] ? HeapOffset() : heaps[0].end;
    const uint64_t used = heap.used.load(std::memory_order_relaxed);
    if (used <= header->size_bytes && offset >= first && offset <= used && bytes <= used - offset) return true;
  }
  return false;
}

}  // namespace gprof::tracer
