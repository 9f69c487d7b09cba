// How the process gets its memory.
#pragma once

#include <cstddef>

namespace gprof {

// Memory that is freed stays with the process and is used again, by any thread. Analyses take and free arrays as long as
// the trace; to get each of them from the kernel anew, page by page and zeroed, costs as much as filling them.
void KeepFreedMemory();

// About so much is going to be asked for: has the kernel give it in large pages. After KeepFreedMemory; a hint, which
// takes no memory by itself.
void ExpectMemory(std::size_t bytes);

}  // namespace gprof
