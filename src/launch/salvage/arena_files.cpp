#include "launch/salvage/arena_files.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "base/machine/descriptor.h"

namespace gprof {
namespace {

constexpr std::size_t kPage = 4096;
constexpr int kStartTicksField = 22, kStateField = 3;

// PID-*.arena
std::optional<uint32_t> PidOfName(std::string_view name) {
  if (!name.ends_with(trace::kArenaSuffix)) return std::nullopt;
  uint32_t pid = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || stop == name.data() + name.size() || *stop != '-' || pid == 0) return std::nullopt;
  return pid;
}

// Reads by pread: a file that is cut short meanwhile must not cost us a SIGBUS.
void ReadHeader(int descriptor, Arena* arena) {
  alignas(trace::ArenaHeader) unsigned char bytes[sizeof(trace::ArenaHeader)];
  if (pread(descriptor, bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return;
  const auto* const header = reinterpret_cast<const trace::ArenaHeader*>(bytes);
  arena->has_header = header->magic == trace::kArenaMagic && header->pid == arena->pid;
  if (!arena->has_header) return;
  arena->start_ticks = header->start_ticks;
  arena->state = static_cast<trace::ArenaState>(header->state.load(std::memory_order_relaxed));
  arena->is_locked = header->is_locked.load(std::memory_order_relaxed) == 1;
  arena->epoch_done = header->epoch_done.load(std::memory_order_relaxed);
  arena->captures_started = header->captures_started.load(std::memory_order_relaxed);
  arena->wants_shutdown = header->wants_shutdown.load(std::memory_order_relaxed) == 1;
  struct stat status;
  arena->is_of_other_user = fstat(descriptor, &status) != 0 || status.st_uid != geteuid();
  arena->is_of_collector = !arena->is_of_other_user && header->owner.load(std::memory_order_relaxed) ==
                                                           static_cast<uint32_t>(trace::ArenaOwner::kCollector);
  arena->output_run = header->output_run.load(std::memory_order_relaxed);
  arena->outbox_page = header->outbox_page.load(std::memory_order_acquire);
  arena->write_error = header->write_error.load(std::memory_order_relaxed);
  arena->lost_records = header->lost_records.load(std::memory_order_relaxed);
}

// Other users may make files in the folder for them: what has a second name may be anybody's file.
int OpenArena(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
  struct stat status;
  if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1))
    return descriptor;
  close(descriptor);
  errno = EPERM;
  return -1;
}

// The fields of /proc/PID/stat from the third on; empty when there is no such process.
std::string StatOf(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDONLY, 0);
  if (descriptor < 0) return {};
  char text[1024];
  const ssize_t size = read(descriptor, text, sizeof text);
  close(descriptor);
  const std::string_view all(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  // The name stands in parentheses and may hold anything, parentheses and spaces too.
  const std::size_t name_end = all.rfind(") ");
  return name_end == std::string_view::npos ? std::string() : std::string(all.substr(name_end + 2));
}

// `number` counts from 1 as proc(5) does.
std::string_view Field(std::string_view stat, int number) {
  for (int i = kStateField; i < number; ++i) stat.remove_prefix(std::min(stat.find(' ') + 1, stat.size()));
  return stat.substr(0, stat.find_first_of(" \n"));
}

bool IsDeadState(std::string_view stat) { return stat.empty() || stat.front() == 'Z' || stat.front() == 'X'; }

// The first thread of a process may end before the others do, and is a zombie meanwhile.
bool HasLivingThread(const std::string& process) {
  const std::string tasks = process + "/task";
  const std::vector<int> threads = NumbersIn(tasks);
  return std::any_of(threads.begin(), threads.end(),
                     [&](int thread) { return !IsDeadState(StatOf(tasks + "/" + std::to_string(thread) + "/stat")); });
}

}  // namespace

namespace {

std::vector<Arena> ArenasOf(const std::string& folder) {
  std::vector<Arena> arenas;
  ForEachEntry(folder, [&](std::string_view name) {
    const std::optional<uint32_t> pid = PidOfName(name);
    if (!pid) return;
    Arena arena;
    arena.path = folder + "/" + std::string(name);
    arena.pid = *pid;
    const int descriptor = OpenArena(arena.path);
    if (descriptor < 0) return;
    ReadHeader(descriptor, &arena);
    close(descriptor);
    arenas.push_back(std::move(arena));
  });
  std::sort(arenas.begin(), arenas.end(), [](const Arena& a, const Arena& b) { return a.path < b.path; });
  return arenas;
}

}  // namespace

std::vector<Arena> ArenasIn(const std::string& folder) {
  std::vector<Arena> arenas = ArenasOf(folder);
  std::vector<Arena> others = ArenasOf(folder + "/" + trace::kOthersFolder);
  std::move(others.begin(), others.end(), std::back_inserter(arenas));
  return arenas;
}

bool IsProcessAlive(uint32_t pid, uint64_t start_ticks) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string stat = StatOf(process + "/stat");
  // Where /proc is not to be had, the pid has to do.
  if (stat.empty()) return access("/proc/self/stat", R_OK) != 0 && kill(static_cast<pid_t>(pid), 0) == 0;
  const std::string_view ticks = Field(stat, kStartTicksField);
  if (start_ticks != 0 && ticks != std::to_string(start_ticks)) return false;
  return !IsDeadState(stat) || HasLivingThread(process);
}

bool IsAlive(const Arena& arena) {
  if (!arena.is_locked) return IsProcessAlive(arena.pid, arena.start_ticks);
  const int descriptor = OpenArena(arena.path);
  if (descriptor < 0) return false;
  const bool is_free = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  close(descriptor);
  return !is_free;
}

void RingBell(const Arena& arena) {
  const int descriptor = OpenArena(arena.path);
  if (descriptor < 0) return;
  struct stat status;
  const bool is_large_enough = fstat(descriptor, &status) == 0 && status.st_size >= static_cast<off_t>(kPage);
  void* const page =
      is_large_enough ? mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (page == MAP_FAILED) return;
  std::atomic<uint32_t>& bell = static_cast<trace::ArenaHeader*>(page)->bell;
  bell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  munmap(page, kPage);
}

ArenaClaim::ArenaClaim(int descriptor, Arena arena, uint64_t size_bytes)
    : descriptor_(descriptor), arena_(std::move(arena)), size_bytes_(size_bytes) {}

ArenaClaim::ArenaClaim(ArenaClaim&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      arena_(std::move(other.arena_)),
      size_bytes_(other.size_bytes_) {}

ArenaClaim::~ArenaClaim() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<ArenaClaim> ArenaClaim::Take(const Arena& arena) {
  if (!arena.is_locked && IsAlive(arena)) return std::nullopt;
  const int descriptor = OpenArena(arena.path);
  if (descriptor < 0) return std::nullopt;
  struct stat status;
  // A link count of 0: somebody else was faster.
  const bool is_ours = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &status) == 0 &&
                       S_ISREG(status.st_mode) && status.st_nlink != 0;
  if (!is_ours) {
    close(descriptor);
    return std::nullopt;
  }
  Arena now = arena;
  ReadHeader(descriptor, &now);
  return ArenaClaim(descriptor, std::move(now), static_cast<uint64_t>(status.st_size));
}

Arena ArenaClaim::ReadAgain() const {
  Arena now = arena_;
  ReadHeader(descriptor_, &now);
  return now;
}

void ArenaClaim::Delete() const { unlink(arena_.path.c_str()); }

}  // namespace gprof
