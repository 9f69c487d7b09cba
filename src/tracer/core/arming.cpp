#include "tracer/core/arming.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "gprof/trace/run_folder.h"
#include "tracer/core/exit_hold.h"
#include "tracer/core/tracer.h"
#include "tracer/store/memory/process_key.h"
#include "tracer/system/memory_calls.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

extern "C" int InitializeInjection();  // cupti/cupti_entry.cpp

namespace gprof::tracer {
namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000, kNoWaitNs = 10'000'000;
constexpr std::size_t kPageBytes = 4096;

constinit std::atomic<bool> is_waiting{false};

// The word that attach wakes: the first of our own file, whoever has that mapped.
std::atomic<uint32_t>* MapBell() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&WaitForRequest), &own) == 0 || own.dli_fname == nullptr) return nullptr;
  const int fd = open(own.dli_fname, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const at = SystemMmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<std::atomic<uint32_t>*>(at);
}

// Who attaches to another process with this library wakes all that wait, again and again: no more than some looks a
// second come of that, or of a kernel that does not let it wait.
void Wait(std::atomic<uint32_t>* bell) {
  const uint64_t begin_ns = MonotonicNs();
  if (bell != nullptr) SharedFutexWait(bell, trace::kArmedWord, kHourNs);
  const timespec pause = {0, 50'000'000};
  if (MonotonicNs() - begin_ns < kNoWaitNs) nanosleep(&pause, nullptr);
}

bool TakeRequest() {
  const char* const folder = ArmedFolder();
  char path[4096];
  const int n = folder == nullptr
                    ? -1
                    : snprintf(path, sizeof path, "%s/%s%d-%llu", folder, trace::kArmedRequestPrefix, getpid(),
                               static_cast<unsigned long long>(StartTicksOf("/proc/self/stat")));
  return n > 0 && static_cast<std::size_t>(n) < sizeof path && TakeSettings(path);
}

void* RunArmedThread(void* name) {
  NameThread(static_cast<const char*>(name));
  std::atomic<uint32_t>* const bell = MapBell();
  while (!TakeRequest()) Wait(bell);
  UnmapMemory(bell, kPageBytes);
  // Threads that CUPTI starts here inherit our name, and attach takes a thread of that name for one that waits.
  NameThread(kAttachThread);
  if (!BeginStartBesideProgram()) return nullptr;
  LeaveArmedState();
  // Before CUPTI, which takes its time.
  if (StartTracer()) BindRememberedNvtx();
  InitializeInjection();
  EndStartBesideProgram();
  return nullptr;
}

}  // namespace

void WaitForRequest() {
  if (ArmedFolder() == nullptr || is_waiting.exchange(true)) return;
  if (!StartThread(RunArmedThread, trace::kArmedThread)) is_waiting.store(false);
}

void ForgetArmedThread() { is_waiting.store(false); }

}  // namespace gprof::tracer
