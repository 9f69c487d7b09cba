// A module calls functions of others through slots (its GOT), which the loader fills with their addresses. Where a slot
// leads to a function that is wrapped, it is led to the wrapper instead, module by module:
//
//   Look              notes the modules that the loader lists
//   LookForRelocated  which of them the loader is done with: before that their slots are not ours to write
//   Patch             finds the slots of such a module once (Collect), and leads them to the wrappers (Lead)
//   Restore           leads them back
//
// All of it is repeated whenever modules may have come or gone; what is known of a module is kept until one is
// unloaded.
#include "tracer/imports/import_slots.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/system/loaded_module.h"
#include "tracer/system/memory_calls.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Modules that stay as they are: what our own calls and CUPTI's go through, and what wraps the same functions itself.
constexpr const char* kNamesLeftAlone[] = {
    "libc.so.",        "libc-2.",    "ld-linux",   "ld-2.",      "linux-vdso",  "libpthread",   "librt.so.",
    "libdl.so.",       "libdl-2.",   "librt-2.",   "libcuda.so", "libcupti.so", "libnvidia-",   "libnvperf",
    "libcudadebugger", "libasan.so", "libtsan.so", "liblsan.so", "libubsan.so", "libhwasan.so", "libgprof-tracer.so"};

enum class Progress : uint8_t {
  kNew,        // the loader may be writing its slots
  kRelocated,  // it is done with them
  kPatched,    // they lead to the wrappers
  kLeftAlone
};

struct Module {
  uintptr_t base;
  const ElfW(Phdr) * headers;
  Span relro;                  // what the loader makes read-only when it is done
  uint32_t first_slot, slots;  // in `slots`, once it is patched
  Progress progress;
};

struct Slot {
  uintptr_t* at;
  const WrappedSymbol* wrapped;
};

constexpr uint32_t kModules = 4096, kSlots = 32768;
constexpr uint32_t kAtOnce = 8;  // modules that the loader waits for; a large one takes a tenth of a millisecond
Module modules[kModules] = {};
Slot slots[kSlots] = {};
uint32_t module_count = 0, slot_count = 0;
unsigned long long loads_seen = 0, unloads_seen = 0;
bool has_looked = false, is_patched = false;
bool is_program_led = false;  // to a wrapper, before the others
// Of all this.
Lock slots_lock;

constexpr uint32_t kMostWatchers = 8;
ModuleWatcher watchers[kMostWatchers];
uint32_t watcher_count = 0;

// What is wrapped, by its symbol.
constexpr uint32_t kIndex = 2048;  // a power of two
const WrappedSymbol* by_symbol[kIndex] = {};

uint32_t HashOf(const char* name) {
  uint32_t hash = 2166136261u;
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return hash;
}

const WrappedSymbol* FindWrapped(const char* symbol) {
  for (uint32_t at = HashOf(symbol) % kIndex; by_symbol[at] != nullptr; at = (at + 1) % kIndex) {
    if (std::strcmp(by_symbol[at]->symbol, symbol) == 0) return by_symbol[at];
  }
  return nullptr;
}

// Conditions of the first version have another layout, and functions of their own.
bool IsOfOldConditions(const char* symbol, const char* version) {
  return version != nullptr && std::strncmp(symbol, "pthread_cond_", 13) == 0 &&
         std::strcmp(version, "GLIBC_2.2.5") == 0;
}

bool IsLeftAlone(const dl_phdr_info& info, const LoadedModule& module) {
  if (module.Addresses().Has(reinterpret_cast<uintptr_t>(&IsLeftAlone))) return true;
  const char* const slash = info.dlpi_name == nullptr ? nullptr : std::strrchr(info.dlpi_name, '/');
  const char* const name = slash != nullptr ? slash + 1 : info.dlpi_name;
  if (name == nullptr) return false;
  for (const char* prefix : kNamesLeftAlone) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

Module* Find(const dl_phdr_info& info) {
  for (uint32_t i = 0; i < module_count; ++i) {
    if (modules[i].base == info.dlpi_addr && modules[i].headers == info.dlpi_phdr) return &modules[i];
  }
  return nullptr;
}

template <class... Parameters, class... Arguments>
void ForEachWatcher(void (*ModuleWatcher::*verb)(Parameters...), const Arguments&... arguments) {
  for (uint32_t i = 0; i < watcher_count; ++i) {
    if (watchers[i].*verb != nullptr) (watchers[i].*verb)(arguments...);
  }
}

// Within ForEachModule no module is unloaded.
int Look(dl_phdr_info* info, std::size_t, void* is_first) {
  if (*static_cast<bool*>(is_first)) {
    *static_cast<bool*>(is_first) = false;
    if (has_looked && info->dlpi_adds == loads_seen && info->dlpi_subs == unloads_seen) return 1;
    // Where a module was unloaded, another may lie there now.
    if (info->dlpi_subs != unloads_seen) {
      module_count = slot_count = 0;
      ForEachWatcher(&ModuleWatcher::forget);
    }
    loads_seen = info->dlpi_adds;
    unloads_seen = info->dlpi_subs;
    has_looked = true;
  }
  if (module_count == kModules || Find(*info) != nullptr) return 0;
  const LoadedModule module(*info);
  ForEachWatcher(&ModuleWatcher::see, module);
  const Progress progress = IsLeftAlone(*info, module) ? Progress::kLeftAlone : Progress::kNew;
  modules[module_count++] = {info->dlpi_addr, info->dlpi_phdr, module.Relro(), 0, 0, progress};
  return 0;
}

// A line of /proc/self/maps. A module whose slots are in memory that is not writable is relocated.
void NoteMapping(const char* line) {
  char* end = nullptr;
  Span span;
  span.begin = strtoull(line, &end, 16);
  if (*end != '-') return;
  span.end = strtoull(end + 1, &end, 16);
  if (*end != ' ' || end[2] == 'w') return;
  for (uint32_t i = 0; i < module_count; ++i) {
    if (modules[i].progress == Progress::kNew && span.Has(modules[i].relro.begin)) {
      modules[i].progress = Progress::kRelocated;
    }
  }
}

// In a buffer of our own, which the lines are moved through: the allocator is the program's.
void ReadMappings() {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  static char text[16384];
  std::size_t kept = 0;
  while (true) {
    const ssize_t got = read(file, text + kept, sizeof text - 1 - kept);
    if (got <= 0) break;
    const std::size_t all = kept + static_cast<std::size_t>(got);
    text[all] = 0;
    char* line = text;
    for (char* end = std::strchr(line, '\n'); end != nullptr; line = end + 1, end = std::strchr(line, '\n')) {
      NoteMapping(line);
    }
    kept = static_cast<std::size_t>(text + all - line);
    if (kept == sizeof text - 1) kept = 0;  // a line this long is none of ours
    std::memmove(text, line, kept);
  }
  close(file);
}

// A module is in the loader's list before it is relocated; its slots are the loader's until then. What tells is that
// the loader has made them read-only.
void LookForRelocated() {
  bool has_new = false;
  for (uint32_t i = 0; i < module_count; ++i) {
    if (modules[i].progress != Progress::kNew) continue;
    if (modules[i].relro.IsEmpty()) modules[i].progress = Progress::kRelocated;
    has_new |= modules[i].progress == Progress::kNew;
  }
  if (has_new) ReadMappings();
}

// Before the first call through it, a slot leads into its own module, which then has the loader find the function.
bool LeadsThere(const ImportSlot& slot, uintptr_t value, const WrappedSymbol& wrapped, const LoadedModule& module,
                const char* version) {
  if (value == reinterpret_cast<uintptr_t>(wrapped.target->real)) return true;
  if (value == reinterpret_cast<uintptr_t>(wrapped.wrapper)) return true;
  return !slot.is_defined_here && module.Addresses().Has(value) && !IsOfOldConditions(slot.symbol, version);
}

uintptr_t Load(uintptr_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
void Store(uintptr_t* at, const void* value) {
  __atomic_store_n(at, reinterpret_cast<uintptr_t>(value), __ATOMIC_RELEASE);
}

// Makes the slots of a module writable while it lives, where the loader had made them read-only.
class Writable {
 public:
  explicit Writable(const Span& relro) : relro_(relro) {
    is_good_ = relro_.IsEmpty() || Protect(PROT_READ | PROT_WRITE);
  }
  ~Writable() {
    if (is_good_ && !relro_.IsEmpty()) Protect(PROT_READ);
  }
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;
  bool IsGood() const { return is_good_; }

 private:
  bool Protect(int how) {
    return SystemMprotect(reinterpret_cast<void*>(relro_.begin), relro_.end - relro_.begin, how) == 0;
  }
  const Span relro_;
  bool is_good_;
};

// Finds the slots of a module that lead to functions with a wrapper.
void Collect(const LoadedModule& loaded, Module* module) {
  module->first_slot = slot_count;
  loaded.ForEachSlot([&](const ImportSlot& slot, auto version) {
    const WrappedSymbol* const wrapped = FindWrapped(slot.symbol);
    if (wrapped == nullptr || wrapped->target->real == nullptr || slot_count == kSlots) return;
    if (LeadsThere(slot, Load(slot.at), *wrapped, loaded, version())) slots[slot_count++] = {slot.at, wrapped};
  });
  module->slots = slot_count - module->first_slot;
}

// Leads the slots of a module to the wrappers, or back. Its memory is unlocked only where a slot has to change.
void Lead(const Module& module, bool to_us) {
  const auto target = [to_us](const Slot& slot) { return to_us ? slot.wrapped->wrapper : slot.wrapped->target->real; };
  bool needs_unlock = false, has_work = false;
  for (uint32_t i = module.first_slot; i < module.first_slot + module.slots; ++i) {
    if (Load(slots[i].at) == reinterpret_cast<uintptr_t>(target(slots[i]))) continue;
    has_work = true;
    needs_unlock |= module.relro.Has(reinterpret_cast<uintptr_t>(slots[i].at));
  }
  if (!has_work) return;
  const Writable writable(needs_unlock ? module.relro : Span{});
  for (uint32_t i = module.first_slot; i < module.first_slot + module.slots; ++i) {
    // What is as it should be may be in memory that stayed locked.
    if (Load(slots[i].at) == reinterpret_cast<uintptr_t>(target(slots[i]))) continue;
    if (!writable.IsGood() && module.relro.Has(reinterpret_cast<uintptr_t>(slots[i].at))) continue;
    Store(slots[i].at, target(slots[i]));
  }
}

bool IsStale(const dl_phdr_info& info) { return info.dlpi_subs != unloads_seen; }

// The loader may have resolved a slot just when it was led to us, and so have led it back.
int Patch(dl_phdr_info* info, std::size_t, void* left) {
  if (IsStale(*info)) return 1;
  Module* const module = Find(*info);
  if (module == nullptr) return 0;
  if (module->progress == Progress::kPatched) Lead(*module, true);
  if (module->progress != Progress::kRelocated) return 0;
  if (*static_cast<uint32_t*>(left) == 0) return 2;
  --*static_cast<uint32_t*>(left);
  const LoadedModule loaded(*info);
  Collect(loaded, module);
  Lead(*module, true);
  module->progress = Progress::kPatched;
  return 0;
}

int PatchOne(dl_phdr_info* info, std::size_t size, void* base) {
  if (IsStale(*info)) return 1;
  if (info->dlpi_addr != *static_cast<const uintptr_t*>(base)) return 0;
  Module* const module = Find(*info);
  if (module == nullptr) return 1;
  if (module->progress == Progress::kNew) module->progress = Progress::kRelocated;
  uint32_t one = 1;
  Patch(info, size, &one);
  return 1;
}

// The program is relocated before anything of it runs, and comes first.
int PatchSymbol(dl_phdr_info* info, std::size_t, void* wrapped_symbol) {
  const auto* const wrapped = static_cast<const WrappedSymbol*>(wrapped_symbol);
  const LoadedModule program(*info);
  program.ForEachSlot([&](const ImportSlot& slot, auto) {
    if (std::strcmp(slot.symbol, wrapped->symbol) != 0 || slot.is_defined_here) return;
    const bool is_locked = program.Relro().Has(reinterpret_cast<uintptr_t>(slot.at));
    const Writable writable(is_locked ? program.Relro() : Span{});
    if (!writable.IsGood()) return;
    Store(slot.at, wrapped->wrapper);
    is_program_led = true;
  });
  return 1;
}

int Restore(dl_phdr_info* info, std::size_t, void*) {
  if (IsStale(*info)) return 1;
  Module* const module = Find(*info);
  if (module == nullptr) return 0;
  if (module->progress == Progress::kRelocated) Collect(LoadedModule(*info), module);
  if (module->progress == Progress::kRelocated || module->progress == Progress::kPatched) Lead(*module, false);
  return 0;
}

// Calls into libraries, the first of which may come at once.
bool WantsLibraries() {
  const TracerConfig& config = Config();
  return config.wants_mpi || config.wants_gemms || config.WantsLibraryRanges() || config.wants_tensor_memory ||
         (config.yields_to_profiler && config.wants_cuda);
}

// How many calls a program makes is told from the first one on.
bool WantsEveryCall() { return Config().wants_osrt && Config().wants_file_access; }

bool AreWanted() {
  return Config().wants_cuda || Config().wants_osrt || Config().WantsNativeStacks() || Config().sample_period_ns != 0 ||
         WantsLibraries();
}

void LookAtModules() {
  bool is_first = true;
  ForEachModule(Look, &is_first);
  ForEachWatcher(&ModuleWatcher::seen_all);
}

void RestoreImports() {
  const LockGuard guard(slots_lock);
  LookAtModules();
  LookForRelocated();
  ForEachModule(Restore, nullptr);
  module_count = slot_count = 0;
  has_looked = false;
}

bool IsUrgent() {
  for (uint32_t i = 0; i < watcher_count; ++i) {
    if (watchers[i].is_urgent != nullptr && watchers[i].is_urgent()) return true;
  }
  return false;
}

}  // namespace

void AddWrapped(const WrappedSymbol& symbol) {
  uint32_t at = HashOf(symbol.symbol) % kIndex;
  while (by_symbol[at] != nullptr && by_symbol[at] != &symbol) at = (at + 1) % kIndex;
  by_symbol[at] = &symbol;
}

void WatchModules(const ModuleWatcher& by) {
  for (uint32_t i = 0; i < watcher_count; ++i) {
    if (watchers[i].see == by.see && watchers[i].forget == by.forget) return;  // the child of a fork begins anew
  }
  if (watcher_count < kMostWatchers) watchers[watcher_count++] = by;
}

// Large programs have hundreds of modules, which are left to the writer thread where nobody waits for them.
void StartImports() {
  if (!AreWanted()) return;
  if (!WantsLibraries()) return;
  const LockGuard guard(slots_lock);
  LookAtModules();
}

void PatchProgram(const WrappedSymbol& symbol) {
  const LockGuard guard(slots_lock);
  ForEachModule(PatchSymbol, const_cast<WrappedSymbol*>(&symbol));
}

bool AreImportsUrgent() { return AreWanted() && (WantsEveryCall() || IsUrgent()); }

void ResetImportsAfterFork() { slots_lock.ResetAfterFork(); }

void DrainImports(DrainRound* round) {
  if (round->depth == Depth::kReady) return;
  if (round->depth == Depth::kEnd || CapturesAreOver()) return StopImports(StopReason::kThreadsEnd);
  PatchImports();
}

void StopImports(StopReason why) {
  if (why != StopReason::kThreadsEnd || !(is_patched || is_program_led)) return;
  RestoreImports();
  is_patched = is_program_led = false;
}

void PatchImports() {
  if (!AreWanted() || CapturesAreOver()) return;
  is_patched = true;
  const LockGuard guard(slots_lock);
  LookAtModules();
  LookForRelocated();
  uint32_t left = kAtOnce;
  while (ForEachModule(Patch, &left) == 2) left = kAtOnce;
}

void PatchModule(uintptr_t base) {
  if (!is_patched || CapturesAreOver()) return;
  const LockGuard guard(slots_lock);
  LookAtModules();
  ForEachModule(PatchOne, &base);
}

}  // namespace gprof::tracer
