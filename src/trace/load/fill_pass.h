// The second pass over calls, operations and NVTX events, see bulk.h.
#pragma once

#include <vector>

#include "trace/builder/unjoined.h"
#include "trace/load/bulk.h"

namespace gprof {

// Puts them where they belong: grouped by thread or device, in a group in the order of the file. False: some blocks
// turned out to be damaged, and the unjoined trace is of no use. They are added to `damaged`.
bool FillBulk(std::vector<BulkChunk> chunks, UnjoinedTrace& unjoined, DamagedBlocks* damaged);

// The same of what was added one by one: the joins know nothing of where a trace is from.
void GroupAdded(UnjoinedTrace& unjoined);

}  // namespace gprof
