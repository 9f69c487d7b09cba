// The blocks of GPU memory that pool-allocations keeps.
#pragma once

namespace gprof::cures {

void FreePooled();
// Their context goes away.
void ForgetBlocks();

}  // namespace gprof::cures
