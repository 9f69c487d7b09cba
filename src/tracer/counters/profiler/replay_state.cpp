#include "tracer/counters/profiler/replay_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/counter_request.h"
#include "tracer/core/notice.h"
#include "tracer/core/rank.h"
#include "tracer/counters/request/kernel_name.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

namespace words = trace::counter_request;

struct Path {
  char text[4096];
};

uint32_t ThisRun() { return TheCounterRequest()->replay_run; }

Path PathOf(const char* name) {
  Path path;
  snprintf(path.text, sizeof path.text, "%s/%s", TheCounterRequest()->replay_folder, name);
  return path;
}

Path PathOf(uint64_t name, const char* ending) {
  char text[64];
  snprintf(text, sizeof text, "%016llx%s", static_cast<unsigned long long>(name), ending);
  return PathOf(text);
}

// Processes of a run are told apart by their rank, and those of one rank by the order in which they come here.
uint64_t process_name = 0;
uint64_t ProcessName() {
  constexpr uint32_t kMostProcesses = 4096;
  if (process_name != 0) return process_name;
  trace::ProcessRecord process;
  FillRank(&process);
  for (uint32_t i = 0; i < kMostProcesses && process_name == 0; ++i) {
    char text[96];
    snprintf(text, sizeof text, "process-%u-%d-%u", ThisRun(), process.rank, i);
    if (mkdir(PathOf(text).text, 0700) == 0 || errno != EEXIST)
      process_name = (static_cast<uint64_t>(static_cast<uint32_t>(process.rank)) << 32 | i) + 1;
  }
  return process_name;
}

// How often launches of a sort were seen: a table without removal.
struct Sort {
  uint64_t key;  // 0: free
  uint64_t count;
};
constexpr uint32_t kSorts = 1u << 16;
Sort* sorts = nullptr;

// From 1 on; 0 when there are too many sorts.
uint64_t CountOf(uint64_t key) {
  if (sorts == nullptr) sorts = static_cast<Sort*>(MapMemory(kSorts * sizeof(Sort)));
  if (sorts == nullptr) return 0;
  for (uint32_t i = 0, at = static_cast<uint32_t>(key % kSorts); i < kSorts; ++i, at = (at + 1) % kSorts) {
    if (sorts[at].key == 0) sorts[at].key = key;
    if (sorts[at].key == key) return ++sorts[at].count;
  }
  return 0;
}

bool ReadAll(int fd, void* to, std::size_t size) {
  for (auto* at = static_cast<char*>(to); size > 0;) {
    const ssize_t n = read(fd, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool WriteAll(int fd, const void* from, std::size_t size) {
  for (const auto* at = static_cast<const char*>(from); size > 0;) {
    const ssize_t n = write(fd, at, size);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool Load(int fd, const CounterImage& image, PassState* pass) {
  words::ReplayedLaunch head;
  if (!ReadAll(fd, &head, sizeof head) || head.magic != words::ReplayedLaunch::kMagic || head.plan != image.plan ||
      head.image_bytes != image.size)
    return false;
  if (head.runs != ThisRun() || !ReadAll(fd, image.bytes, image.size)) return false;
  pass->index = head.pass_index;
  pass->nesting_level = static_cast<uint16_t>(head.nesting_level);
  return true;
}

words::ReplayedLaunch HeadOf(const Launch& launch, const CounterImage& image, const PassState& pass) {
  words::ReplayedLaunch head = {};
  head.magic = words::ReplayedLaunch::kMagic;
  head.plan = image.plan;
  head.image_bytes = image.size;
  head.runs = ThisRun() + 1;
  head.pass_index = pass.index;
  head.nesting_level = pass.nesting_level;
  std::memcpy(head.grid, launch.grid, sizeof head.grid);
  std::memcpy(head.block, launch.block, sizeof head.block);
  const NamePart kernel = FunctionNameOf(launch.symbol);
  std::memcpy(head.kernel, kernel.at, kernel.size < sizeof head.kernel ? kernel.size : sizeof head.kernel - 1);
  return head;
}

void SayNotTheSame(const Launch& launch) {
  const NamePart kernel = FunctionNameOf(launch.symbol);
  char name[256] = {};
  std::memcpy(name, kernel.at, kernel.size < sizeof name ? kernel.size : sizeof name - 1);
  Message message;
  message << "the program behaves differently in each run: " << name << " was launched with grid " << launch.grid[0]
          << " x " << launch.grid[1] << " x " << launch.grid[2]
          << ", which no measured launch of the first run had. Such launches are skipped";
  Say(trace::NoticeLevel::kWarning, message);
}

}  // namespace

uint64_t ReplayNameOf(const Launch& launch) {
  const uint32_t shape[] = {launch.grid[0],  launch.grid[1],  launch.grid[2], launch.block[0],
                            launch.block[1], launch.block[2], launch.device,  launch.dynamic_shared_bytes};
  const uint64_t symbol = HashBytes(launch.symbol, std::strlen(launch.symbol));
  const uint64_t sort = symbol * 31 + HashBytes(shape, sizeof shape);
  const uint64_t parts[] = {sort, ProcessName(), CountOf(sort == 0 ? 1 : sort)};
  const uint64_t name = HashBytes(parts, sizeof parts);
  return name == 0 ? 1 : name;
}

Choice ChooseReplayed(uint64_t name, const Launch& launch, Choice by_filter) {
  if (ThisRun() == 0) return by_filter;
  if (access(PathOf(name, words::kImageEnding).text, F_OK) == 0) return Choice::kMeasured;
  if (by_filter == Choice::kMeasured) SayNotTheSame(launch);
  return Choice::kLeftOut;
}

bool LoadReplayed(uint64_t name, const CounterImage& image, PassState* pass) {
  if (ThisRun() == 0) return true;
  const int fd = open(PathOf(name, words::kImageEnding).text, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool is_loaded = fd >= 0 && Load(fd, image, pass);
  if (fd >= 0) close(fd);
  return is_loaded;
}

bool SaveReplayed(uint64_t name, const Launch& launch, const CounterImage& image, const PassState& pass) {
  const Path made = PathOf(name, ".new");
  const Path path = PathOf(name, pass.are_all_made ? words::kWholeEnding : words::kImageEnding);
  const int fd = open(made.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  const words::ReplayedLaunch head = HeadOf(launch, image, pass);
  const bool is_written = fd >= 0 && WriteAll(fd, &head, sizeof head) && WriteAll(fd, image.bytes, image.size);
  if (fd >= 0) close(fd);
  if (is_written && rename(made.text, path.text) == 0) return true;
  unlink(made.text);
  Message message;
  message << "counter values of this run cannot be saved for the next one in " << TheCounterRequest()->replay_folder;
  Say(trace::NoticeLevel::kWarning, message);
  return false;
}

void TellPasses(uint32_t passes) {
  char text[16];
  const int size = snprintf(text, sizeof text, "%u\n", passes);
  const int fd = open(PathOf(words::kPassesFile).text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  WriteAll(fd, text, static_cast<std::size_t>(size));
  close(fd);
}

void ForgetReplayAfterFork() {
  process_name = 0;
  if (sorts != nullptr) std::memset(sorts, 0, kSorts * sizeof(Sort));
}

}  // namespace gprof::tracer
