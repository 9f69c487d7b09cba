#include "tracer/nvtx/stuck_children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/system/proc_file.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Of NVTX's own; its headers say so in code that is left out here.
constexpr uint32_t kNvtxStarted = 1, kNvtxComplete = 2;
// Nobody takes so long for a start that goes on. A fork that had begun before a start may be over after it.
constexpr uint64_t kStuckNs = 1'000'000'000, kWatchNs = 5'000'000'000;
constexpr std::size_t kMostSlots = 256;
constexpr uintptr_t kFree = 0, kTaken = 1;  // the rest is not there yet

// What NVTX holds of a shared object: its state, and function pointers side by side. Addresses only, as the object may
// be unloaded; they mean the same in children.
struct NvtxOfObject {
  std::atomic<uintptr_t> state;  // kFree, kTaken, or its address
  uintptr_t slots;
  std::size_t slot_bytes;
  uint64_t started_ns;
};
constinit std::array<NvtxOfObject, 16> objects = {};

struct Suspect {
  pid_t pid;
  uintptr_t state;
};
constinit std::array<Suspect, 64> suspects = {};
constinit std::size_t suspect_count = 0;
constinit uint64_t looked_ns = 0;

bool ReadFrom(pid_t pid, uintptr_t at, void* out, std::size_t bytes) {
  const iovec here = {out, bytes}, there = {reinterpret_cast<void*>(at), bytes};
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

bool WriteTo(pid_t pid, uintptr_t at, const void* bytes, std::size_t count) {
  const iovec here = {const_cast<void*>(bytes), count}, there = {reinterpret_cast<void*>(at), count};
  return process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(count);
}

uint32_t StateIn(pid_t pid, uintptr_t at) {
  uint32_t state = 0;
  return ReadFrom(pid, at, &state, sizeof state) ? state : 0;
}

// What the kernel gave a program at its exec is the same in children that have not begun another one.
bool RunsOurProgram(pid_t pid) {
  const uintptr_t at = getauxval(AT_RANDOM);
  char own[16], other[16];
  if (at == 0 || !ReadFrom(pid, at, other, sizeof other)) return false;
  std::memcpy(own, reinterpret_cast<const void*>(at), sizeof own);
  return std::memcmp(own, other, sizeof own) == 0;
}

bool HasOtherThreads() {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2 + 1;
}

// False: it is not laid out as in the headers that are known.
bool FindSlots(const NvtxExportTableCallbacks& callbacks, NvtxOfObject* out) {
  uintptr_t first = UINTPTR_MAX, last = 0;
  std::size_t count = 0;
  for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; ++module) {
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks.GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module), &table, &size) == 0) continue;
    for (unsigned int i = 0; table != nullptr && i < size; ++i) {
      if (table[i] == nullptr) continue;
      const auto at = reinterpret_cast<uintptr_t>(table[i]);
      first = std::min(first, at);
      last = std::max(last, at);
      ++count;
    }
  }
  out->slots = first;
  out->slot_bytes = count * sizeof(void*);
  return count > 0 && count <= kMostSlots && last - first == out->slot_bytes - sizeof(void*);
}

// In this order: a thread of the child goes on as soon as the state is written, and calls what the slots hold.
bool SwitchOff(pid_t pid, const NvtxOfObject& object) {
  static constexpr char kNothing[kMostSlots * sizeof(void*)] = {};
  return WriteTo(pid, object.slots, kNothing, object.slot_bytes) &&
         WriteTo(pid, object.state.load(std::memory_order_relaxed), &kNvtxComplete, sizeof kNvtxComplete);
}

void Tell(pid_t pid) {
  Message message;
  message << "process " << static_cast<uint64_t>(pid)
          << " was forked while another thread made its first NVTX call, and NVTX would have waited there for ever: it "
             "was switched off in this process, whose ranges are not recorded";
  Say(trace::NoticeLevel::kWarning, message);
}

class Look {
 public:
  void Run() {
    looked_ns = MonotonicNs();
    AddChildrenOf("self", 0);
    suspects = next_;
    suspect_count = next_count_;
  }

 private:
  void AddChildrenOf(const char* process, int depth) {
    constexpr int kDeepest = 8;
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/task", process);
    DIR* const tasks = depth < kDeepest ? opendir(path) : nullptr;
    if (tasks == nullptr) return;
    while (const dirent* task = readdir(tasks)) {
      if (task->d_name[0] != '.') AddChildrenOfThread(process, task->d_name, depth);
    }
    closedir(tasks);
  }

  void AddChildrenOfThread(const char* process, const char* thread, int depth) {
    char path[96], children[4096];
    snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/children", process, thread);
    if (ReadProcFile(path, children, sizeof children) <= 0) return;
    char* rest = children;
    for (char* word = strtok_r(children, " ", &rest); word != nullptr; word = strtok_r(nullptr, " ", &rest)) {
      See(static_cast<pid_t>(strtol(word, nullptr, 10)));
      AddChildrenOf(word, depth + 1);
    }
  }

  void See(pid_t pid) {
    if (!RunsOurProgram(pid)) return;
    for (const NvtxOfObject& object : objects) {
      const uintptr_t state = object.state.load(std::memory_order_acquire);
      // What shares our memory, as after vfork(), is as far as we are.
      if (state <= kTaken || StateIn(getpid(), state) != kNvtxComplete || StateIn(pid, state) != kNvtxStarted) continue;
      if (WasSuspect({pid, state})) {
        if (SwitchOff(pid, object)) Tell(pid);
      } else if (next_count_ < next_.size()) {
        next_[next_count_++] = {pid, state};
      }
    }
  }

  static bool WasSuspect(const Suspect& suspect) {
    return std::any_of(suspects.begin(), suspects.begin() + suspect_count,
                       [&](const Suspect& s) { return s.pid == suspect.pid && s.state == suspect.state; });
  }

  std::array<Suspect, 64> next_ = {};
  std::size_t next_count_ = 0;
};

// True: there is one left to watch.
bool ForgetOldStarts(uint64_t now_ns) {
  bool is_one_left = false;
  for (NvtxOfObject& object : objects) {
    if (object.state.load(std::memory_order_acquire) <= kTaken) continue;
    if (now_ns - object.started_ns > kWatchNs) {
      object.state.store(kFree, std::memory_order_release);
    } else {
      is_one_left = true;
    }
  }
  return is_one_left;
}

}  // namespace

void WatchStartOfNvtx(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr || !HasOtherThreads()) return;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return;
  // It lies before the table, which begins with a word of its own size, aligned to eight bytes.
  const auto* state = reinterpret_cast<const uint32_t*>(callbacks) - sizeof(uint64_t) / sizeof(uint32_t);
  NvtxOfObject found = {};
  if (!CanReadWord(state) || *state != kNvtxStarted || !FindSlots(*callbacks, &found)) return;
  for (NvtxOfObject& object : objects) {
    uintptr_t free = kFree;
    if (!object.state.compare_exchange_strong(free, kTaken, std::memory_order_acq_rel)) continue;
    object.slots = found.slots;
    object.slot_bytes = found.slot_bytes;
    object.started_ns = MonotonicNs();
    object.state.store(reinterpret_cast<uintptr_t>(state), std::memory_order_release);
    return;
  }
}

void FreeStuckChildren(DrainRound* round) {
  if (round->depth != Depth::kAll) return;
  const uint64_t now_ns = MonotonicNs();
  if (!ForgetOldStarts(now_ns) || now_ns - looked_ns < kStuckNs) return;
  Look().Run();
}

}  // namespace gprof::tracer
