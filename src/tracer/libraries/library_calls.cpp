#include "tracer/libraries/library_calls.h"

#include "tracer/core/config.h"
#include "tracer/libraries/library_wrappers.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/loaded_module.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kShortestPollNs = 1000;

bool is_there = false;

bool IsWanted(std::size_t library) { return Config().*kRangedLibraries[library].is_wanted; }

void SeeFunctionsOf(std::size_t library, const LoadedModule& module) {
  if (!IsWanted(library) || module.AddressOfExport(kRangedLibraries[library].marker) == nullptr) return;
  is_there = true;
  for (std::size_t i = 0; i < kLibraryFunctionCount; ++i) {
    if (NumberOf(kLibraryFunctions[i].library) != library) continue;
    if (void* const found = module.AddressOfExport(kLibraryFunctions[i].name); found != nullptr)
      library_targets[i].real = found;
  }
}

// Done anew after any module was unloaded, while wrappers go on calling the libraries: nothing is cleared in between.
void See(const LoadedModule& module) {
  for (std::size_t library = 0; library < kRangedLibraryCount; ++library) SeeFunctionsOf(library, module);
}

void NameRanges() {
  for (std::size_t i = 0; i < kRangedLibraryCount; ++i) {
    if (IsWanted(i)) library_names.domains[i] = DomainOf(Names().Intern(kRangedLibraries[i].domain));
  }
  for (std::size_t i = 0; i < kLibraryFunctionCount; ++i) {
    if (!IsWanted(NumberOf(kLibraryFunctions[i].library))) continue;
    library_names.functions[i] = Names().Intern(kLibraryFunctions[i].name);
  }
}

}  // namespace

void StartLibraryCalls() {
  if (!Config().WantsLibraryRanges()) return;
  NameRanges();
  const uint64_t now = MonotonicNs();
  library_names.shortest_poll = StampClock().ToStamp(now) - StampClock().ToStamp(now - kShortestPollNs);
  for (std::size_t i = 0; i < kRangedLibraryCount; ++i) {
    if (IsWanted(i)) WrapLibrary(static_cast<RangedLibrary>(i));
  }
  WatchModules({.see = See, .forget = [] { is_there = false; }, .is_urgent = [] { return is_there; }});
}

}  // namespace gprof::tracer
