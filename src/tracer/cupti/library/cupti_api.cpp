#include "tracer/cupti/library/cupti_api.h"

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

}  // namespace gprof::tracer
