// How the process gets its memory.
#pragma once

namespace gprof {

// Memory that is freed stays with the process and is used again, by any thread. Analyses take and free arrays as long as
// the trace; to get each of them from the kernel anew, page by page and zeroed, costs as much as filling them.
void KeepFreedMemory();

}  // namespace gprof
