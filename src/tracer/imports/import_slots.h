// The import slots of loaded modules, through which they call other modules: those of the functions that are wrapped
// lead to us while recording is on. Code is not changed, and nothing is preloaded.
// [writer thread, or whoever writes the end]
#pragma once

#include <cstdint>

#include "tracer/core/collectors.h"
#include "tracer/system/loaded_module.h"

namespace gprof::tracer {

// Of one function. What the wrapper needs comes first.
struct WrapTarget {
  void* real = nullptr;     // null: not wrapped
  void* attempt = nullptr;  // the function that does the same without waiting, null where there is none
  uint8_t number = 0;       // in the table
};

struct WrappedSymbol {
  const char* symbol;
  void* wrapper;
  WrapTarget* target;
};

// One more symbol whose slots are led to a wrapper. A slot is, once it leads to `target->real`. It is kept, not copied.
// [starting thread]
void AddWrapped(const WrappedSymbol& symbol);

// Who wants to see the modules that there are, before their slots are led anywhere. [writer thread]
struct ModuleWatcher {
  void (*see)(const LoadedModule& module) = nullptr;
  void (*seen_all)() = nullptr;
  void (*forget)() = nullptr;  // one was unloaded: all are seen again
  // Whether it has seen a module whose functions the program may call next.
  bool (*is_urgent)() = nullptr;
};
void WatchModules(const ModuleWatcher& by);  // [starting thread]

// The collector of what the wrappers see, whichever of them are wanted: it leads slots and takes them back.
void StartImports();  // [starting thread]
// Whether slots are led before the program goes on, as its next call may be one of them. [starting thread]
bool AreImportsUrgent();
void DrainImports(DrainRound* round);
void StopImports(StopReason why);

// Leads slots to the wrappers, of modules that have come since the last time, too.
void PatchImports();
// The same of one module, which the loader is done with, once wrappers are in use. [any thread]
void PatchModule(uintptr_t base);
// Leads those of the program itself to one wrapper, at once. [starting thread]
void PatchProgram(const WrappedSymbol& symbol);
void ResetImportsAfterFork();  // [child of a fork, at once]

inline constexpr Collector kImportCollector = {
    .start = StartImports,
    .retell = PatchImports,
    .drain = DrainImports,
    .stop = StopImports,
};

}  // namespace gprof::tracer
