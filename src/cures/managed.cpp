// prefetch-managed: before the first kernels that are launched after the host waited for the GPU, and so may have
// touched managed memory, all of it is prefetched in the stream of the launch. Where it is makes no difference to any
// result.
#include "cures/managed.h"

#include <atomic>
#include <cstddef>

#include "cures/calls.h"
#include "cures/captures.h"
#include "cures/context_waits.h"
#include "cures/driver.h"
#include "cures/spin_lock.h"

namespace gprof::cures {
namespace {

struct Managed {
  uint64_t address = 0, bytes = 0;
  bool is_prefetched = false;
};
constexpr std::size_t kMostManaged = 1024;
Managed all[kMostManaged];
std::size_t count = 0;
uint64_t all_bytes = 0;
SpinLock lock;
constinit std::atomic<bool> has_work{false};  // some of it may be with the host

// The device that kernels run on now, -1 where pages do not move on demand or half of its memory is too little.
int DeviceToPrefetchTo() {
  constexpr int kConcurrentManagedAccess = 89;
  const Driver* const driver = TheDriver();
  int device = -1, moves_on_demand = 0;
  uint64_t free_bytes = 0, bytes = 0;
  const bool is_known = driver != nullptr && driver->cuCtxGetDevice(&device) == kSuccess &&
                        driver->cuDeviceGetAttribute(&moves_on_demand, kConcurrentManagedAccess, device) == kSuccess &&
                        driver->cuMemGetInfo(&free_bytes, &bytes) == kSuccess;
  return is_known && moves_on_demand != 0 && all_bytes <= bytes / 2 ? device : -1;
}

bool TakeNext(Managed* next) {
  const Holding holding(lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].is_prefetched) continue;
    all[i].is_prefetched = true;
    *next = all[i];
    return true;
  }
  return false;
}

// The second version of the function takes a place, a struct of two numbers, and flags.
bool PrefetchTo(int device, const Managed& memory, uint64_t stream) {
  constexpr uint64_t kIsDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  const auto second = reinterpret_cast<int (*)(uint64_t, uint64_t, uint64_t, uint32_t, uint64_t)>(
      RealLookup(DriverLibrary(), "cuMemPrefetchAsync_v2"));
  const uint64_t place = kIsDevice | static_cast<uint64_t>(device) << 32;
  if (second != nullptr) return second(memory.address, memory.bytes, place, 0, stream) == kSuccess;
  const auto first =
      reinterpret_cast<int (*)(uint64_t, uint64_t, int, uint64_t)>(RealLookup(DriverLibrary(), "cuMemPrefetchAsync"));
  return first != nullptr && first(memory.address, memory.bytes, device, stream) == kSuccess;
}

}  // namespace

void NoteManaged(uint64_t address, uint64_t bytes, uint32_t flags) {
  constexpr uint32_t kForAll = 1;  // CU_MEM_ATTACH_GLOBAL
  if (!IsWanted(kPrefetchManaged) || flags != kForAll) return;
  const Holding holding(lock);
  if (count == kMostManaged) return;
  all[count++] = {address, bytes, false};
  all_bytes += bytes;
  has_work.store(true, std::memory_order_relaxed);
}

void ForgetManaged(uint64_t address) {
  const Holding holding(lock);
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i].address != address) continue;
    all_bytes -= all[i].bytes;
    all[i] = all[--count];
    return;
  }
}

void ForgetAllManaged() {
  const Holding holding(lock);
  count = 0;
  all_bytes = 0;
}

void NoteWait() {
  if (!IsWanted(kPrefetchManaged)) return;
  const Holding holding(lock);
  for (std::size_t i = 0; i < count; ++i) all[i].is_prefetched = false;
  has_work.store(count > 0, std::memory_order_relaxed);
}

void BeforeKernels(uint64_t stream) {
  if (!has_work.load(std::memory_order_relaxed) || !IsWanted(kPrefetchManaged) || IsCapturing()) return;
  has_work.store(false, std::memory_order_relaxed);
  const int device = DeviceToPrefetchTo();
  if (device < 0) return GiveUp(kPrefetchManaged);
  for (Managed next; TakeNext(&next);) {
    if (!PrefetchTo(device, next, stream)) return GiveUp(kPrefetchManaged);
  }
}

// The program says itself where its memory is to be.
int PlaceManaged(Call& call, const Words& words) {
  GiveUp(kPrefetchManaged);
  return call.Forward(words);
}

}  // namespace gprof::cures
