#include "tracer/counters/profiler/monitor_lock.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "gprof/trace/run_folder.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/store/memory/shared_pages.h"
#include "tracer/system/proc_file.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Devices by their place on the bus: their numbers are each process's own.
constexpr uint32_t kPlaces = 64;
struct Turn {
  std::atomic<uint32_t> owner;  // its pid; 0: nobody
};
struct Page {
  Turn turns[kPlaces];
};

// Null where there is none.
Turn* TurnOf(uint32_t device) {
  static Page* page = nullptr;
  static bool is_mapped = false;
  if (!is_mapped) page = static_cast<Page*>(MapSharedPage(trace::kMonitorsFile, sizeof(Page)));
  is_mapped = true;
  const auto number = static_cast<CUdevice>(device);
  const auto bus = static_cast<uint32_t>(DeviceAttribute(number, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
  const auto slot = static_cast<uint32_t>(DeviceAttribute(number, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  return page == nullptr ? nullptr : &page->turns[(bus * 31 + slot) % kPlaces];
}

// One that has ended and was not waited for yet is in the list of processes.
bool HasEnded(uint32_t pid) {
  char path[64], stat[1024];
  snprintf(path, sizeof path, "/proc/%u/stat", pid);
  if (ReadProcFile(path, stat, sizeof stat) <= 0) return true;
  const char* state = StatField(stat, 3);
  return state != nullptr && *state == 'Z';
}

bool Take(Turn* turn, uint32_t pid) {
  uint32_t owner = turn->owner.load(std::memory_order_acquire);
  const bool is_free = owner == 0 || owner == pid || HasEnded(owner);
  return is_free && turn->owner.compare_exchange_strong(owner, pid, std::memory_order_acquire);
}

void Sleep(uint64_t ns) {
  std::atomic<uint32_t> nothing{0};
  FutexWait(&nothing, 0, ns);
}

}  // namespace

bool TakeMonitors(uint32_t device) {
  constexpr uint64_t kPatienceNs = 30'000'000'000, kPollNs = 10'000'000;
  // The first thread of a process has ended before its last one closes the driver's files.
  constexpr uint64_t kTearDownNs = 500'000'000;
  Turn* turn = TurnOf(device);
  if (turn == nullptr) return true;
  const auto pid = static_cast<uint32_t>(getpid());
  const uint64_t deadline = MonotonicNs() + kPatienceNs;
  uint32_t before = turn->owner.load();
  while (!Take(turn, pid)) {
    if (MonotonicNs() >= deadline) return false;
    Sleep(kPollNs);
    before = turn->owner.load();
  }
  if (before != 0 && before != pid) Sleep(kTearDownNs);
  return true;
}

}  // namespace gprof::tracer
