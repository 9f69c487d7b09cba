#include "tracer/cupti/library/cupti_api.h"

#include <dlfcn.h>

namespace gprof::tracer {
namespace {
constinit CuptiApi api_in_use;
}

CuptiApi& Cupti() { return api_in_use; }

const char* CuptiApi::NameOf(CUptiResult result) const {
  const char* text = nullptr;
  if (cuptiGetResultString != nullptr && cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) {
    return text;
  }
  return "an unnamed error";
}

bool BindCupti(CuptiApi* api, void* library, const char** missing) {
#define X(name, required)                                                   \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #name)); \
  if ((required) && api->name == nullptr) {                                 \
    *missing = #name;                                                       \
    return false;                                                           \
  }
  GPROF_CUPTI_FUNCTIONS(X)
#undef X
  api->library = library;
  return true;
}

}  // namespace gprof::tracer
