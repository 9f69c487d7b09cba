#include "base/spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMostBytes = std::size_t{1} << 40, kLeastBytes = std::size_t{1} << 30;  // of addresses, not memory

std::string DefaultFolder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
}

[[noreturn]] void Fail(const std::string& folder, std::string_view why) {
  throw Error(ExitCode::kUnreadable, fmt::format("cannot keep the trace in a file in '{}': {}", folder, why),
              "--temp-dir FOLDER names another one, on a disk with room");
}

// Without a name: it is gone when this process is.
int MakeFile(const std::string& folder) {
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {  // file systems without such files, old kernels
    std::string path = folder + "/gprof-cli.XXXXXX";
    file = mkostemp(path.data(), O_CLOEXEC);
    if (file >= 0) unlink(path.c_str());
  }
  if (file < 0) Fail(folder, std::strerror(errno));
  constexpr long kTmpfs = 0x01021994, kRamfs = 0x858458f6;
  struct statfs info {};
  if (fstatfs(file, &info) == 0 && (info.f_type == kTmpfs || info.f_type == kRamfs)) {
    close(file);
    Fail(folder, "that folder lies in memory itself (tmpfs)");
  }
  return file;
}

std::size_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long all = 0, resident = 0;
  const int got = std::fscanf(file, "%lu %lu", &all, &resident);
  std::fclose(file);
  return got == 2 ? resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// A block lies in the file where it lies in the region of addresses.
class Spill {
 public:
  Spill(const std::string& folder, std::size_t resident_bytes)
      : folder_(folder), file_(MakeFile(folder)), resident_bytes_(resident_bytes) {
    for (bytes_ = kMostBytes; bytes_ >= kLeastBytes; bytes_ /= 2) {
      void* const at = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      begin_ = static_cast<unsigned char*>(at);
      free_.emplace(0, bytes_);
      return;
    }
    Fail(folder, "no addresses are left for it; is there a limit (ulimit -v)?");
  }

  unsigned char* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

  void* Take(std::size_t wanted) {
    const std::size_t size = (wanted + kPageBytes - 1) / kPageBytes * kPageBytes;
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(free_.begin(), free_.end(), [&](const auto& range) { return range.second >= size; });
    if (at == free_.end()) return Refuse(wanted, "no addresses are left");
    const std::size_t offset = at->first;
    // Room on the disk is taken now: a page that has none would end the process when it is written to.
    const int error = posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(size));
    if (error != 0) return Refuse(wanted, std::strerror(error));
    void* const block = begin_ + offset;
    if (mmap(block, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(offset)) != block) {
      const int number = errno;
      Empty(offset, size);
      return Refuse(wanted, std::strerror(number));
    }
    auto node = free_.extract(at);
    used_.emplace(offset, size);
    if (node.mapped() != size) {
      node.key() += size;
      node.mapped() -= size;
      free_.insert(std::move(node));
    }
    used_until_ = std::max(used_until_, offset + size);
    return block;
  }

  bool GiveBack(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    auto node = used_.extract(static_cast<std::size_t>(static_cast<unsigned char*>(block) - begin_));
    if (node.empty()) return false;
    Empty(node.key(), node.mapped());
    // One with its free neighbours.
    const auto after = free_.lower_bound(node.key());
    if (after != free_.end() && after->first == node.key() + node.mapped()) {
      node.mapped() += after->second;
      free_.erase(after);
    }
    const auto behind = free_.lower_bound(node.key());
    if (behind != free_.begin()) {
      const auto before = std::prev(behind);
      if (before->first + before->second == node.key()) {
        before->second += node.mapped();
        return true;
      }
    }
    free_.insert(std::move(node));
    return true;
  }

  void Remember(const void* begin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    mapped_.emplace_back(const_cast<void*>(begin), bytes);
  }
  void Forget(const void* begin) {
    const std::lock_guard lock(mutex_);
    std::erase_if(mapped_, [&](const auto& range) { return range.first == begin; });
  }

  // The pages stay in the kernel's cache until it wants their room: to look at one again costs a fault, rarely a read.
  void Trim() {
    if (ResidentBytes() <= resident_bytes_) return;
    const std::lock_guard lock(mutex_);
    if (used_until_ > 0) madvise(begin_, used_until_, MADV_DONTNEED);
    for (const auto& [begin, bytes] : mapped_) madvise(begin, bytes, MADV_DONTNEED);
  }

  std::string why() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  void* Refuse(std::size_t wanted, std::string_view why) {
    why_ = fmt::format("no room for {} MB in '{}': {}", (wanted >> 20) + 1, folder_, why);
    throw std::bad_alloc();
  }

  void Empty(std::size_t offset, std::size_t size) noexcept {
    mmap(begin_ + offset, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
  }

  std::string folder_, why_;
  int file_;
  std::size_t resident_bytes_;
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0, used_until_ = 0;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_, used_;  // by offset; small, so they are in ordinary memory
  std::vector<std::pair<void*, std::size_t>> mapped_;
};

// Never destroyed: blocks are given back until the last destructor has run.
constinit std::atomic<Spill*> spill{nullptr};

}  // namespace

void StartSpilling(const std::string& folder, std::size_t resident_bytes) {
  signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error like a full disk
  auto* const made = new Spill(folder.empty() ? DefaultFolder() : folder, resident_bytes);
  spill_detail::region.store(reinterpret_cast<uintptr_t>(made->begin()));
  spill_detail::region_bytes.store(made->bytes());
  spill.store(made);
  constexpr auto kPause = std::chrono::milliseconds(10);
  std::thread([made, kPause] {
    for (;; std::this_thread::sleep_for(kPause)) made->Trim();
  }).detach();
}

bool IsSpilling() {
  return spill.load(std::memory_order_relaxed) != nullptr;
}

void* TakeSpilled(std::size_t bytes) {
  Spill* const to = spill.load(std::memory_order_acquire);
  return to == nullptr ? nullptr : to->Take(bytes);
}

bool spill_detail::GiveBack(void* block) noexcept {
  return spill.load(std::memory_order_acquire)->GiveBack(block);
}

std::string WhySpillingFailed() {
  const Spill* const to = spill.load(std::memory_order_acquire);
  return to == nullptr ? std::string() : to->why();
}

void RememberMapped(const void* begin, std::size_t bytes) {
  if (Spill* const to = spill.load(std::memory_order_acquire)) to->Remember(begin, bytes);
}

void ForgetMapped(const void* begin) {
  if (Spill* const to = spill.load(std::memory_order_acquire)) to->Forget(begin);
}

}  // namespace gprof
