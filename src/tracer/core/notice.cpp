#include "tracer/core/notice.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tracer/core/tracer.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

struct NoticeEntry {
  trace::NoticeLevel level = trace::NoticeLevel::kInfo;
  trace::StringId message;
  uint64_t stamp = 0;
};

constexpr uint32_t kMaxNotices = 64;
Lock lock;
constinit NoticeEntry entries[kMaxNotices] GPROF_IN_ARENA = {};
constinit std::atomic<uint32_t> count GPROF_IN_ARENA{0};
// [writer thread] How many are in the output, and how many of those on stderr.
constinit uint32_t told GPROF_IN_ARENA = 0, said GPROF_IN_ARENA = 0;
dev_t stderr_device;
ino_t stderr_inode;
bool has_stderr = false;

// The target's stderr. The writer thread has a descriptor table of its own, without it. A file has to be the very one
// that the target opened: what is appended through another is overwritten by the next line that the target, or the
// launcher, writes where it left off. Anything else is opened again, so as not to wait for a reader.
int OpenStderr(bool is_file) {
  if (is_file) {
    const int process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    const int same = process < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_getfd, process, 2, 0));
    if (process >= 0) close(process);
    if (same >= 0) return same;  // Linux 5.6, and containers that allow it
  }
  return open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

void TellStderr(const NoticeEntry& notice) {
  if (!has_stderr || Config().is_quiet || notice.level == trace::NoticeLevel::kInfo) return;
  struct stat now;
  if (stat("/proc/self/fd/2", &now) != 0 || now.st_dev != stderr_device || now.st_ino != stderr_inode) return;
  const int fd = OpenStderr(S_ISREG(now.st_mode));
  if (fd < 0) return;
  char line[600];
  constexpr char kPrefix[] = "gprof-cli: ";
  const trace::Text text = Names().TextOf(notice.message);
  std::size_t used = sizeof kPrefix - 1;
  std::memcpy(line, kPrefix, used);
  if (text.size != 0) std::memcpy(line + used, text.data, text.size);
  used += text.size;
  line[used++] = '\n';
  [[maybe_unused]] const ssize_t written = write(fd, line, used);
  close(fd);
}

}  // namespace

Message& Message::operator<<(const char* text) {
  while (*text != 0 && used_ + 1 < sizeof text_) text_[used_++] = *text++;
  text_[used_] = 0;
  return *this;
}

Message& Message::operator<<(uint64_t number) {
  char digits[24];
  char* p = digits + sizeof digits - 1;
  *p = 0;
  do {
    *--p = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return *this << p;
}

void RememberStderr() {
  struct stat s;
  has_stderr = fstat(2, &s) == 0;
  if (!has_stderr) return;
  stderr_device = s.st_dev;
  stderr_inode = s.st_ino;
}

void Say(trace::NoticeLevel level, const Message& message) {
  ErrnoGuard errno_guard;
  const trace::StringId text = Names().Intern(message.c_str(), message.size());
  {
    LockGuard guard(lock);
    const uint32_t n = count.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < n; ++i) {
      if (entries[i].message == text) return;
    }
    if (n == kMaxNotices) return;
    entries[n] = {level, text, Stamp()};
    count.store(n + 1, std::memory_order_release);
  }
  WakeWriter();
}

void TakeNotices(DrainRound*) {
  while (told < count.load(std::memory_order_acquire)) {
    const NoticeEntry& notice = entries[told];
    const uint32_t next = told + 1;
    if (told >= said && !is_salvage) TellStderr(notice);
    if (said < next) said = next;
    Output().Add(
        trace::NoticeRecord{StampClock().ToNs(notice.stamp), static_cast<uint8_t>(notice.level), notice.message},
        {&told, next});
    told = next;  // where there was no memory for it, too
  }
}

void RetellNotices() { told = 0; }

void ResetNoticesAfterFork() {
  lock.ResetAfterFork();
  count.store(0, std::memory_order_relaxed);  // what was said before is the parent's
  told = said = 0;
}

}  // namespace gprof::tracer
