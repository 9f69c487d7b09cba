#include "launch/session/measuring_watch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace gprof {
namespace {

constexpr int64_t kEveryNs = 200'000'000;

}  // namespace

MeasuringWatch::MeasuringWatch(const std::string& folder, std::function<void(const Measuring&)> show)
    : path_(folder + "/" + trace::counter_request::kMeasuringFile), show_(std::move(show)) {}

MeasuringWatch::~MeasuringWatch() {
  if (page_ != nullptr) munmap(const_cast<trace::counter_request::MeasuringPage*>(page_), sizeof *page_);
}

// The first tracer that measures makes it.
void MeasuringWatch::Open() {
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  struct stat status;
  void* at = MAP_FAILED;
  if (fstat(fd, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof *page_))
    at = mmap(nullptr, sizeof *page_, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) page_ = static_cast<const trace::counter_request::MeasuringPage*>(at);
}

int64_t MeasuringWatch::Attend(int64_t now_ns) {
  if (!show_) return kNoDeadline;
  if (now_ns < next_ns_) return next_ns_;
  next_ns_ = now_ns + kEveryNs;
  if (page_ == nullptr) Open();
  if (page_ == nullptr) return next_ns_;
  Measuring now;
  now.kernel.assign(page_->kernel, strnlen(page_->kernel, sizeof page_->kernel));
  now.launches = page_->launches.load(std::memory_order_relaxed);
  now.passes = page_->passes.load(std::memory_order_relaxed);
  if (now.kernel != shown_.kernel || now.launches != shown_.launches) show_(now);
  shown_ = std::move(now);
  return next_ns_;
}

}  // namespace gprof
