// A program that was prepared for being attached to (`gprof-cli env`): the library is in it, and does nothing until
// somebody asks. Then it is as if it had been attached to just now.
//
// From cuInit on, one thread sleeps for that, beside those that the driver has in every such process: it never wakes
// but for a request, has no file open and no timer.
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace gprof::tracer {

// Of an armed process, and once in it. [cuInit]
void WaitForRequest();
// It is not in the child of a fork.
void ForgetArmedThread();

// Of an armed process: a shared object whose NVTX calls lead nowhere until there is a request.
void RememberNvtx(NvtxGetExportTableFunc_t get_export_table);

}  // namespace gprof::tracer
