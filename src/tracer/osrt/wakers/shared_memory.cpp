#include "tracer/osrt/wakers/shared_memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>

#include "tracer/core/notice.h"
#include "tracer/osrt/descriptors.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Of addresses that were asked for. Children of a fork have the same memory at the same addresses.
struct Place {
  std::atomic<uintptr_t> address;  // 0: none
  std::atomic<uint64_t> end;       // kUnknownEnd: is being asked for
};
constexpr uint32_t kMapPlaceBits = 10, kMostProbes = 8;
constinit Place places[1u << kMapPlaceBits] = {};

// PROCMAP_QUERY of Linux 6.11; older headers do not have it.
struct MapQuery {
  uint64_t size = sizeof(MapQuery), flags = 0, address = 0;
  uint64_t begin = 0, end = 0, map_flags = 0, page_bytes = 0, offset = 0, inode = 0;
  uint32_t device_major = 0, device_minor = 0, name_bytes = 0, build_id_bytes = 0;
  uint64_t name = 0, build_id = 0;
};
static_assert(sizeof(MapQuery) == 104);
constexpr unsigned long kQueryMap = _IOWR('f', 17, MapQuery);
constexpr uint64_t kIsShared = 8;

// As channels.cpp numbers ends; these have 0 in the bits that say of what.
uint64_t EndOfFile(uint64_t device_major, uint64_t device_minor, uint64_t inode, uint64_t offset) {
  const uint64_t parts[] = {device_major, device_minor, inode, offset};
  const uint64_t end = HashBytes(parts, sizeof parts) & ~uint64_t{3};
  return inode == 0 || end == kUnknownEnd ? kNoEnd : end;
}

uint64_t AskForMemory(uintptr_t address) {
  const ErrnoGuard errno_guard;
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return kNoEnd;
  MapQuery query;
  query.address = address;
  const bool is_known = ioctl(maps, kQueryMap, &query) == 0 && (query.map_flags & kIsShared) != 0;
  close(maps);
  if (!is_known) return kNoEnd;
  return EndOfFile(query.device_major, query.device_minor, query.inode, query.offset + (address - query.begin));
}

// The place of the address; null when there is no room.
Place* PlaceOf(uintptr_t address, bool* is_new) {
  const auto first = static_cast<uint32_t>(address * 0x9E3779B97F4A7C15u >> (64 - kMapPlaceBits));
  for (uint32_t i = 0; i < kMostProbes; ++i) {
    Place* const place = &places[(first + i) % (1u << kMapPlaceBits)];
    uintptr_t there = place->address.load(std::memory_order_acquire);
    *is_new = there == 0 && place->address.compare_exchange_strong(there, address, std::memory_order_acq_rel);
    if (*is_new || there == address) return place;
  }
  return nullptr;
}

}  // namespace

uint64_t EndOfMemory(uintptr_t address) {
  bool is_new = false;
  Place* const place = PlaceOf(address, &is_new);
  if (place == nullptr) return kNoEnd;
  if (is_new) place->end.store(AskForMemory(address), std::memory_order_release);
  const uint64_t end = place->end.load(std::memory_order_acquire);
  return end == kUnknownEnd ? kNoEnd : end;
}

// As glibc names their files.
void RememberNamedSemaphore(const sem_t* semaphore, const char* name) {
  const ErrnoGuard errno_guard;
  while (*name == '/') ++name;
  Message path;
  path << "/dev/shm/sem." << name;
  struct stat status;
  bool is_new = false;
  Place* const place = PlaceOf(reinterpret_cast<uintptr_t>(semaphore), &is_new);
  if (place == nullptr) return;
  const bool is_there = stat(path.c_str(), &status) == 0;
  place->end.store(is_there ? EndOfFile(major(status.st_dev), minor(status.st_dev), status.st_ino, 0) : kNoEnd,
                   std::memory_order_release);
}

}  // namespace gprof::tracer
