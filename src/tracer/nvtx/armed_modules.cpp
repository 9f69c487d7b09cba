// The shared objects with NVTX of an armed process (core/arming.h): their calls lead nowhere, as without us, until
// somebody asks for a recording.
#include <atomic>

#include "tracer/core/arming.h"
#include "tracer/core/config.h"
#include "tracer/nvtx/nvtx_hooks.h"
#include "tracer/system/loaded_module.h"
#include "tracer/system/settings.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMostModules = 128;

// As the loader's list tells it from others that may lie there later.
struct ArmedModule {
  NvtxGetExportTableFunc_t get_export_table;
  uintptr_t base;
  uint64_t name;
  std::atomic<bool> is_ready;
};
constinit ArmedModule modules[kMostModules] = {};
constinit std::atomic<uint32_t> module_count{0};

uint64_t HashOf(const char* text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (; text != nullptr && *text != 0; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001B3u;
  return hash;
}

bool Holds(const dl_phdr_info& info, NvtxGetExportTableFunc_t function) {
  return LoadedModule(info).Addresses().Has(reinterpret_cast<uintptr_t>(function));
}

int Identify(dl_phdr_info* info, std::size_t, void* argument) {
  auto* const module = static_cast<ArmedModule*>(argument);
  if (!Holds(*info, module->get_export_table)) return 0;
  module->base = info->dlpi_addr;
  module->name = HashOf(info->dlpi_name);
  return 1;
}

// The loader's list is locked meanwhile: what is in it stays loaded.
int Bind(dl_phdr_info* info, std::size_t, void*) {
  const uint64_t name = HashOf(info->dlpi_name);
  for (ArmedModule& module : modules) {
    const bool is_it = module.is_ready.load(std::memory_order_acquire) && module.base == info->dlpi_addr &&
                       module.name == name && Holds(*info, module.get_export_table);
    if (is_it) InstallNvtx(module.get_export_table);
  }
  return 0;
}

}  // namespace

void BindRememberedNvtx() {
  if (Config().wants_nvtx) ForEachModule(Bind, nullptr);
}

void RememberNvtx(NvtxGetExportTableFunc_t get_export_table) {
  if (ArmedFolder() == nullptr || get_export_table == nullptr) return;
  const uint32_t at = module_count.fetch_add(1, std::memory_order_relaxed);
  if (at >= kMostModules) return;
  modules[at].get_export_table = get_export_table;
  if (ForEachModule(Identify, &modules[at]) == 0) return;
  modules[at].is_ready.store(true, std::memory_order_release);
  // A request came meanwhile, and may not have seen this one.
  if (ArmedFolder() == nullptr) BindRememberedNvtx();
}

}  // namespace gprof::tracer
