// The library beside libcupti that saves and restores memory of the virtual device. Large blocks are left out: nobody
// writes to those of a tool.
#pragma GCC visibility push(default)

#include <cupti_checkpoint.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <vector>

#include "hub.h"
#include "step_log.h"

namespace {

constexpr size_t kLargeBytes = 1 << 20;
std::map<void*, std::vector<char>> saved;
bool is_saved = false;

const mock::Hub& TheHub() {
  static const mock::Hub* hub = nullptr;
  const void* table = nullptr;
  auto* const get = reinterpret_cast<decltype(&cuGetExportTable)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuGetExportTable"));
  if (hub == nullptr && get != nullptr && get(&table, &mock::kHubId) == CUDA_SUCCESS) {
    hub = static_cast<const mock::Hub*>(table);
  }
  return *hub;
}

CUptiResult Asked(const char* variable) { return static_cast<CUptiResult>(mock::EnvNumber(variable, 0)); }

}  // namespace

namespace NV::Cupti::Checkpoint {
extern "C" {

CUptiResult cuptiCheckpointSave(CUpti_Checkpoint* const handle) {
  if (handle->structSize != CUpti_Checkpoint_STRUCT_SIZE || handle->ctx == nullptr)
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (is_saved) mock::Violation("cuptiCheckpointSave over a checkpoint");
  if (const CUptiResult asked = Asked("MOCK_CHECKPOINT_SAVE"); asked != CUPTI_SUCCESS) return asked;
  mock::NoteStep("save");
  is_saved = true;
  TheHub().memory([](void* address, size_t bytes) {
    const char* const begin = static_cast<const char*>(address);
    if (bytes < kLargeBytes) saved[address] = std::vector<char>(begin, begin + bytes);
  });
  return CUPTI_SUCCESS;
}

CUptiResult cuptiCheckpointRestore(CUpti_Checkpoint* const) {
  if (!is_saved) mock::Violation("cuptiCheckpointRestore without a checkpoint");
  if (const CUptiResult asked = Asked("MOCK_CHECKPOINT_RESTORE"); asked != CUPTI_SUCCESS) return asked;
  mock::NoteStep("restore");
  for (const auto& [address, bytes] : saved) std::memcpy(address, bytes.data(), bytes.size());
  return CUPTI_SUCCESS;
}

CUptiResult cuptiCheckpointFree(CUpti_Checkpoint* const) {
  if (!is_saved) mock::Violation("cuptiCheckpointFree without a checkpoint");
  mock::NoteStep("free");
  saved.clear();
  is_saved = false;
  return CUPTI_SUCCESS;
}

}  // extern "C"
}  // namespace NV::Cupti::Checkpoint
