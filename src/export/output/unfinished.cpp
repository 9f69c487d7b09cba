#include "export/output/unfinished.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace gprof {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU};

struct Slot {
  std::atomic<bool> is_taken = false, is_set = false;
  bool is_folder = false;
  char path[PATH_MAX] = {};
};
std::array<Slot, 4> slots;
std::atomic<int> user_count = 0;
std::array<bool, kSignals.size()> is_ours;

// Here and below only what a signal handler may call.
void RemoveFilesIn(int folder) {
  alignas(dirent64) char entries[4096];
  ssize_t size = 0;
  while ((size = getdents64(folder, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      unlinkat(folder, entry->d_name, 0);  // of "." and ".." it refuses to
    }
  }
}

void Remove(const Slot& slot) {
  if (!slot.is_folder) {
    unlink(slot.path);
    return;
  }
  const int folder = open(slot.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (folder < 0) return;
  RemoveFilesIn(folder);
  close(folder);
  rmdir(slot.path);
}

void OnSignal(int number) {
  const int error = errno;
  for (const Slot& slot : slots) {
    if (slot.is_set.load(std::memory_order_acquire)) Remove(slot);
  }
  errno = error;
  // SA_RESETHAND: it is delivered again when the handler returns, and ends the process as if nobody had caught it.
  raise(number);
}

void WatchSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now = {};
    is_ours[i] =
        sigaction(kSignals[i], nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
    if (!is_ours[i]) continue;
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(kSignals[i], &action, nullptr);
  }
}

void LeaveSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (is_ours[i]) signal(kSignals[i], SIG_DFL);
  }
}

// The process that TARGET.new<pid> is of; 0 for other names.
pid_t PidIn(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return 0;
  name.remove_prefix(prefix.size());
  pid_t pid = 0;
  const auto [stop, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return status == std::errc() && stop == name.data() + name.size() && pid > 0 ? pid : 0;
}

}  // namespace

Unfinished::Unfinished(const std::string& path, bool is_folder) {
  // A program that changes its folder in between is to remove what it made, not what has that name then.
  std::error_code failed;
  const std::string full = fs::absolute(path, failed).string();
  if (failed || full.size() >= PATH_MAX) return;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].is_taken.exchange(true)) continue;
    slot_ = static_cast<int>(i);
    slots[i].is_folder = is_folder;
    std::memcpy(slots[i].path, full.c_str(), full.size() + 1);
    if (user_count.fetch_add(1) == 0) WatchSignals();
    slots[i].is_set.store(true, std::memory_order_release);
    return;
  }
}

Unfinished::~Unfinished() {
  if (slot_ < 0) return;
  Slot& slot = slots[static_cast<std::size_t>(slot_)];
  slot.is_set.store(false, std::memory_order_release);
  if (user_count.fetch_sub(1) == 1) LeaveSignals();
  slot.is_taken.store(false);
}

void RemoveLeftOver(const std::string& target) {
  constexpr std::time_t kHourS = 3600;
  const fs::path path(target);
  const std::string prefix = path.filename().string() + ".new";
  std::error_code failed;
  for (fs::directory_iterator at(path.has_parent_path() ? path.parent_path() : ".", failed), end; !failed && at != end;
       at.increment(failed)) {
    const pid_t pid = PidIn(at->path().filename().string(), prefix);
    struct stat status;
    if (pid == 0 || lstat(at->path().c_str(), &status) != 0) continue;
    const bool is_ours_to_make = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
    const bool is_gone = kill(pid, 0) != 0 && errno == ESRCH;
    if (!is_ours_to_make || !is_gone || std::time(nullptr) - status.st_mtime < kHourS) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
  }
}

}  // namespace gprof
