// The import slots of loaded modules, through which they call other modules: those of the functions that are wrapped
// lead to us while recording is on. Code is not changed, nothing is preloaded, and neither dlopen nor dlsym is touched.
// [writer thread, or whoever writes the end]
#pragma once

#include <cstdint>

namespace gprof::tracer {

// Which functions there are to wrap, and what calls them now. [starting thread: it may look symbols up]
void FindFunctions(const char* only);

// While slots are gone through, the loader's list is locked. libc before 2.35 leaves it locked for ever in a child that
// is forked at that moment; with this, forks wait for us. Once in a process. [starting thread]
void KeepLoaderWholeInForks();

// Leads slots to the wrappers, of modules that have come since the last time, too.
void PatchImports();
// Leads them back.
void RestoreImports();

}  // namespace gprof::tracer
