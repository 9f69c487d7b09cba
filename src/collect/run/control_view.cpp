#include "collect/run/control_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/machine/descriptor.h"
#include "base/text.h"

namespace gprof {

std::unique_ptr<ControlView> ControlView::Open(const std::string& folder) {
  const int descriptor = OpenHigh((folder + "/" + trace::kControlFile).c_str(), O_RDONLY | O_NOFOLLOW, 0);
  if (descriptor < 0) return nullptr;
  void* const at = mmap(nullptr, sizeof(trace::ControlPage), PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (at == MAP_FAILED) return nullptr;
  const auto* const page = static_cast<const trace::ControlPage*>(at);
  std::unique_ptr<ControlView> view(new ControlView(page));
  return page->magic == trace::kControlMagic ? std::move(view) : nullptr;
}

ControlView::~ControlView() { munmap(const_cast<trace::ControlPage*>(page_), sizeof *page_); }

bool ControlView::RunHasEnded() const { return page_->run_has_ended.load(std::memory_order_acquire) != 0; }

std::string ControlView::FailureOfProgram() const {
  if (!RunHasEnded()) return {};
  const int signal = page_->end_signal.load(std::memory_order_relaxed);
  const int code = page_->exit_code.load(std::memory_order_relaxed);
  return signal != 0 || code != 0 ? EndingText(code, signal) : "";
}

bool ControlView::Read(ControlOrder* order) const {
  if (page_->epoch.load(std::memory_order_acquire) == order->epoch) return false;
  // The launcher writes for a moment; one that died within it leaves an odd number for ever.
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries; ++i) {
    ControlOrder fresh;
    if (ReadOnce(&fresh)) {
      *order = std::move(fresh);
      return true;
    }
    sched_yield();
  }
  return false;
}

bool ControlView::ReadOnce(ControlOrder* order) const {
  const uint32_t before = page_->epoch.load(std::memory_order_acquire);
  if (before % 2 != 0) return false;
  order->epoch = before;
  order->wish = static_cast<trace::CaptureWish>(page_->wish.load(std::memory_order_relaxed));
  order->output.device = page_->output_device.load(std::memory_order_relaxed);
  order->output.inode = page_->output_inode.load(std::memory_order_relaxed);
  order->output.run = page_->output_run.load(std::memory_order_relaxed);
  order->output.path.assign(page_->output, strnlen(page_->output, sizeof page_->output));
  std::atomic_thread_fence(std::memory_order_acquire);
  return page_->epoch.load(std::memory_order_relaxed) == before;
}

}  // namespace gprof
