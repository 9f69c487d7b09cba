// What entry points of the library have in common: the CUDA driver, the NVTX headers and the launcher look them up by
// name (exports.map). Nothing of ours may throw or exit, so there is nothing to catch; each answers that it is
// satisfied, because "no" unloads a library that is in use.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include "tracer/system/settings.h"

#define GPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace gprof::tracer {

// The tool that the user had named before we took its place: where we do nothing, it does what it would have done.
template <class Function>
Function* EntryOfNext(const char* variable, const char* name) {
  const char* path = Setting(variable);
  void* library = path == nullptr || *path == 0 ? nullptr : dlopen(path, RTLD_LAZY);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace gprof::tracer
