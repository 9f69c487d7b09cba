#include "tracer/capture/control.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/env.h"
#include "tracer/system/memory_calls.h"
#include "tracer/system/settings.h"

namespace gprof::tracer {
namespace {

const trace::ControlPage* page = nullptr;
Order last_order;

bool ReadPage(Order* order) {
  const uint32_t before = page->epoch.load(std::memory_order_acquire);
  if (before % 2 != 0) return false;
  order->epoch = before;
  order->wish = static_cast<trace::CaptureWish>(page->wish.load(std::memory_order_relaxed));
  order->trigger = static_cast<trace::CaptureTrigger>(page->trigger.load(std::memory_order_relaxed));
  order->identity = {
      page->output_device.load(std::memory_order_relaxed), page->output_inode.load(std::memory_order_relaxed),
      page->output_run.load(std::memory_order_relaxed), page->output_limit.load(std::memory_order_relaxed)};
  std::memcpy(order->output, page->output, sizeof page->output);
  order->output[sizeof page->output - 1] = 0;
  std::atomic_thread_fence(std::memory_order_acquire);
  return page->epoch.load(std::memory_order_relaxed) == before;
}

}  // namespace

// Maps the page of the run's folder, if there is one.
void OpenControl() {
  const char* folder = Setting(trace::env::kRunFolder);
  if (page != nullptr || folder == nullptr || folder[0] != '/') return;
  char path[4096];
  const int n = snprintf(path, sizeof path, "%s/%s", folder, trace::kControlFile);
  if (n <= 0 || static_cast<std::size_t>(n) >= sizeof path) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  void* at = SystemMmap(nullptr, sizeof(trace::ControlPage), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  const auto* found = static_cast<const trace::ControlPage*>(at);
  if (at != MAP_FAILED && found->magic == trace::kControlMagic) page = found;
}

bool LauncherIsAlive() {
  const auto pid = page == nullptr ? 0 : static_cast<pid_t>(page->launcher_pid.load(std::memory_order_relaxed));
  return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

bool IsChildOfLauncher() {
  return page == nullptr || page->launcher_pid.load(std::memory_order_relaxed) == static_cast<uint32_t>(getppid());
}

const Order* NextOrder() {
  if (page == nullptr || page->epoch.load(std::memory_order_acquire) == last_order.epoch) return nullptr;
  // The launcher writes for a moment; one that died within it leaves an odd number for ever.
  for (int i = 0; i < 1000; ++i) {
    Order fresh;
    if (ReadPage(&fresh)) {
      last_order = fresh;
      return &last_order;
    }
    sched_yield();
  }
  return nullptr;
}

void ResetControlAfterFork() { last_order = {}; }

}  // namespace gprof::tracer
