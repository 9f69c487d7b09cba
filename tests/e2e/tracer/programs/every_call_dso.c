/* A shared object with an NVTX of its own. */
#include "every_call.h"

__attribute__((visibility("default"))) void EveryCallOfDso(void) { EveryCall(); }
