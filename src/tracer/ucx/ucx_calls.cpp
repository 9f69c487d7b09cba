#include "tracer/ucx/ucx_calls.h"

#include "tracer/core/config.h"
#include "tracer/imports/loaded_module.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/clock.h"
#include "tracer/ucx/ucx_wrappers.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kShortestPollNs = 1000;

bool is_there = false;

void* FindIn(const LoadedModule& module, const char* symbol) {
  const ElfW(Sym)* const entry = module.FindExport(symbol);
  if (entry == nullptr || entry->st_shndx == SHN_UNDEF) return nullptr;
  return reinterpret_cast<void*>(module.base() + entry->st_value);
}

// Done anew after any module was unloaded, while wrappers go on calling the library: nothing is cleared in between.
void See(const LoadedModule& module) {
  if (FindIn(module, "ucp_worker_progress") == nullptr) return;
  is_there = true;
  for (std::size_t i = 0; i < kUcxFunctionCount; ++i) {
    if (void* const found = FindIn(module, kUcxFunctions[i].name); found != nullptr) ucx_targets[i].real = found;
  }
}

}  // namespace

void StartUcxCalls() {
  if (!Config().wants_ucx) return;
  ucx_names.domain = DomainOf(Names().Intern("UCX"));
  for (std::size_t i = 0; i < kUcxFunctionCount; ++i) {
    ucx_names.functions[i] = Names().Intern(kUcxFunctions[i].name);
  }
  const uint64_t now = MonotonicNs();
  ucx_names.shortest_poll = StampClock().ToStamp(now) - StampClock().ToStamp(now - kShortestPollNs);
  WrapUcx();
  WatchModules({.see = See, .forget = [] { is_there = false; }, .is_urgent = [] { return is_there; }});
}

}  // namespace gprof::tracer
