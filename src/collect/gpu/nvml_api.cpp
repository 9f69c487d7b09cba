#include "collect/gpu/nvml_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace gprof::nvml {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";

}  // namespace

bool MayBeHere() {
  // The driver's control device; on the Windows Subsystem for Linux, that of Windows.
  for (const char* const device : {"/dev/nvidiactl", "/dev/dxg"}) {
    if (access(device, F_OK) == 0) return true;
  }
  const char* const variable = std::getenv("LD_LIBRARY_PATH");
  std::string_view folders = variable != nullptr ? variable : "";
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (!folder.empty() && access((std::string(folder) + "/" + kLibrary).c_str(), F_OK) == 0) return true;
  }
  return false;
}

bool Load(Api* api, std::string* why) {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = dlerror();
    *why = error != nullptr ? error : "cannot be loaded";
    return false;
  }
#define GPROF_NVML_FIND(name, parameters) api->name = reinterpret_cast<int(*) parameters>(dlsym(library, #name));
  GPROF_NVML_FUNCTIONS(GPROF_NVML_FIND)
#undef GPROF_NVML_FIND
  api->nvmlErrorString = reinterpret_cast<const char* (*)(int)>(dlsym(library, "nvmlErrorString"));
  const int result = Call(api->nvmlInit_v2);
  if (result == kSuccess) return true;
  *why = "nvmlInit fails: " +
         (api->nvmlErrorString != nullptr ? std::string(api->nvmlErrorString(result)) : std::to_string(result));
  return false;
}

bool ReadField(const Api& api, Device device, unsigned field, uint64_t* value, int* result) {
  constexpr int kDouble = 0, kUnsigned = 1, kSigned = 5, kUnsignedShort = 6;
  FieldValue one = {};
  one.field = field;
  *result = Call(api.nvmlDeviceGetFieldValues, device, 1, &one);
  if (*result == kSuccess) *result = one.result;
  if (*result != kSuccess) return false;
  switch (one.type) {
    case kDouble:
      *value = static_cast<uint64_t>(one.value.as_double);
      break;
    case kUnsigned:
    case kSigned:
      *value = one.value.as_unsigned;
      break;
    case kUnsignedShort:
      *value = one.value.as_unsigned_short;
      break;
    default:
      *value = one.value.as_unsigned_long_long;
  }
  return true;
}

std::string UuidOf(const Api& api, Device device) {
  char uuid[96] = {};
  return Call(api.nvmlDeviceGetUUID, device, uuid, static_cast<unsigned>(sizeof uuid)) == kSuccess ? uuid : "";
}

}  // namespace gprof::nvml
