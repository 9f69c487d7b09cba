#include "base/machine/spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

// So much of what may be resident is left for what is touched in a tick of the clock.
constexpr std::size_t kShareOfHaste = 2;
constexpr std::size_t kMostBytes = std::size_t{1} << 40,
                      kLeastBytes = std::size_t{1} << 30;  // of addresses, not memory

// What is mapped is whole pages. Known before the first tick of the clock: its handler may not ask.
const auto kPageBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

std::string DefaultFolder() { return EnvironmentText({"TMPDIR"}, "/var/tmp"); }

[[noreturn]] void Fail(const std::string& folder, std::string_view why) {
  throw Error(ExitCode::kUnreadable, fmt::format("cannot keep the trace in a file in '{}': {}", folder, why),
              "choose a folder on a disk with enough space with --temp-dir");
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
    Fail(folder, "that folder is in memory itself (tmpfs)");
  }
  return file;
}

// Memory of this process, from within a handler of signals.
class Statm {
 public:
  Statm() : file_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

  // 0 where it cannot be told.
  std::size_t ResidentBytes() const {
    char text[128];
    const ssize_t size = pread(file_, text, sizeof text - 1, 0);
    std::size_t pages = 0;
    ssize_t i = 0;
    while (i < size && text[i] != ' ') ++i;  // the first number is that of addresses
    for (++i; i < size && text[i] >= '0' && text[i] <= '9'; ++i)
      pages = pages * 10 + static_cast<std::size_t>(text[i] - '0');
    return pages * kPageBytes;
  }

 private:
  int file_;
};

// Held for moments. A handler of signals does without rather than wait for the thread that it interrupted.
class Flag {
 public:
  bool TryLock() { return !is_held_.test_and_set(std::memory_order_acquire); }
  void lock() {
    while (!TryLock()) std::this_thread::yield();
  }
  void unlock() { is_held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag is_held_ = ATOMIC_FLAG_INIT;
};

// The signals of the clocks that say when to look.
sigset_t Ticks() {
  sigset_t ticks;
  sigemptyset(&ticks);
  sigaddset(&ticks, SIGALRM);
  sigaddset(&ticks, SIGPROF);
  return ticks;
}

// No tick comes to this thread while it lives: a call that is ended by one again and again would never be done.
class WithoutTicks {
 public:
  WithoutTicks() {
    const sigset_t ticks = Ticks();
    pthread_sigmask(SIG_BLOCK, &ticks, &before_);
  }
  ~WithoutTicks() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutTicks(const WithoutTicks&) = delete;
  WithoutTicks& operator=(const WithoutTicks&) = delete;

 private:
  sigset_t before_;
};

// Sizes that small blocks are rounded up to: steps of 16 bytes at first, then four to each doubling.
constexpr std::size_t kStep = 16, kStepsAtFirst = 8, kClassesOfDoubling = 4, kDoublings = 11;
constexpr std::size_t kClasses = kStepsAtFirst + kDoublings * kClassesOfDoubling;
constexpr std::size_t kMostOfSlab = (kStep * kStepsAtFirst)
                                    << kDoublings;  // 256 KiB; larger blocks have pages of their own
constexpr std::size_t kSlabBytes = std::size_t{1} << 20;

std::size_t ClassOf(std::size_t bytes) {
  if (bytes <= kStep * kStepsAtFirst) return (std::max<std::size_t>(bytes, 1) - 1) / kStep;
  const std::size_t doubling = std::bit_width((bytes - 1) / (kStep * kStepsAtFirst)) - 1;
  const std::size_t quarter =
      (bytes - 1 - (kStep * kStepsAtFirst << doubling)) / (kStep * kStepsAtFirst / kClassesOfDoubling << doubling);
  return kStepsAtFirst + doubling * kClassesOfDoubling + quarter;
}

std::size_t BytesOfClass(std::size_t number) {
  if (number < kStepsAtFirst) return (number + 1) * kStep;
  const std::size_t doubling = (number - kStepsAtFirst) / kClassesOfDoubling,
                    quarter = (number - kStepsAtFirst) % kClassesOfDoubling;
  return (kClassesOfDoubling + quarter + 1) * (kStep * kStepsAtFirst / kClassesOfDoubling << doubling);
}

// Small blocks of one size: those that were given back first, then what is left of a slab.
struct SmallBlocks {
  Flag flag;
  void* given_back = nullptr;  // a list through their first bytes
  unsigned char* next = nullptr;
  std::size_t left_bytes = 0;
};

// Kernels that keep files in large pages map 2 MiB at a touch: hundreds of megabytes from one tick to the next.
void ForbidLargePages(void* begin, std::size_t bytes) { madvise(begin, bytes, MADV_NOHUGEPAGE); }

// Of what keeps the blocks: memory from there would be asked for by itself.
template <class T>
struct OrdinaryMemory {
  using value_type = T;
  OrdinaryMemory() = default;
  template <class U>
  OrdinaryMemory(const OrdinaryMemory<U>&) {}  // NOLINT(google-explicit-constructor): what containers call
  T* allocate(std::size_t count) {
    if (void* const at = std::malloc(count * sizeof(T))) return static_cast<T*>(at);
    throw std::bad_alloc();
  }
  void deallocate(T* at, std::size_t) { std::free(at); }
  bool operator==(const OrdinaryMemory&) const = default;
};
using Ranges =
    std::map<std::size_t, std::size_t, std::less<>, OrdinaryMemory<std::pair<const std::size_t, std::size_t>>>;

// A block lies in the file where it lies in the region of addresses: large ones in its first half, in pages of their
// own, small ones in slabs in its second half.
class Spill {
 public:
  Spill(const std::string& folder, std::size_t resident_bytes)
      : folder_(folder), file_(MakeFile(folder)), resident_bytes_(resident_bytes) {
    for (bytes_ = kMostBytes; bytes_ >= kLeastBytes; bytes_ /= 2) {
      void* const at = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      begin_ = static_cast<unsigned char*>(at);
      free_.emplace(0, bytes_ / 2);
      class_of_slab_.resize(bytes_ / 2 / kSlabBytes);
      return;
    }
    Fail(folder, "not enough address space; is there a limit (ulimit -v)?");
  }

  unsigned char* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

  void* Take(std::size_t wanted) { return wanted <= kMostOfSlab ? TakeSmall(wanted) : TakeLarge(wanted); }

  bool GiveBack(void* block) noexcept {
    const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(block) - begin_);
    if (offset < bytes_ / 2) return GiveBackLarge(offset);
    SmallBlocks& blocks = small_[class_of_slab_[(offset - bytes_ / 2) / kSlabBytes]];
    const std::lock_guard lock(blocks.flag);
    *static_cast<void**>(block) = std::exchange(blocks.given_back, block);
    return true;
  }

  void Remember(const void* begin, std::size_t bytes) {
    ForbidLargePages(const_cast<void*>(begin), bytes);
    const std::lock_guard lock(mapped_flag_);
    mapped_.emplace_back(const_cast<void*>(begin), bytes);
  }
  void Forget(const void* begin) {
    const std::lock_guard lock(mapped_flag_);
    std::erase_if(mapped_, [&](const auto& range) { return range.first == begin; });
  }

  // The pages stay in the kernel's cache until it wants their room: to look at one again costs a fault, rarely a read.
  // Called by a handler of signals: nothing but system calls and what is atomic. Blocks may come and go meanwhile, as
  // nothing is lost with a page of a file, and nothing happens where no block is.
  void Trim() {
    const int error = errno;
    if (statm_.ResidentBytes() > resident_bytes_) {
      if (!is_trimming_.test_and_set(std::memory_order_acquire)) {
        TakePages();
        is_trimming_.clear(std::memory_order_release);
      }
      // One thread takes pages, the others must not touch more of them meanwhile: the next ticks bring them here.
      while (is_trimming_.test(std::memory_order_acquire)) sched_yield();
    }
    errno = error;
  }

  std::string why() const {
    std::array<char, 512> copy{};  // a text would ask for memory, and so for the lock
    {
      const std::lock_guard lock(mutex_);
      copy = why_;
    }
    return copy.data();
  }

 private:
  void* TakeLarge(std::size_t wanted) {
    const std::size_t size = (wanted + kPageBytes - 1) / kPageBytes * kPageBytes;
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(free_.begin(), free_.end(), [&](const auto& range) { return range.second >= size; });
    if (at == free_.end()) Refuse(wanted, "no addresses are left");
    const std::size_t offset = at->first;
    if (const int error = Fill(offset, size); error != 0) Refuse(wanted, std::strerror(error));
    auto node = free_.extract(at);
    used_.emplace(offset, size);
    if (node.mapped() != size) {
      node.key() += size;
      node.mapped() -= size;
      free_.insert(std::move(node));
    }
    if (offset + size > used_until_) used_until_ = offset + size;
    return begin_ + offset;
  }

  bool GiveBackLarge(std::size_t offset) noexcept {
    const std::lock_guard lock(mutex_);
    auto node = used_.extract(offset);
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

  // nullptr where the disk has no room: those that say so need a little memory.
  void* TakeSmall(std::size_t wanted) {
    const std::size_t number = ClassOf(wanted), size = BytesOfClass(number);
    SmallBlocks& blocks = small_[number];
    const std::lock_guard lock(blocks.flag);
    if (void* const block = blocks.given_back) {
      blocks.given_back = *static_cast<void**>(block);
      return block;
    }
    if (blocks.left_bytes < size) {
      unsigned char* const slab = AddSlab(number);
      if (slab == nullptr) return nullptr;
      blocks.next = slab;
      blocks.left_bytes = kSlabBytes;
    }
    blocks.left_bytes -= size;
    return std::exchange(blocks.next, blocks.next + size);
  }

  unsigned char* AddSlab(std::size_t number) {
    const std::lock_guard lock(mutex_);
    const std::size_t slab = slabs_;
    const std::size_t offset = bytes_ / 2 + slab * kSlabBytes;
    if (slab == class_of_slab_.size() || Fill(offset, kSlabBytes) != 0) return nullptr;
    class_of_slab_[slab] = static_cast<unsigned char>(number);
    slabs_ = slab + 1;
    return begin_ + offset;
  }

  // Room on the disk is taken now: a page that has none would end the process when it is written to. 0 or errno.
  int Fill(std::size_t offset, std::size_t size) {
    const WithoutTicks quiet;
    const int error = posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(size));
    if (error != 0) return error;
    void* const at = begin_ + offset;
    if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, static_cast<off_t>(offset)) == at) {
      ForbidLargePages(at, size);
      return 0;
    }
    const int number = errno;
    Empty(offset, size);
    return number;
  }

  void TakePages() {
    if (used_until_ > 0) madvise(begin_, used_until_, MADV_DONTNEED);
    if (slabs_ > 0) madvise(begin_ + bytes_ / 2, slabs_ * kSlabBytes, MADV_DONTNEED);
    if (!mapped_flag_.TryLock()) return;
    for (const auto& [begin, bytes] : mapped_) madvise(begin, bytes, MADV_DONTNEED);
    mapped_flag_.unlock();
  }

  [[noreturn]] void Refuse(std::size_t wanted, std::string_view why) {
    const auto end = fmt::format_to_n(why_.data(), why_.size() - 1, "no room for {} MB in '{}': {}", (wanted >> 20) + 1,
                                      folder_, why);
    *end.out = '\0';
    throw std::bad_alloc();
  }

  void Empty(std::size_t offset, std::size_t size) noexcept {
    mmap(begin_ + offset, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
  }

  std::string folder_;
  std::array<char, 512> why_{};
  int file_;
  std::size_t resident_bytes_;
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::atomic<std::size_t> used_until_{0};
  Statm statm_;
  std::array<SmallBlocks, kClasses> small_;
  std::atomic<std::size_t> slabs_{0};
  std::vector<unsigned char, OrdinaryMemory<unsigned char>> class_of_slab_;
  std::atomic_flag is_trimming_ = ATOMIC_FLAG_INIT;
  mutable std::mutex mutex_;
  Ranges free_, used_;  // by offset
  Flag mapped_flag_;
  std::vector<std::pair<void*, std::size_t>, OrdinaryMemory<std::pair<void*, std::size_t>>> mapped_;
};

// Never destroyed: blocks are given back until the last destructor has run.
constinit std::atomic<Spill*> spill{nullptr};

// How often it is looked at: of time, which the kernel is exact about, and of the time that threads of this process had
// a processor, which comes to the thread that has it, where others keep the processors busy. A thread of its own that
// looked came too late there: the others went on touching pages, 1 GB in the worst case.
constexpr suseconds_t kPauseUs = 500;

void Trim(int) { spill.load(std::memory_order_relaxed)->Trim(); }

void StartClocks() {
  struct sigaction action {};
  action.sa_handler = Trim;
  action.sa_flags = SA_RESTART;
  action.sa_mask = Ticks();
  const itimerval every{{0, kPauseUs}, {0, kPauseUs}};
  for (const auto& [signal, timer] : {std::pair{SIGALRM, ITIMER_REAL}, std::pair{SIGPROF, ITIMER_PROF}}) {
    sigaction(signal, &action, nullptr);
    setitimer(timer, &every, nullptr);
  }
}

}  // namespace

void StartSpilling(const std::string& folder, std::size_t resident_bytes) {
  signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error like a full disk
  auto* const made =
      new Spill(folder.empty() ? DefaultFolder() : folder, resident_bytes - resident_bytes / kShareOfHaste);
  spill_detail::region.store(reinterpret_cast<uintptr_t>(made->begin()));
  spill_detail::region_bytes.store(made->bytes());
  spill.store(made);
  StartClocks();
}

bool IsSpilling() { return spill.load(std::memory_order_relaxed) != nullptr; }

void* TakeSpilled(std::size_t bytes) {
  Spill* const to = spill.load(std::memory_order_acquire);
  return to == nullptr ? nullptr : to->Take(bytes);
}

bool spill_detail::GiveBack(void* block) noexcept { return spill.load(std::memory_order_acquire)->GiveBack(block); }

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
