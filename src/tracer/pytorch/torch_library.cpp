#include "tracer/pytorch/torch_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "tracer/system/loaded_module.h"

namespace gprof::tracer {
namespace {

struct Search {
  const char* file;
  char path[4096];
};

// Python opens its extensions without RTLD_GLOBAL, so that their symbols are not found otherwise.
int IsIt(dl_phdr_info* info, std::size_t, void* argument) {
  auto* const search = static_cast<Search*>(argument);
  const char* const slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  if (slash == nullptr || std::strcmp(slash + 1, search->file) != 0) return 0;
  if (std::strlen(info->dlpi_name) >= sizeof search->path) return 0;
  std::strcpy(search->path, info->dlpi_name);
  return 1;
}

void* LoadedLibrary(const char* file) {
  Search search{file, {}};
  return ForEachModule(IsIt, &search) == 0 ? nullptr : dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
}

template <class F>
bool Find(void* library, const char* symbol, F* out) {
  *out = reinterpret_cast<F>(dlsym(library, symbol));
  return *out != nullptr;
}

// Where the executable itself refers to it, its copy is the one that libc10 uses, too (R_X86_64_COPY).
const char* UndefinedTensor(void* core) {
  constexpr char kSymbol[] = "_ZN3c1019UndefinedTensorImpl10_singletonE";
  const char* tensor = nullptr;
  if (!Find(RTLD_DEFAULT, kSymbol, &tensor)) Find(core, kSymbol, &tensor);
  return tensor;
}

}  // namespace

bool FindTorch(TorchLibrary* library) {
  void* const torch = LoadedLibrary("libtorch_cpu.so");
  void* const core = LoadedLibrary("libc10.so");
  if (torch == nullptr || core == nullptr) return false;
  library->undefined_tensor = UndefinedTensor(core);
  return Find(torch, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &library->add_callback) &&
         Find(torch, "_ZN2at14removeCallbackEm", &library->remove_callback) &&
         Find(torch, "_ZNK2at14RecordFunction4nameEv", &library->name) &&
         Find(torch, "_ZN2at15sequence_number4peekEv", &library->next_sequence);
}

}  // namespace gprof::tracer
