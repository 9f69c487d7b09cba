#include "launch/calibrate/nvtx_client.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace gprof {
namespace {

// The contract between NVTX and tools, from nvtxTypes.h: a tool is given a function that finds tables by number, and
// puts its functions where the table of a module points to.
using AnyFunction = void (*)();
constexpr uint32_t kCallbacksTable = 1, kCoreModule = 1;
constexpr std::size_t kRangePush = 9, kRangePop = 11, kCoreFunctions = 16;

AnyFunction functions[kCoreFunctions];
AnyFunction* slots[kCoreFunctions + 1];

int GetModuleFunctionTable(int module, AnyFunction*** table, unsigned* size) {
  if (module != kCoreModule) return 0;
  *table = slots;
  *size = kCoreFunctions;
  return 1;
}

struct CallbacksTable {
  std::size_t size = sizeof(CallbacksTable);
  int (*get_module_function_table)(int, AnyFunction***, unsigned*) = GetModuleFunctionTable;
};

const void* GetExportTable(uint32_t number) {
  static constexpr CallbacksTable kTable;
  return number == kCallbacksTable ? &kTable : nullptr;
}

}  // namespace

NvtxClient ConnectNvtx() {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  using Initialize = int(const void* (*)(uint32_t));
  auto* const initialize = reinterpret_cast<Initialize*>(dlsym(library, "InitializeInjectionNvtx2"));
  for (std::size_t i = 0; i < kCoreFunctions; ++i) slots[i] = &functions[i];
  if (initialize == nullptr || initialize(GetExportTable) == 0) return {};
  NvtxClient client;
  client.push = reinterpret_cast<int (*)(const char*)>(functions[kRangePush]);
  client.pop = reinterpret_cast<int (*)()>(functions[kRangePop]);
  return client.pop == nullptr ? NvtxClient{} : client;
}

}  // namespace gprof
